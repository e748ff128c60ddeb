package session

import (
	"slices"
	"sync"
	"time"

	"ptyctl/term"
)

// maxTxEvents is how many the session remembers.
const maxTxEvents = 100

// A TxEvent says that something was typed, never what: only a single key has its name.
type TxEvent struct {
	Time      time.Time
	Verb      term.Verb // write, answer or exec
	Task      string
	Bytes     int    // 0 when Sensitive: the length of a secret says something of it
	Key       string // "ctrl_c", ...; empty for text
	Sensitive bool
	Reason    string // why ptyctl itself pressed the key
}

// An inputLog is what was typed into a terminal, without the text itself.
type inputLog struct {
	keep bool // the events, too

	mu        sync.Mutex // guards the following
	events    []TxEvent  // the last ones, oldest first
	lineTyped int        // bytes typed since the last line end
}

// record remembers e, if the session keeps such events.
func (l *inputLog) record(e TxEvent) {
	if !l.keep {
		return
	}
	if e.Sensitive {
		e.Bytes, e.Key = 0, ""
	}
	e.Time = time.Now()
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.events) == maxTxEvents {
		l.events = slices.Delete(l.events, 0, 1)
	}
	l.events = append(l.events, e)
}

// TxEvents returns what was last typed, oldest first, if Options.RecordTxEvents is set.
func (s *Session) TxEvents() []TxEvent {
	s.input.mu.Lock()
	defer s.input.mu.Unlock()
	return slices.Clone(s.input.events)
}
