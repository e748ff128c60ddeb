//go:build unix

package ptyx

import (
	"errors"
	"syscall"

	"ptyctl/term"
)

// failure is the error for something that the system refuses. A resource without
// room is a limit, and not a fault of the program that was to start.
func failure(op, what string, err error) error {
	var e *term.Error
	switch {
	case term.OutOfDescriptors(err):
		e = term.NoDescriptors(what, err)
	case errors.Is(err, syscall.EAGAIN): // fork(2): RLIMIT_NPROC, threads-max or pids.max
		e = &term.Error{
			Kind: term.LimitExceeded, Reason: term.ReasonTasks, Err: err,
			Msg:    what + ": there is no room for another process (" + syscall.EAGAIN.Error() + ")",
			Advice: "end programs, or raise the limit (pids.max of the container, ulimit -u)",
			Facts:  term.Facts{term.LimitReached{Limit: term.LimitTasks}},
		}
	default:
		e = &term.Error{Kind: term.IOError, Msg: what + ": " + reason(err).Error(), Err: err}
	}
	e.Op = op
	return e
}
