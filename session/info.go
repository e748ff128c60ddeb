package session

import (
	"time"

	"ptyctl/buffer"
	"ptyctl/term"
)

// Info describes a session at one moment.
//
// The fields are read one after another, not at one instant: counters may be newer than State. All sizes are in bytes.
type Info struct {
	ID       string
	Protocol string
	Host     string
	Device   string // the device if the session is its console; empty: a normal session
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

	Lease *Lease // nil: not locked
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
	if l, ok := s.lock.Table.Get(s.id); ok {
		i.Lease = &l
	}
	i.About = s.link.Load().describe(s.o.Logger, s.id)
	s.life.mu.Lock()
	i.State, i.End, i.Prompt = s.life.state, s.life.end, s.life.prompt()
	s.life.mu.Unlock()
	i.Buffer = s.buf.Stat() // after the state: of a session that has ended, all of the output
	i.PTY, i.Resized = s.screen.size()
	i.Typed = s.prompts.Typed()
	i.Running, i.Unfetched = s.execs.list()
	return i
}

// Received returns how many bytes have come from the far side, from the terminal and from commands beside it. It never
// falls.
func (s *Session) Received() int64 { return s.count.rx.Load() + s.count.execRx.Load() }

// State returns the session's present state.
func (s *Session) State() State {
	return s.life.now()
}

// Ended returns a channel that is closed when the session has ended.
func (s *Session) Ended() <-chan struct{} { return s.life.over }

// unixNano converts a stored time; 0 is the zero Time, not the year 1970.
func unixNano(n int64) time.Time {
	if n == 0 {
		return time.Time{}
	}
	return time.Unix(0, n)
}
