package fence

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"ptyctl/devlock"
)

// Available says whether connections can be held on this system.
const Available = true

// enabled is set by Enable.
var enabled atomic.Bool

// Enable lets this program start itself as a fence process. It must be the first call in main: in a fence process it does
// not return.
func Enable() {
	enabled.Store(true)
	if len(os.Args) != 2 || os.Args[1] != fenceArg {
		return
	}
	if err := fenceMain(); err != nil { // only the other process could hear of it, and that sees the end
		os.Exit(1)
	}
	os.Exit(0)
}

// A Fence holds the connections of this process. Make it with New. Its process runs while there is a connection.
type Fence struct {
	o Options

	reports sync.Mutex         // guards the following; nothing that takes time is done while it is locked
	waiting map[*hold]struct{} // the fence process lacks a report about these
	wake    chan struct{}      // has a value when waiting is not empty

	mu     sync.Mutex // guards the following
	child  *child     // nil: none runs
	held   map[uint64]*hold
	last   uint64 // number of a connection
	closed bool

	running sync.WaitGroup // the goroutines of all children
}

// A hold is a connection that is held.
type hold struct {
	id    uint64
	lease *devlock.Lease
	raw   syscall.RawConn
	over  atomic.Bool // its lease has ended
	gone  atomic.Bool // it was released
	stop  func()      // of the lease's notices
}

// New returns a Fence. It starts a process when there is something to hold.
func New(o Options) *Fence {
	return &Fence{
		o: o.withDefaults(), waiting: make(map[*hold]struct{}), wake: make(chan struct{}, 1), held: make(map[uint64]*hold),
	}
}

// errClosed is the error of a Hold after Close.
var errClosed = errors.New("fence: closed")

// Hold has the fence cut a connection when its lease is over: when its time has come without a renewal, or when it has
// ended in any other way. It returns when the fence process has the socket. A lease without an end in time, such as that
// of a devlock.FolderStore, needs no fence: Hold does nothing then.
//
// release ends the hold. It must be called after the connection was closed, because the far side does not see the close
// before: the fence process still has the socket. It returns at once, and may be called again without effect.
func (f *Fence) Hold(socket syscall.Conn, l *devlock.Lease) (release func(), err error) {
	if err := l.Check(); err != nil {
		return nil, err
	}
	if l.Until().IsZero() {
		return func() {}, nil
	}
	raw, err := socket.SyscallConn()
	if err != nil {
		return nil, fmt.Errorf("fence: %w", err)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return nil, errClosed
	}
	if f.child == nil {
		if f.child, err = f.start(); err != nil {
			return nil, err
		}
	}
	f.last++
	h := &hold{id: f.last, lease: l, raw: raw}
	if err := f.child.hold(h); err != nil {
		if len(f.held) == 0 {
			f.child.kill()
			f.child = nil
		}
		return nil, err
	}
	f.held[h.id] = h
	extended := l.AfterExtend(func() { f.report(h) })
	ended := l.AfterEnd(func(error) {
		h.over.Store(true)
		f.report(h)
	})
	h.stop = func() { extended(); ended() }
	f.report(h) // it may have been renewed, or have ended, since its end was sent
	return func() { f.release(h) }, nil
}

// release undoes Hold. If the lease was lost, the fence still cuts the connection: its owner has closed it, and the
// kernel would otherwise send the data that it has, for minutes if the far side does not answer, while another owner
// types.
func (f *Fence) release(h *hold) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.held[h.id] != h {
		return
	}
	if err := h.lease.Check(); err != nil && !errors.Is(err, devlock.ErrReleased) {
		h.over.Store(true)
	}
	f.forget(h)
	switch {
	case len(f.held) > 0:
		f.report(h)
	case f.child == nil:
	case h.over.Load():
		f.child.finish()
		f.child = nil
	default: // its end closes its descriptors
		f.child.kill()
		f.child = nil
	}
}

// forget removes h. Requires f.mu.
func (f *Fence) forget(h *hold) {
	h.gone.Store(true)
	h.stop()
	delete(f.held, h.id)
}

// Close releases all connections, without cutting them, and ends the fence process. It waits for that.
func (f *Fence) Close() {
	f.mu.Lock()
	f.closed = true
	for _, h := range f.held {
		f.forget(h)
	}
	if f.child != nil {
		f.child.kill()
		f.child = nil
	}
	f.mu.Unlock()
	f.running.Wait()
}

// report lists connections for the next packet to the fence process. It returns at once, because goroutines that renew
// leases call it.
func (f *Fence) report(of ...*hold) {
	f.reports.Lock()
	defer f.reports.Unlock()
	for _, h := range of {
		f.waiting[h] = struct{}{}
	}
	select {
	case f.wake <- struct{}{}:
	default:
	}
}

// next returns the next packet for the fence process, and its connections; empty: there is nothing to report.
func (f *Fence) next() (packet []byte, of []*hold) {
	f.reports.Lock()
	defer f.reports.Unlock()
	for h := range f.waiting {
		if len(packet) == perPacket*recordSize {
			break
		}
		delete(f.waiting, h)
		packet, of = h.now().encode(packet), append(of, h)
	}
	return packet, of
}

// now is the record of h for the fence process.
func (h *hold) now() record {
	switch {
	case h.over.Load():
		return record{op: opRenew, id: h.id, until: 1} // long past
	case h.gone.Load():
		return record{op: opDrop, id: h.id}
	}
	return record{op: opRenew, id: h.id, until: h.lease.UntilMoment().Boot()}
}

// lost replaces a child that has ended, unless that was meant. Without a fence process the connections end.
func (f *Fence) lost(c *child) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.child != c {
		return
	}
	f.child = nil
	if len(f.held) == 0 {
		return
	}
	f.o.Logger.Warn("the fence process has ended, and is started again", "connections", len(f.held), "cause", c.why())
	err, deaths := errors.New("each has ended soon after its start"), 0
	if time.Since(c.started) < settled {
		deaths = c.deaths + 1
	}
	for ; err != nil && deaths < maxDeaths; deaths++ { // one may also end while it gets the connections
		err = f.replace(deaths)
	}
	if err != nil {
		f.o.Logger.Error("there is no fence process: connections end", "connections", len(f.held), "error", err)
		f.abandon(fmt.Errorf("%d fence processes have failed: %w", deaths, err))
	}
}

// A child that has lived for settled has no fault that returns at once. maxDeaths children in a row may die sooner.
const (
	settled   = 10 * time.Second
	maxDeaths = 3
)

// replace starts another child, which gets all connections. Requires f.mu.
func (f *Fence) replace(deaths int) error {
	c, err := f.start()
	if err != nil {
		return err
	}
	c.deaths = deaths
	for _, h := range f.held {
		if err := c.hold(h); err != nil && !errors.Is(err, syscall.EBADF) { // its owner has just closed it
			c.kill()
			return err
		}
	}
	f.child = c
	for _, h := range f.held {
		f.report(h) // the last reports to the former child may be lost
	}
	return nil
}

// abandon ends the leases of all connections, and cuts them. Requires f.mu.
func (f *Fence) abandon(why error) {
	for _, h := range f.held {
		_ = h.raw.Control(func(fd uintptr) { _ = cut(int(fd)) })
		h.lease.End(&devlock.LostError{
			Device: h.lease.Device(), Why: "nothing could cut its connection if this process were paused", Err: why,
		})
		f.forget(h)
	}
}
