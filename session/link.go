package session

import (
	"fmt"
	"log/slog"
	"sync"

	"ptyctl/term"
)

// A link is the connected transport of a session and its abilities besides carrying bytes. Its fields do not change.
type link struct {
	term.Transport
	execer     term.Execer      // nil: no command can run beside the terminal
	signaler   term.Signaler    // nil: no signal can be delivered
	subsystems term.Subsystemer // nil: it carries no files
	describer  term.Describer   // nil: there is nothing to tell
	about      term.Description // the description of the time when the session opened

	hang sync.Once
}

// newLink asks a transport for its abilities.
func newLink(t term.Transport) *link {
	l := &link{Transport: t}
	l.execer, _ = t.(term.Execer)
	l.signaler, _ = t.(term.Signaler)
	l.subsystems, _ = t.(term.Subsystemer)
	l.describer, _ = t.(term.Describer)
	if l.describer != nil {
		l.about = l.describer.Describe()
	}
	return l
}

// describe asks the transport for its present description. If the transport panics, the old description is kept.
func (l *link) describe(log *slog.Logger, session string) (about term.Description) {
	if l == nil || l.describer == nil {
		return term.Description{}
	}
	defer func() {
		if r := recover(); r != nil {
			log.Error("panic in a transport's description", "session", session, "panic", fmt.Sprint(r), "stack", stack())
			about = l.about
		}
	}()
	return l.describer.Describe()
}

// hangUp closes the transport, once, without waiting for it.
func (l *link) hangUp(g *goroutines) {
	if l != nil {
		l.hang.Do(func() { g.spawnLate("close", func() { _ = l.Close() }) })
	}
}
