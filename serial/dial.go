package serial

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"ptyctl/internal/exhausted"
	"ptyctl/term"
)

// A Dialer opens serial lines of this machine. The zero value opens none.
type Dialer struct {
	Allow Allow

	// Reserve keeps other users of the device away until release is called, beside the lock file. It is called before the
	// device is opened. Nil: only the lock file does.
	Reserve func(device string) (release func(), err error)

	LockDir string // folder of the lock files; empty: DefaultLockDir
}

// A Terminal is an open line as a term.Transport.
type Terminal struct {
	port     *port
	about    term.Serial
	warnings []string
	release  func() // the locks

	breaking chan struct{} // held during a break
	done     chan struct{} // closed by Close
	once     sync.Once
	closed   error // of Close

	mu   sync.Mutex // guards the following
	lost error      // that ended Read
}

// Open implements term.Dialer. It never calls the Prompter: a line has no login. Its plan has one hop, the device.
func (d Dialer) Open(ctx context.Context, t term.Target, _ term.Prompter, approve term.Approve) (term.Transport, error) {
	if ctx.Err() != nil {
		return nil, &term.Error{Op: "open", Kind: term.Canceled, Err: context.Cause(ctx), Msg: "canceled while opening the line"}
	}
	o, err := Settings(t.Serial)
	if err != nil {
		return nil, err
	}
	device, err := d.Allow.Judge(o.Path)
	if err != nil {
		return nil, err
	}
	if _, err := approve.Ask(ctx, Plan(Path(o.Path), device)); err != nil {
		return nil, err
	}
	release, doubt, err := d.lock(device)
	if err != nil {
		return nil, err
	}
	port, doubts, err := openPort(device, o)
	if err != nil {
		release()
		return nil, openError(device, Path(o.Path), err)
	}
	if doubt != "" {
		doubts = append(doubts, doubt)
	}
	return &Terminal{
		port: port, warnings: doubts, release: release, breaking: make(chan struct{}, 1), done: make(chan struct{}),
		about: term.Serial{
			Path: device, Baud: o.Baud, DataBits: o.DataBits, Parity: o.Parity, StopBits: o.StopBits, Flow: o.Flow,
			Signals: port.signals(),
		},
	}, nil
}

// Plan returns the plan of a line for the rules about hosts, which may name it by the caller's path, by the device, and by
// the links that udev has made to the device.
func Plan(given, device string) term.Plan {
	return term.Plan{Hops: []term.PlannedHop{{
		Alias: given, Host: device, Vouched: []string{given, device}, Names: linksTo(device),
	}}}
}

// linksTo returns the paths of a device in udev's folders.
func linksTo(device string) (names []string) {
	for _, pattern := range []string{"/dev/serial/by-id/*", "/dev/serial/by-path/*"} {
		found, _ := filepath.Glob(pattern)
		for _, name := range found {
			if to, err := filepath.EvalSymlinks(name); err == nil && to == device {
				names = append(names, name)
			}
		}
	}
	return names
}

// lock takes the locks of a device.
func (d Dialer) lock(device string) (release func(), doubt string, err error) {
	reserved := func() {}
	if d.Reserve != nil {
		if reserved, err = d.Reserve(device); err != nil {
			return nil, "", err
		}
	}
	dir := d.LockDir
	if dir == "" {
		dir = DefaultLockDir
	}
	unlock, doubt, err := lockDevice(dir, device)
	if err != nil {
		reserved()
		return nil, "", err
	}
	return func() { unlock(); reserved() }, doubt, nil
}

// openError explains why a device cannot be opened.
func openError(device, given string, err error) error {
	e := &term.Error{Op: "open", Kind: term.IOError, Err: err}
	var own *term.Error
	switch {
	case errors.As(err, &own):
		return err
	case notThere(err):
		e.Kind, e.Msg = term.ConnectFailed, fmt.Sprintf("nothing is connected to %s (%v)", device, term.RootCause(err))
	case taken(err):
		e.Kind, e.Msg = term.Locked, fmt.Sprintf("another program has %s for itself", device)
	case forbidden(err):
		e.Kind, e.Msg = term.AccessDenied, fmt.Sprintf("%s may not be opened: %v", device, term.RootCause(err))
		e.Msg += "; " + access(device)
	case exhausted.Descriptors(err):
		return exhausted.NoDescriptors("cannot open "+device, err)
	default:
		e.Msg = fmt.Sprintf("%s cannot be opened as a serial line: %v", given, term.RootCause(err))
	}
	return e
}

// Read implements term.Transport.
func (t *Terminal) Read(p []byte) (int, error) {
	n, err := t.port.Read(p)
	if err != nil {
		t.mu.Lock()
		if t.lost == nil {
			t.lost = err
		}
		t.mu.Unlock()
		if n == 0 && !errors.Is(err, io.EOF) {
			err = io.EOF // Wait has the reason
		}
	}
	return n, err
}

// Write implements term.Transport.
func (t *Terminal) Write(p []byte) (int, error) { return t.port.Write(p) }

// Resize implements term.Transport: a line has no window.
func (t *Terminal) Resize(int, int) error {
	return &term.Error{
		Op: "resize", Kind: term.Unsupported,
		Msg: "a serial line carries no size of the window; set it there, with stty or the device's own command",
	}
}

// Close implements term.Transport.
func (t *Terminal) Close() error {
	t.once.Do(func() {
		close(t.done)
		t.closed = t.port.Close()
		t.release()
	})
	return t.closed
}

// Wait implements term.Waiter. A line has no exit status. Its end is always a loss: only a device that is unplugged, or
// a program that had the other side of a pseudo-terminal, ends it.
func (t *Terminal) Wait() (term.Exit, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	select {
	case <-t.done:
		return term.Exit{}, nil
	default:
	}
	why := ""
	if !errors.Is(t.lost, io.EOF) { // which says no more than that it is gone
		why = fmt.Sprintf(" (%v)", term.RootCause(t.lost))
	}
	return term.Exit{}, &term.Error{
		Op: "read", Kind: term.RemoteClosed, Err: t.lost,
		Msg: fmt.Sprintf("the serial line %s is gone, as when its device is unplugged%s; open the session again", t.about.Path, why),
	}
}

// breakTime is the length of a break: longer than a character at 50 bits a second.
const breakTime = 300 * time.Millisecond

// SendKey implements term.KeySender: a line has the key break.
func (t *Terminal) SendKey(ctx context.Context, name string) error {
	if name != term.KeyBreak {
		return &term.Error{
			Op: "write", Kind: term.Unsupported,
			Msg: fmt.Sprintf("a serial line has no key %s, which is a command of Telnet", name),
		}
	}
	select {
	case t.breaking <- struct{}{}:
		defer func() { <-t.breaking }()
	case <-ctx.Done():
		return &term.Error{Op: "write", Kind: term.Canceled, Err: context.Cause(ctx), Msg: "canceled before the break began"}
	case <-t.done:
	}
	if err := t.port.sendBreak(ctx, breakTime); err != nil {
		return &term.Error{
			Op: "write", Kind: term.IOError, Err: err, Msg: fmt.Sprintf("the break failed: %v", term.RootCause(err)),
		}
	}
	return nil
}

// Peer implements term.Peerer.
func (t *Terminal) Peer() term.Peer { return term.Peer{Protocol: "serial", Device: t.about.Path} }

// Describe implements term.Describer.
func (t *Terminal) Describe() term.Description {
	about := t.about
	return term.Description{
		PTY: true, Serial: &about, Warnings: slices.Clone(t.warnings),
		Capabilities: term.Capabilities{
			SplitStdoutStderr: term.No, ExitCode: term.BestEffort, Resize: term.No, Signal: term.No, ParallelExec: term.No,
		},
	}
}

var (
	_ term.Dialer    = Dialer{}.Open
	_ term.Transport = (*Terminal)(nil)
	_ term.Waiter    = (*Terminal)(nil)
	_ term.Describer = (*Terminal)(nil)
	_ term.KeySender = (*Terminal)(nil)
	_ term.Peerer    = (*Terminal)(nil)
)
