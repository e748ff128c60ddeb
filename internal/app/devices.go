package app

import (
	"errors"
	"fmt"
	"os"
	"time"

	"ptyctl/devlock"
	"ptyctl/term"
)

// deviceLocks returns the lock of a console against the other processes of this user that use the same folder. An empty
// dir is the default folder. The folder is needed only when the first console is opened. socket is where this process
// can be reached; empty: nowhere.
func deviceLocks(dir, socket string) func(device, session string) (release func(), err error) {
	return func(device, session string) (func(), error) {
		in := dir
		if in == "" {
			var err error
			if in, err = devlock.DefaultDir(); err != nil {
				return nil, deviceError(device, err)
			}
		}
		l, err := devlock.Acquire(
			in,
			device,
			devlock.Owner{PID: os.Getpid(), Socket: socket, Session: session, Started: time.Now()},
		)
		if err != nil {
			return nil, deviceError(device, err)
		}
		return l.Release, nil
	}
}

// deviceError explains why a console cannot be opened, and how to fix it.
func deviceError(device string, err error) error {
	held, ok := errors.AsType[*devlock.HeldError](err)
	if !ok {
		return &term.Error{
			Op: "open", Kind: term.IOError, Err: err,
			Msg: fmt.Sprintf(
				"the lock of device %q cannot be taken: %v; the operator can name a folder with locks.device_dir",
				device,
				err,
			),
		}
	}
	o := held.Owner
	return &term.Error{
		Op: "open", Kind: term.Locked, Err: err,
		Msg: fmt.Sprintf(
			"the console of device %q is open in another ptyctl on this machine: process %d, session %s, since %s; "+
				"use it there, or open it again when that session is closed",
			device,
			o.PID,
			o.Session,
			o.Started.UTC().Format(time.RFC3339),
		),
		Facts: term.Facts{term.DeviceOwner{PID: o.PID, Socket: o.Socket, SessionID: o.Session, Since: o.Started}},
	}
}
