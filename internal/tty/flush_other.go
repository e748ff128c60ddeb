//go:build !linux && !windows && !darwin && !freebsd && !netbsd && !openbsd && !dragonfly

package tty

import "os"

// Flush does nothing: this system has no known way to drop unread input.
func Flush(*os.File) {}
