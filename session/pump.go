package session

import (
	"errors"
	"fmt"
	"io"
	"time"

	"ptyctl/term"
)

// pumpBuffer is the most that one Read takes from the transport: the payload of one SSH packet as OpenSSH sends
// it is at most 32 KiB, and a PTY gives 4 KiB at a time.
const pumpBuffer = 16 << 10

// pump moves what the far side sends into the buffer until the stream ends. It waits for nobody else, but for the few
// steps that the scrubber needs to keep secrets out.
func (s *Session) pump(t term.Transport) {
	p := make([]byte, pumpBuffer)
	var err error
	for err == nil {
		var n int
		n, err = t.Read(p)
		if n > 0 {
			s.count.rx.Add(int64(n))
			s.life.touch()
			s.scrub.feed(p[:n])
		}
	}
	s.scrub.end()
	s.finish(s.verdict(t, err))
	s.hangUp()
}

// accept makes p part of the output.
func (s *Session) accept(p []byte) {
	s.count.lastRx.Store(time.Now().UnixNano()) // before the readers wake, who want to know it
	s.track(p)
	_, _ = s.buf.Write(p) // fails only after Close: then nobody can read it any more
	s.observe(term.Event{Verb: term.VerbOutput, Data: p, Size: len(p)})
}

// track follows what the output switches on.
func (s *Session) track(p []byte) {
	s.mu.Lock()
	defer s.mu.Unlock() // also if a fault there should end the session
	_, _ = s.tracker.Write(p)
}

// verdict says how a stream that ended with err has ended.
func (s *Session) verdict(t term.Transport, err error) (State, End) {
	var exit term.Exit
	var lost error
	if w, ok := t.(term.Waiter); ok {
		exit, lost = w.Wait()
	}
	var limit string
	if exit.Limit != "" {
		limit = ", having met its limit " + exit.Limit
	}
	switch {
	case exit.Known && exit.Signal != "":
		return Closed, End{Reason: "the program was ended by signal " + exit.Signal + limit, Exit: exit}
	case exit.Known:
		return Closed, End{Reason: fmt.Sprintf("the program exited with status %d%s", exit.Code, limit), Exit: exit}
	case lost != nil:
		return Failed, End{Reason: lost.Error(), Err: lost}
	case errors.Is(err, io.EOF):
		return Closed, End{Reason: "the far side closed the terminal"}
	default:
		return Failed, End{Reason: "the terminal's stream broke: " + err.Error(), Err: &term.Error{Op: "read", Session: s.id, Kind: term.IOError, Err: err}}
	}
}
