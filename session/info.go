package session

import (
	"fmt"
	"time"

	"ptyctl/buffer"
	"ptyctl/term"
)

// Info describes a session at one moment.
type Info struct {
	ID       string
	Protocol string
	Host     string
	Device   string // whose console it is; empty: a normal session
	Opener   term.Actor
	State    State
	End      End // zero while the session lives
	Prompt   *term.Prompt
	Created  time.Time
	PTY      term.PTY
	Resized  int64 // the cursor from which on PTY's size counts; 0: from the start
	About    term.Description
	Buffer   buffer.Stat

	BytesIn, BytesOut int64     // from and to the far side
	LastIn, LastOut   time.Time // zero: never
	Drained           time.Time // when a reader last had everything
	Dropped           int64     // bytes that readers asked for too late, summed over all readers
	Execs             int64     // started so far
	Running           []string  // ids of execs that have not ended, oldest first
	Unfetched         []string  // ids of execs that have ended while no call waited for them, oldest first
	Readers           int64     // reads that wait now
	Typed             bool      // something was typed into the terminal after it opened

	Lease *Lease // nil: nobody holds the lock
}

// Info returns the session's present state.
func (s *Session) Info() Info {
	i := Info{
		ID: s.id, Protocol: s.o.Protocol, Host: s.o.Host, Device: s.o.Device, Opener: s.o.Opener, Created: s.created,
		BytesIn: s.count.rx.Load(), BytesOut: s.count.tx.Load(),
		LastIn: unixNano(
			s.count.lastRx.Load(),
		), LastOut: unixNano(s.count.lastTx.Load()), Drained: unixNano(s.count.drained.Load()),
		Dropped: s.count.dropped.Load(), Execs: s.count.execs.Load(), Readers: s.count.readers.Load(),
	}
	if l, ok := s.locks.Get(s.id); ok {
		i.Lease = &l
	}
	i.About = s.describe()
	s.mu.Lock()
	defer s.mu.Unlock()
	i.State, i.End, i.Prompt, i.PTY, i.Resized = s.state, s.end, s.promptLocked(), s.pty, s.resized
	i.Typed = s.prompts.Typed()
	i.Buffer = s.buf.Stat() // after the state: of a session that has ended, all of the output
	for _, id := range s.runOrder {
		switch x := s.runs[id]; {
		case !x.ended():
			i.Running = append(i.Running, id)
		case !x.fetched.Load():
			i.Unfetched = append(i.Unfetched, id)
		}
	}
	return i
}

// Received returns how many bytes have come from the far side, from the terminal and from commands beside it. It never falls.
func (s *Session) Received() int64 { return s.count.rx.Load() + s.count.execRx.Load() }

// describe asks the transport what it is at the moment. A fault of its own is no reason to lose more than that.
func (s *Session) describe() (about term.Description) {
	s.mu.Lock()
	describer, before := s.describer, s.about
	s.mu.Unlock()
	if describer == nil {
		return before
	}
	defer func() {
		if r := recover(); r != nil {
			s.log.Error("panic in a transport's description", "session", s.id, "panic", fmt.Sprint(r), "stack", stack())
			about = before
		}
	}()
	return describer.Describe()
}

// State returns the session's present state.
func (s *Session) State() State {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.state
}

// Ended returns a channel that is closed when the session has ended.
func (s *Session) Ended() <-chan struct{} { return s.ended }

func unixNano(n int64) time.Time {
	if n == 0 {
		return time.Time{}
	}
	return time.Unix(0, n)
}
