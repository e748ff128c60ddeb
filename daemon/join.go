package daemon

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"path/filepath"
	"syscall"
	"time"

	"ptyctl/control"
	"ptyctl/internal/rundir"
)

const (
	// startWait is how long a shim waits while another one starts the daemon.
	startWait = 30 * time.Second
	// attempts is how often a shim looks for the daemon: one may end just when it connects.
	attempts = 5
)

// A Starter starts the daemon of a place and returns when it is ready, or why it is not.
type Starter func(ctx context.Context, p Place) error

// Ask connects to the daemon of a place and returns its answer. The connection carries on after AskServe, and is closed
// by the daemon's end after AskStop.
func (p Place) Ask(ctx context.Context, h Hello) (net.Conn, Welcome, error) {
	c, err := control.Connect(ctx, p.Socket())
	if err != nil {
		return nil, Welcome{}, err
	}
	w, r, err := greet(c, h)
	if err != nil {
		_ = c.Close()
		return nil, w, err
	}
	return buffered{c, r}, w, nil
}

// AwaitEnd waits until the process at the other end of conn has ended, after AskStop. The error is that of ctx, if that
// ends first.
func AwaitEnd(ctx context.Context, conn net.Conn) error {
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	_, _ = io.Copy(io.Discard, conn)
	return ctx.Err()
}

// Join connects to the daemon of a place, and has one started if none runs. If many join at once, one of them starts
// the daemon, under a lock that is held until the daemon answers.
func (p Place) Join(ctx context.Context, h Hello, start Starter) (net.Conn, Welcome, error) {
	h.Ask = AskServe
	var last error
	for range attempts {
		c, w, err := p.Ask(ctx, h)
		if err == nil || !absent(err) {
			return c, w, err
		}
		last = err
		if err := p.ensure(ctx, start); err != nil {
			return nil, w, err
		}
	}
	return nil, Welcome{}, fmt.Errorf("the daemon was started %d times and ended each time: %w; its log is %s",
		attempts, last, p.Log())
}

// ensure starts the daemon unless there is one by now.
func (p Place) ensure(ctx context.Context, start Starter) error {
	if err := rundir.Own(p.dir); err != nil {
		return p.unusable(err)
	}
	unlock, err := rundir.Lock(ctx, p.lock(), startWait)
	switch {
	case ctx.Err() != nil:
		if err == nil {
			unlock()
		}
		return context.Cause(ctx)
	case err != nil:
		return p.unusable(err)
	}
	defer unlock()
	c, err := control.Connect(ctx, p.Socket())
	if err == nil {
		return c.Close() // the daemon that another one has started
	}
	if !absent(err) {
		return err
	}
	return start(ctx, p)
}

// unusable is the error of a runtime folder that cannot be used.
func (p Place) unusable(err error) error {
	return fmt.Errorf("the daemon's folder %s: %w; %s", filepath.Clean(p.dir), err, folderAdvice)
}

// Absent reports whether an error of Place.Ask or Place.List means that there is no daemon.
func Absent(err error) bool { return absent(err) }

// absent reports whether an error means that there is no daemon. Any other, for example a socket of another user, must
// not lead to a second one.
func absent(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, errNoDaemon)
}

// Other returns the daemons of other configurations that run, with their answers to AskStatus.
func (p Place) Other(ctx context.Context, build string) map[Place]Welcome {
	all, err := Daemons()
	if err != nil {
		return nil
	}
	others := make(map[Place]Welcome)
	for _, other := range all {
		if other == p {
			continue
		}
		if c, w, err := other.Ask(ctx, Hello{Ask: AskStatus, Build: build}); err == nil {
			_ = c.Close()
			others[other] = w
		}
	}
	return others
}
