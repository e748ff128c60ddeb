package locked

import "golang.org/x/sys/unix" // package syscall has no mlock for FreeBSD

func mlock(pages []byte) error { return unix.Mlock(pages) }
