package forward

import (
	"context"
	"fmt"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"ptyctl/session/forward/address"
	"ptyctl/term"
)

// A forward is a listener, and the connections that it has accepted.
type forward struct {
	set    *Set
	to     address.Address
	by     term.Actor // who has opened it
	began  time.Time
	place  place
	pace   pacer
	ctx    context.Context // ends with the forward, and with the session
	cancel context.CancelFunc
	over   chan struct{} // closed when it has ended, and its end is on record

	recorded atomic.Bool // its end is being recorded, by Stop or run

	total, refused, failed, sent, received atomic.Int64

	mu        sync.Mutex // guards the following
	running   int        // goroutines: the accept loop, and one for each connection
	empty     chan struct{}
	live      map[*connection]struct{}
	lastError string
}

// endGrace is how long the end of a forward waits for its connections, which a frozen far side keeps.
const endGrace = time.Second

// listen makes a forward that listens already, and accepts nothing before start.
func (s *Set) listen(to address.Address, r Request, by term.Actor) (*forward, error) {
	at, err := listenAt(s.o.Dir, to.Port, r)
	if err != nil {
		return nil, err
	}
	f := &forward{
		set: s, to: to, by: by, began: time.Now(), place: at, pace: newPacer(s.o.Rate),
		over: make(chan struct{}), empty: make(chan struct{}), live: make(map[*connection]struct{}),
	}
	f.ctx, f.cancel = context.WithCancel(s.carrier.Context())
	return f, nil
}

// start begins to accept. It reports false, and ends the forward, if the session has ended.
func (f *forward) start() bool {
	s := f.set
	s.mu.Lock()
	s.open = append(s.open, f)
	s.mu.Unlock()
	if !s.carrier.Spawn("forward", f.run) {
		f.place.close()
		f.cancel()
		s.remove(f)
		close(f.over)
		return false
	}
	// run is first: it ends the connections that accept takes before the session ends.
	if !f.spawn(f.accept) {
		f.recorded.Store(true) // there is nothing to record: it never began
		f.cancel()
		<-f.over
		return false
	}
	return true
}

// spawn runs one of the goroutines that the end of the forward waits for.
func (f *forward) spawn(work func()) bool {
	f.mu.Lock()
	f.running++
	f.mu.Unlock()
	left := func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		if f.running--; f.running == 0 { // the accept loop is the last to begin another
			close(f.empty)
		}
	}
	if f.set.carrier.Spawn("forward", func() {
		defer left()
		work()
	}) {
		return true
	}
	left()
	return false
}

// run waits for the end of the forward, and has it on record.
func (f *forward) run() {
	<-f.ctx.Done()
	f.place.close()
	f.mu.Lock()
	for c := range f.live {
		c.close()
	}
	f.mu.Unlock()
	timer := time.NewTimer(endGrace)
	defer timer.Stop()
	select {
	case <-f.empty:
	case <-timer.C:
	}
	f.set.remove(f)
	if i := f.info(); f.recorded.CompareAndSwap(false, true) {
		f.set.auth.Observe(term.Event{
			Verb: term.VerbForwardEnd, Actor: f.by, Detail: i.Summary(), Size: int(i.Sent + i.Received),
			Duration: time.Since(f.began),
		})
	}
	close(f.over)
}

// Summary describes the activity of a forward, for records.
func (i Info) Summary() string {
	return fmt.Sprintf("%s from %s: connections=%d refused=%d failed=%d sent=%d received=%d",
		i.To, i.where(), i.Total, i.Refused, i.Failed, i.Sent, i.Received)
}

// info describes the forward.
func (f *forward) info() Info {
	f.mu.Lock()
	defer f.mu.Unlock()
	return Info{
		To: f.to.String(), Socket: f.place.socket, Address: f.place.address(), Opened: f.began,
		Connections: len(f.live), Total: f.total.Load(), Refused: f.refused.Load(), Failed: f.failed.Load(),
		Sent: f.sent.Load(), Received: f.received.Load(), LastError: f.lastError,
	}
}

// note keeps an error of the far side, for people. It ignores nil.
func (f *forward) note(err error) {
	if err == nil {
		return
	}
	text := f.set.carrier.Failed(string(term.VerbForward), err).Error()
	f.mu.Lock()
	defer f.mu.Unlock()
	f.lastError = text
}

// acceptPause is how long the accept loop waits when the system has no room for a connection.
const acceptPause = 100 * time.Millisecond

// accept takes connections until the listener is closed.
func (f *forward) accept() {
	for {
		conn, err := f.place.listener.Accept()
		switch {
		case f.ctx.Err() != nil:
			if err == nil {
				_ = conn.Close()
			}
			return
		case err != nil: // for example no file descriptor is left
			f.note(err)
			f.wait(acceptPause)
			continue
		}
		if err := f.place.admits(conn); err != nil {
			f.refused.Add(1)
			f.note(err)
			_ = conn.Close()
			continue
		}
		f.wait(f.pace.next(time.Now()))
		c := &connection{f: f, near: conn}
		if !f.admit(c) {
			_ = conn.Close()
			continue
		}
		if !f.spawn(c.run) {
			f.forget(c)
			_ = conn.Close()
			return
		}
	}
}

// wait waits for a while, or until the forward ends.
func (f *forward) wait(d time.Duration) {
	if d <= 0 {
		return
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-f.ctx.Done():
	}
}

// admit makes room for a connection, unless there are as many as may be.
func (f *forward) admit(c *connection) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.ctx.Err() != nil {
		return false
	}
	if len(f.live) >= f.set.o.MaxConnections {
		f.refused.Add(1)
		f.lastError = fmt.Sprintf("connections beyond %d at a time are closed at once", f.set.o.MaxConnections)
		return false
	}
	f.total.Add(1)
	f.live[c] = struct{}{}
	return true
}

// forget gives the room of a connection back.
func (f *forward) forget(c *connection) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.live, c)
}

// A place is where clients connect.
type place struct {
	listener net.Listener
	socket   string       // the path of a Unix socket; empty: it has a port
	port     int          // of 127.0.0.1; 0: it has a socket
	remove   func() error // removes the remains of a closed place; may be nil
}

// address returns 127.0.0.1:PORT; empty: it has a socket.
func (p place) address() string {
	if p.port == 0 {
		return ""
	}
	return p.listener.Addr().String()
}

// usable reports whether clients can connect: a program that cleans folders may have removed the socket.
func (p place) usable() bool {
	if p.socket == "" {
		return true
	}
	info, err := os.Lstat(p.socket)
	return err == nil && info.Mode()&os.ModeSocket != 0
}

// close stops listening, and removes the socket.
func (p place) close() {
	_ = p.listener.Close()
	if p.remove != nil {
		_ = p.remove()
	}
}
