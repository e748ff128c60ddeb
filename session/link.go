package session

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"sync"

	"ptyctl/term"
)

// A link is the connected transport of a session and its abilities besides carrying bytes. Its fields do not change.
type link struct {
	term.Transport
	prober     term.Prober      // nil: the programs in front of the terminal cannot be seen
	execer     term.Execer      // nil: no command can run beside the terminal
	signaler   term.Signaler    // nil: no signal can be delivered
	subsystems term.Subsystemer // nil: it carries no files
	keys       term.KeySender   // nil: its protocol has no keys
	outliver   term.Outliver    // nil: it ends with its terminal
	describer  term.Describer   // nil: there is nothing to tell
	about      term.Description // the description of the time when the session opened

	hang sync.Once
}

// newLink asks a transport for its abilities.
func newLink(t term.Transport) *link {
	l := &link{Transport: t}
	l.execer, _ = t.(term.Execer)
	l.prober, _ = t.(term.Prober)
	l.signaler, _ = t.(term.Signaler)
	l.subsystems, _ = t.(term.Subsystemer)
	l.keys, _ = t.(term.KeySender)
	l.outliver, _ = t.(term.Outliver)
	l.describer, _ = t.(term.Describer)
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
		})
	})
}

// dead returns a link with the same abilities and the last description, in place of one that is closed. What is asked
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
	if l.keys != nil {
		d.keys = over
	}
	if l.describer != nil {
		d.describer = over
	}
	return d
}

// An overTransport is what remains of a closed transport.
type overTransport struct {
	link *link // with the last description
	life *life
}

func (o *overTransport) Read([]byte) (int, error)              { return 0, io.EOF }
func (o *overTransport) Write([]byte) (int, error)             { return 0, o.life.endedError("write") }
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
