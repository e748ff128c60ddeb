package session

import (
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"ptyctl/term"
)

const (
	// smallRead is the size of the buffer of an idle pump. It is a size class of the allocator and larger than the 4
	// KiB that a PTY gives at a time, so such a read does not fill it.
	smallRead = 4864
	// largeRead is the most that one Read takes from the transport, when more than smallRead bytes wait there. The
	// payload of one SSH packet as OpenSSH sends it is at most 32 KiB.
	largeRead = 16 << 10
)

// largeReads are the buffers of the pumps that have much to read: most pumps wait most of the time.
var largeReads = sync.Pool{New: func() any { return new([largeRead]byte) }}

// pump moves the far side's bytes into the buffer until the stream ends. It never waits for a caller, except for the
// few steps that redaction needs to keep secrets out.
func (s *Session) pump(t term.Transport) {
	small := make([]byte, smallRead)
	var large *[largeRead]byte
	var err error
	for err == nil {
		p := small
		if large != nil {
			p = large[:]
		}
		var n int
		n, err = t.Read(p)
		if n > 0 {
			s.count.rx.Add(int64(n))
			s.timeouts.touch()
			s.redact.Write(p[:n])
		}
		switch {
		case large == nil && n == len(p):
			large = largeReads.Get().(*[largeRead]byte)
		case large != nil && n < smallRead:
			giveLarge(large)
			large = nil
		}
	}
	if large != nil {
		giveLarge(large)
	}
	// Before the end: bytes that were held back as a possible echo are output after all, and the buffer takes none
	// later.
	s.redact.End()
	st, end := verdict(s.id, t, err)
	if over := s.outlives(end); over != nil {
		select {
		case <-over:
			lost := s.link.Load().outliver.Lost()
			if lost == nil {
				lost = &term.Error{Op: "read", Session: s.id, Kind: term.RemoteClosed, Msg: "the connection has ended"}
			}
			st, end = failed(lost)
		case <-s.life.ctx.Done():
		}
	}
	s.finish(st, end)
	s.hangUp()
}

// outlives returns a channel that is closed at the end of a connection that goes on without its terminal, or nil if the
// session ends with that.
//
// The terminal of a restricted account ends by itself: its shell is git-shell, or a command that the server runs in place
// of any (sshd_config(5) ForceCommand). Commands on channels work all the same. In a terminal where something was
// typed, the end is meant.
func (s *Session) outlives(end End) <-chan struct{} {
	l := s.link.Load()
	bare := l.about.NoTerminal != ""
	if l.outliver == nil || l.execer == nil || s.o.Device != "" || s.prompts.Typed() ||
		!bare && (!end.Exit.Known || end.Exit.Signal != "") {
		return nil
	}
	over := l.outliver.Connection()
	if over == nil || s.life.ctx.Err() != nil {
		return nil
	}
	if !bare {
		s.life.mu.Lock()
		s.life.noTerminal = fmt.Sprintf("what the account runs there ended at once, with status %d", end.Exit.Code)
		s.life.mu.Unlock()
		s.o.Logger.Info("terminal ended, connection goes on", "session", s.id, "status", end.Exit.Code)
	}
	_ = s.buf.Close() // no more output comes
	return over
}

// giveLarge puts a buffer back, and wipes the data, which may be secret.
func giveLarge(p *[largeRead]byte) {
	clear(p[:])
	largeReads.Put(p)
}

// accept makes p part of the output.
func (s *Session) accept(p []byte) {
	s.count.lastRx.Store(time.Now().UnixNano()) // before the readers wake, who want to know it
	s.screen.track(p)
	_, _ = s.buf.Write(p) // fails only after Close: then it has no reader any more
	s.auth.Observe(term.Event{Verb: term.VerbOutput, Data: p, Size: len(p)})
}

// verdict says how a stream that ended with err has ended.
//
// What the transport knows of its program counts more than how the stream broke: many streams just break when a
// program exits, for example a PTY of Linux (EIO).
func verdict(session string, t term.Transport, err error) (State, End) {
	var exit term.Exit
	var lost error
	if w, ok := t.(term.Waiter); ok {
		exit, lost = w.Wait()
	}
	var limit string
	if exit.Limit != "" {
		limit = ", having met its limit of " + string(exit.Limit)
	}
	switch {
	case exit.Known && exit.Signal != "":
		return Closed, End{
			Code:   EndKilled,
			Reason: "the program was ended by signal " + exit.Signal + limit,
			Exit:   exit,
		}
	case exit.Known:
		return Closed, End{
			Code: EndExited, Reason: fmt.Sprintf("the program exited with status %d%s", exit.Code, limit), Exit: exit,
		}
	case lost != nil:
		return Failed, End{Code: EndLost, Reason: lost.Error(), Err: lost}
	case errors.Is(err, io.EOF):
		return Closed, End{Code: EndRemoteClosed, Reason: "the far side closed the terminal"}
	default:
		return Failed, End{
			Code:   EndLost,
			Reason: "the terminal's stream broke: " + err.Error(),
			Err:    &term.Error{Op: "read", Session: session, Kind: term.IOError, Err: err},
		}
	}
}
