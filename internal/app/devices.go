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

// A deviceStore gives devices owners.
type deviceStore interface {
	Acquire(ctx context.Context, device string, o devlock.Owner) (*devlock.Lease, error) // as a devlock.Store
	giveBack(l *devlock.Lease)                                                           // returns at once
	hold(l *devlock.Lease) term.Hold                                                     // of the owner's connections; nil: not needed
}

// folderLocks are the owners on this machine.
type folderLocks struct{ *devlock.FolderStore }

// giveBack implements deviceStore.
func (f folderLocks) giveBack(l *devlock.Lease) {
	_ = f.Release(context.Background(), l) // it never blocks, nor fails
}

// hold implements deviceStore: the lock lasts for as long as this process, stopped or not.
func (folderLocks) hold(*devlock.Lease) term.Hold { return nil }

// deviceLocks reserves consoles in a store, and says in errors how this process can be reached: at socket; empty: nowhere.
func deviceLocks(store deviceStore, socket string) reserveFunc {
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
			Release:  func() { store.giveBack(l) },
			Check:    l.Check,
			AfterEnd: l.AfterEnd,
			Hold:     store.hold(l),
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

// openSerial is the term.Dialer of serial lines. reserve is that of consoles of this machine, also in a cluster: a line
// has one user among the processes of this user, whatever folder of lock files there is, and no other machine reaches it.
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

// roundUp returns d in whole seconds, or the tenth of one.
func roundUp(d time.Duration) time.Duration {
	unit := time.Second
	if d < 10*time.Second {
		unit = 100 * time.Millisecond
	}
	return (d + unit - 1).Truncate(unit)
}

// deviceError explains why a console cannot be opened, and how to fix it.
func deviceError(device string, err error) error {
	held, ok := errors.AsType[*devlock.HeldError](err)
	if a, advised := errors.AsType[devlock.AdvisedError](err); advised && !ok {
		return &term.Error{
			Op: "open", Kind: term.IOError, Err: err, Advice: a.Advice(),
			Msg: fmt.Sprintf("whether another node has the console of device %q is not known: %v", device, err),
		}
	}
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
	if held.Left > 0 {
		return &term.Error{
			Op: "open", Kind: term.Locked, Err: err,
			Msg: fmt.Sprintf(
				"%s was not given back by the node that had it, which is gone or cut off and may still use it for %v at most; open it again then",
				what, roundUp(held.Left),
			),
		}
	}
	if held.Silent {
		ends := "its lease is about to end if it stays away; open it again then"
		if held.Ends > 0 {
			ends = fmt.Sprintf("its lease ends in %v at most if it stays away; open it again then", roundUp(held.Ends))
		}
		return &term.Error{
			Op: "open", Kind: term.Locked, Err: err, Facts: ownerFacts(o),
			Msg: fmt.Sprintf(
				"%s is open in session %s on node %s, which does not answer: it has ended, is stopped or cut off, and may still use it; %s",
				what, o.Session, o.Node, ends,
			),
		}
	}
	where := "this machine"
	if o.Node != "" {
		where = "node " + o.Node
	}
	return &term.Error{
		Op: "open", Kind: term.Locked, Err: err,
		Msg: fmt.Sprintf(
			"%s is open in a ptyctl on %s: process %d, session %s, since %s; "+
				"use it there, or open it again when that session is closed",
			what,
			where,
			o.PID,
			o.Session,
			o.Started.UTC().Format(time.RFC3339),
		),
		Facts: ownerFacts(o),
	}
}

// ownerFacts returns the holder of a device in a form for programs.
func ownerFacts(o devlock.Owner) term.Facts {
	return term.Facts{term.DeviceOwner{Node: o.Node, PID: o.PID, Socket: o.Socket, SessionID: o.Session, Since: o.Started}}
}
