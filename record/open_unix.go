//go:build unix

package record

import "syscall"

// openFlags: a link in the folder is never followed.
const openFlags = syscall.O_NOFOLLOW
