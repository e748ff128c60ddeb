package exhausted

import (
	"errors"
	"io/fs"
	"syscall"

	"ptyctl/term"
)

// Descriptors reports whether err says that this process, or this machine, has no file
// descriptor left.
func Descriptors(err error) bool {
	return errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE)
}

// NoDescriptors returns the error for an action that needs file descriptors after the last one is taken. what names the
// failed action, and cause is the error of the system.
func NoDescriptors(what string, cause error) *term.Error {
	why := cause
	if path, ok := errors.AsType[*fs.PathError](why); ok {
		why = path.Err // any other file would have failed, too
	}
	return &term.Error{
		Kind: term.LimitExceeded, Reason: term.ReasonDescriptors, Err: cause,
		Msg:    what + ": " + why.Error(),
		Advice: "close sessions, or raise the limit of this process (ulimit -n)",
		Facts:  term.Facts{term.LimitReached{Limit: term.LimitDescriptors}},
	}
}

// RoomFor returns the system's error if it refuses this process n more file descriptors at a time. The only
// way to know that on all systems is to open as many files, which are closed at once: it costs some microseconds.
func RoomFor(n int) error {
	for range n {
		closeNull, err := openNull()
		if Descriptors(err) {
			return err
		}
		if err != nil {
			return nil // a system without the device, for example a container: nothing is known
		}
		defer closeNull()
	}
	return nil
}
