//go:build linux || darwin

package locked

import "syscall"

func mlock(pages []byte) error { return syscall.Mlock(pages) }
