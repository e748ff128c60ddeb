package session

import (
	"slices"
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

// recordTx remembers e, if the session records such events.
func (s *Session) recordTx(e TxEvent) {
	if !s.o.RecordTxEvents {
		return
	}
	if e.Sensitive {
		e.Bytes, e.Key = 0, ""
	}
	e.Time = time.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.txEvents) == maxTxEvents {
		s.txEvents = slices.Delete(s.txEvents, 0, 1)
	}
	s.txEvents = append(s.txEvents, e)
}

// TxEvents returns what was last typed, oldest first, if Options.RecordTxEvents is set.
func (s *Session) TxEvents() []TxEvent {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.txEvents)
}
