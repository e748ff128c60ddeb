package hostkeys

import (
	"os"
	"syscall"
	"unsafe"
)

var lockFileEx = syscall.NewLazyDLL("kernel32.dll").NewProc("LockFileEx")

// lockfileExclusiveLock is LOCKFILE_EXCLUSIVE_LOCK.
const lockfileExclusiveLock = 2

// flock waits for the exclusive lock of the file's first byte (LockFileEx). Closing the file
// releases it.
func flock(f *os.File) error {
	var at syscall.Overlapped
	ok, _, err := lockFileEx.Call(f.Fd(), lockfileExclusiveLock, 0, 1, 0, uintptr(unsafe.Pointer(&at)))
	if ok == 0 {
		return err
	}
	return nil
}
