//go:build !linux && !darwin && !freebsd && !netbsd && !openbsd && !dragonfly

package tty

import "os"

func addsReturns(*os.File) bool { return false }
