package term

import (
	"errors"
	"io/fs"
	"syscall"
)

// OutOfDescriptors reports whether err says that this process, or this machine, has no file
// descriptor left.
func OutOfDescriptors(err error) bool {
	return errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE)
}

// NoDescriptors returns the error for an action that needs file descriptors where none is left.
// what names the failed action, and cause is the error of the system.
func NoDescriptors(what string, cause error) *Error {
	why := cause
	if path, ok := errors.AsType[*fs.PathError](why); ok {
		why = path.Err // any other file would have failed, too
	}
	return &Error{
		Kind: LimitExceeded, Reason: ReasonDescriptors, Err: cause,
		Msg:    what + ": " + why.Error(),
		Advice: "close sessions, or raise the limit of this process (ulimit -n)",
		Facts:  Facts{LimitReached{Limit: LimitDescriptors}},
	}
}

// RoomForDescriptors returns the system's error if it refuses this process n more file descriptors at a time. The only
// way to know that on all systems is to open as many files, which are closed at once: it costs some microseconds.
func RoomForDescriptors(n int) error {
	for range n {
		closeNull, err := openNull()
		if OutOfDescriptors(err) {
			return err
		}
		if err != nil {
			return nil // a system without the device, for example a container: nothing is known
		}
		defer closeNull()
	}
	return nil
}
