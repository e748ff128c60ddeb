package session

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"time"

	"ptyctl/secret/forms"
	"ptyctl/session/redact"
	"ptyctl/session/reserved"
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
			s.tap.Write(p[:n])
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
	s.tap.End()
	s.redact.End()
	s.hide.End()
	s.display.End()
	st, end := verdict(s.id, t, err)
	if over := outlives(s, end); over != nil {
		select {
		case <-over:
			lost := s.link.Load().outliver.Lost()
			if lost == nil {
				lost = sessionError("read", s.id, term.RemoteClosed, "the connection has ended")
			}
			st, end = failed(lost)
		case <-s.life.ctx.Done():
		}
	}
	if !end.Exit.Known {
		s.owner.checkDevice(s)
	}
	s.finish(st, end)
	s.hangUp()
}

// outlives returns a channel that is closed at the end of a connection that goes on without its terminal, or nil if the
// session ends with that.
//
// The terminal of a restricted account ends by itself: its shell is git-shell, or a command that the server runs in
// place of any (sshd_config(5) ForceCommand). Commands on channels still work there. If something was typed in the
// terminal, the end is intended.
func outlives(s *Session, end End) <-chan struct{} {
	l := s.link.Load()
	bare := l.about.NoTerminal != ""
	if l.outliver == nil || l.execer == nil || s.o.Origin.Device != "" || s.prompts.Typed() ||
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
		s.life.ranOut = end.Exit
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

// hide passes output on to accept, without the secrets that the far side knows. An echo that was replaced is no part of
// one.
func hide(s *Session, p []byte, echoes []redact.Echo) {
	at := 0
	for _, e := range echoes {
		if at < e.From {
			s.hide.Write(p[at:e.From])
		}
		s.hide.Break()
		at = e.To
		e.From, e.To = 0, e.To-e.From
		accept(s, p[at-e.To:at], []redact.Echo{e})
	}
	if at < len(p) {
		s.hide.Write(p[at:])
	}
}

// echoesOf returns the secrets that were replaced as echoes, for the screen and the observers.
func echoesOf(cuts []forms.Cut) []redact.Echo {
	if len(cuts) == 0 {
		return nil
	}
	echoes := make([]redact.Echo, len(cuts))
	for i, c := range cuts {
		echoes[i] = redact.Echo{From: c.From, To: c.To, Text: c.Text}
	}
	return echoes
}

// accept makes p part of the output. In place of echoes it has masks; the screen gets them as they are, and the
// observers with their width.
func accept(s *Session, p []byte, echoes []redact.Echo) {
	s.display.Show(p, echoes)
	drawn := redact.Drawn(p, echoes)
	if len(p)+len(drawn) == 0 {
		return
	}
	s.count.lastRx.Store(time.Now().UnixNano()) // before the readers wake, who want to know it
	queries := s.window.track(p)
	_, _ = s.buf.Write(p) // fails only after Close: then it has no reader any more
	if queries > 0 {
		s.answers.asked(queries)
	}
	s.auth.Observe(term.Event{Verb: term.VerbOutput, Data: drawn, Size: len(drawn)})
}

// verdict says how a stream that ended with err has ended.
//
// The transport's knowledge of its program counts more than how the stream broke: many streams just break when a
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

// A link is the connected transport of a session and its abilities besides carrying bytes. Its fields do not change.
type link struct {
	term.Transport
	prober     term.Prober        // nil: the programs in front of the terminal cannot be seen
	execer     term.Execer        // nil: no command can run beside the terminal
	signaler   term.Signaler      // nil: no signal can be delivered
	subsystems term.Subsystemer   // nil: it carries no files
	forwarder  term.Forwarder     // nil: it forwards no connections
	keys       term.KeySender     // nil: its protocol has no keys
	peerer     term.Peerer        // nil: nothing proves where it leads
	echoer     term.Echoer        // nil: it does not know whether the terminal shows the input
	outliver   term.Outliver      // nil: it ends with its terminal
	describer  term.Describer     // nil: there is nothing to tell
	clear      term.Transparenter // nil: it carries all bytes unchanged
	divider    term.Divider       // nil: data may be cut anywhere
	about      term.Description   // the description of the time when the session opened

	hang sync.Once
}

// newLink asks a transport for its abilities. check comes before everything that it sends; nil: no check does.
func newLink(t term.Transport, check reserved.Check) *link {
	l := &link{Transport: t}
	l.execer, _ = t.(term.Execer)
	l.prober, _ = t.(term.Prober)
	l.signaler, _ = t.(term.Signaler)
	l.subsystems, _ = t.(term.Subsystemer)
	l.forwarder, _ = t.(term.Forwarder)
	l.keys, _ = t.(term.KeySender)
	l.peerer, _ = t.(term.Peerer)
	l.echoer, _ = t.(term.Echoer)
	l.outliver, _ = t.(term.Outliver)
	l.describer, _ = t.(term.Describer)
	l.clear, _ = t.(term.Transparenter)
	l.divider, _ = t.(term.Divider)
	if check != nil {
		a := check.Abilities(reserved.Abilities{
			Execer: l.execer, Signaler: l.signaler, Subsystems: l.subsystems, Forwarder: l.forwarder, Keys: l.keys, Clear: l.clear,
		})
		l.Transport, l.execer, l.signaler, l.subsystems = check.Transport(t), a.Execer, a.Signaler, a.Subsystems
		l.forwarder, l.keys, l.clear = a.Forwarder, a.Keys, a.Clear
	}
	if l.describer != nil {
		l.about = l.describer.Describe()
	}
	return l
}

// describe asks the transport for its present description. If the transport panics, the old description is kept.
//
// It is asked while the session is in use, for example for a list of all sessions, so a fault there must not end it.
func (l *link) describe(log *slog.Logger, session string) (about term.Description) {
	if l == nil || l.describer == nil {
		return term.Description{}
	}
	defer func() {
		if r := recover(); r != nil {
			log.Error(
				"panic in a transport's description",
				"session",
				session,
				"panic",
				fmt.Sprint(r),
				"stack",
				stack(),
			)
			about = l.about
		}
	}()
	return l.describer.Describe()
}

// hangUp closes the transport, once, without waiting for it, and then lets go of it: the session is kept for a while,
// and its connection with all its buffers must not be.
func (s *Session) hangUp() {
	l := s.link.Load()
	if l == nil {
		return
	}
	l.hang.Do(func() {
		s.group.spawnLate("close", func() {
			defer func() { s.link.Store(l.dead(s)) }()
			_ = l.Close()
			s.owner.sockets.Release()
		})
	})
}

// dead returns a link with the same abilities and the last description, in place of one that is closed. Every call
// of it has come too late.
func (l *link) dead(s *Session) *link {
	over := &overTransport{life: s.life}
	d := &link{Transport: over, about: l.describe(s.o.Logger, s.id)}
	over.link = d
	d.hang.Do(func() {}) // there is nothing to close
	if l.prober != nil {
		d.prober = over
	}
	if l.execer != nil {
		d.execer = over
	}
	if l.signaler != nil {
		d.signaler = over
	}
	if l.subsystems != nil {
		d.subsystems = over
	}
	if l.forwarder != nil {
		d.forwarder = over
	}
	if l.keys != nil {
		d.keys = over
	}
	if l.describer != nil {
		d.describer = over
	}
	return d
}

// An overTransport takes the place of a closed transport.
type overTransport struct {
	link *link // with the last description
	life *life
}

func (o *overTransport) Read([]byte) (int, error)  { return 0, io.EOF }
func (o *overTransport) Write([]byte) (int, error) { return 0, o.life.endedError("write") }

func (o *overTransport) Resize(int, int) error                 { return o.life.endedError("resize") }
func (o *overTransport) Close() error                          { return nil }
func (o *overTransport) Probe() term.Front                     { return term.Front{} }
func (o *overTransport) Describe() term.Description            { return o.link.about }
func (o *overTransport) Signal(context.Context, string) error  { return o.life.endedError("signal") }
func (o *overTransport) SendKey(context.Context, string) error { return o.life.endedError("write") }

func (o *overTransport) Exec(context.Context, term.ExecRequest, io.Writer, io.Writer) (term.Exit, error) {
	return term.Exit{}, o.life.endedError("exec")
}

func (o *overTransport) Subsystem(context.Context, string) (io.ReadWriteCloser, error) {
	return nil, o.life.endedError("open")
}

func (o *overTransport) Forward(context.Context, string, int) (term.Stream, error) {
	return nil, o.life.endedError("forward")
}
