package mcpapi

import (
	"context"
	"time"

	"ptyctl/session"
	"ptyctl/term"
)

// This file has everything that a tool may do with a call. A tool sees the sessions that its caller may see, and
// never the session.Manager.

// Action returns the name of the tool's action that the call is for.
func (c *Call) Action() string { return c.action }

// Invalid is the error for an argument that the table accepts but the tool does not. text says which value would be
// right.
func (c *Call) Invalid(field, text string) error { return c.checker().invalid(field, nil, "%s", text) }

// Waits names, for progress messages, the event that the call is about to wait for; s may be nil.
func (c *Call) Waits(what string, s *session.Session) { c.meter.waits(what, s) }

// OnlyReads reports whether the caller may use only actions that type nothing.
func (c *Call) OnlyReads(ctx context.Context) bool { return c.onlyReads(ctx) }

// Session returns the session with that id, if the caller may see it. A refusal is recorded under verb, as for any
// other action.
func (c *Call) Session(ctx context.Context, verb term.Verb, id string) (*session.Session, error) {
	s, err := c.m.GetFor(ctx, verb, id)
	if err == nil && !callerFrom(ctx).sees(s.Info()) {
		return nil, c.m.Hide(ctx, verb, id)
	}
	return s, err
}

// Sessions returns the sessions that the caller may know of, oldest first.
func (c *Call) Sessions(ctx context.Context) []session.Info { return c.visible(ctx) }

// Open opens a session in the caller's name.
func (c *Call) Open(ctx context.Context, r session.OpenRequest) (session.OpenResult, error) {
	r.OwnOnly = callerFrom(ctx).Isolated
	return c.m.Open(ctx, r)
}

// Run runs a program on this machine in the caller's name.
func (c *Call) Run(ctx context.Context, r session.RunRequest) (session.RunResult, error) {
	return c.m.Run(ctx, r)
}

// Files returns the files of this machine that the operator offers.
func (c *Call) Files() *session.Files { return c.m.Files() }

// Hide returns the error for a session that the tool does not show, and records the refusal. The error is the same as
// for a session that does not exist: a caller must not learn that it does.
func (c *Call) Hide(ctx context.Context, verb term.Verb, id string) error {
	return c.m.Hide(ctx, verb, id)
}

// Forget takes an ended session off the list. The tool has it from Session.
func (c *Call) Forget(s *session.Session) { c.m.Forget(s) }

// Listed reports whether a session is still on the list.
func (c *Call) Listed(s *session.Session) bool {
	found, err := c.m.Get(s.ID())
	return err == nil && found == s
}

// Taken reports whether any session has that id, so that a new one must choose another.
func (c *Call) Taken(id string) bool {
	_, err := c.m.Get(id)
	return err == nil
}

// Version is that of ptyctl.
func (c *Call) Version() string { return c.o.Version }

// Limits are the operator's, and what counts where a call says nothing.
type Limits struct {
	MaxWait           time.Duration // the longest a call waits; 0: 50 s
	ReadTimeout       time.Duration // of a read that names none; 0: 2 s
	ExecTimeout       time.Duration // of a command that names none; 0: 60 s
	MaxConnectTimeout time.Duration // 0: 2 min
	MaxExecTimeout    time.Duration // 0: 24 h
	MaxReadBytes      int           // most bytes of one read; 0: 1 MiB
	MaxFileRead       int           // most bytes of one read of a file; 0: 1 MiB
	LockTTL           time.Duration // of a lock that names none; 0: 60 s
	MaxLockTTL        time.Duration // 0: 1 h
}

// Limits returns the server's limits; each of them is greater than 0.
func (c *Call) Limits() Limits { return c.o.Limits }
