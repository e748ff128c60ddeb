//go:build !linux && !windows && !darwin && !freebsd && !netbsd && !openbsd && !dragonfly

package tty

import "os"

// Flush does nothing: this system has no known way to drop what was typed.
func Flush(*os.File) {}
