//go:build !darwin && !dragonfly && !freebsd && !linux && !netbsd && !openbsd && !windows

package hostkeys

import "os"

// flock does nothing, because package syscall has no file lock here. As in OpenSSH, two
// measures remain: the files are read again just before, and a line is added by one append.
func flock(*os.File) error { return nil }
