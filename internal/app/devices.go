package app

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"ptyctl/devlock"
	"ptyctl/serial"
	"ptyctl/session"
	"ptyctl/term"
)

// A reserveFunc reserves a device for a session.
type reserveFunc = func(ctx context.Context, device, session string) (session.Reservation, error)

// deviceLocks reserves consoles in a store, and says in errors how this process can be reached: at socket; empty: nowhere.
// The Release of the store must not block, which that of a devlock.FolderStore does not.
func deviceLocks(store devlock.Store, socket string) reserveFunc {
	return func(ctx context.Context, device, id string) (session.Reservation, error) {
		l, err := store.Acquire(ctx, device, devlock.Owner{PID: os.Getpid(), Socket: socket, Session: id, Started: time.Now()})
		switch {
		case err != nil && ctx.Err() != nil:
			return session.Reservation{}, &term.Error{
				Op: "open", Kind: term.Canceled, Err: err,
				Msg: fmt.Sprintf("canceled before the console of device %q was opened", device),
			}
		case err != nil:
			return session.Reservation{}, deviceError(device, err)
		}
		return session.Reservation{
			Release:  func() { _ = store.Release(context.Background(), l) }, // of a lock of this machine it never fails
			Check:    l.Check,
			AfterEnd: l.AfterEnd,
		}, nil
	}
}

// lineOf returns the serial line of this machine that a target leads to, whatever its path is; empty: none that may be
// opened, which the opening explains.
func (d *dialers) lineOf(t term.Target) string {
	if t.Protocol != "serial" {
		return ""
	}
	device, err := d.current.Load().serial.Judge(t.Serial.Path)
	if err != nil {
		return ""
	}
	return SerialLine(device)
}

// SerialLine is the name of a serial line among devices of all kinds.
func SerialLine(device string) string { return "serial:" + device }

// openSerial is the term.Dialer of serial lines. reserve is that of consoles: a line has one user among the processes of
// this user, whatever folder of lock files there is.
func (d *dialers) openSerial(reserve reserveFunc) term.Dialer {
	return func(ctx context.Context, t term.Target, p term.Prompter, approve term.Approve) (term.Transport, error) {
		var id string
		if s, ok := p.(interface{ ID() string }); ok {
			id = s.ID()
		}
		return serial.Dialer{
			Allow: d.current.Load().serial,
			Reserve: func(device string) (func(), error) {
				r, err := reserve(ctx, SerialLine(device), id)
				return r.Release, err
			},
		}.Open(ctx, t, p, approve)
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
	o, what := held.Owner, fmt.Sprintf("the console of device %q", device)
	if line, ok := strings.CutPrefix(device, SerialLine("")); ok {
		what = "the serial line " + line
	}
	return &term.Error{
		Op: "open", Kind: term.Locked, Err: err,
		Msg: fmt.Sprintf(
			"%s is open in a ptyctl on this machine: process %d, session %s, since %s; "+
				"use it there, or open it again when that session is closed",
			what,
			o.PID,
			o.Session,
			o.Started.UTC().Format(time.RFC3339),
		),
		Facts: term.Facts{term.DeviceOwner{PID: o.PID, Socket: o.Socket, SessionID: o.Session, Since: o.Started}},
	}
}
