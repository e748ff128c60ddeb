package mcpapi

import (
	"context"
	"errors"
	"time"

	"ptyctl/session"
	"ptyctl/term"
)

// The arguments of the actions but open.
type (
	statusArgs struct {
		SessionID string `json:"session_id"`
	}
	closeArgs struct {
		SessionID string `json:"session_id"`
		TaskID    string `json:"task_id"`
		Force     bool
	}
	lockArgs struct { // of unlock and heartbeat too
		SessionID string `json:"session_id"`
		TaskID    string `json:"task_id"`
		TTL       int64  `json:"lock_ttl_ms"`
		TakeOver  bool   `json:"take_over"`
	}
	signalArgs struct {
		SessionID string `json:"session_id"`
		TaskID    string `json:"task_id"`
		Signal    string
	}
)

// sessionOut is the result of every action of ptyctl_session.
type sessionOut struct {
	Action          string             `json:"action"`
	Success         bool               `json:"success"`
	SessionID       string             `json:"session_id,omitempty"`
	Existing        string             `json:"existing_session_id,omitempty"` // the same, if the session was there before
	State           session.State      `json:"state,omitempty"`
	Protocol        string             `json:"protocol,omitempty"`
	PTYEnabled      *bool              `json:"pty_enabled,omitempty"`
	PID             int                `json:"pid,omitempty"` // [open] local, like the next two
	Cwd             string             `json:"cwd,omitempty"`
	StartedAt       int64              `json:"started_at,omitempty"` // Unix milliseconds
	ExitCode        *int               `json:"exit_code,omitempty"`  // [close] of a program, like the next three
	ExitSignal      string             `json:"exit_signal,omitempty"`
	Usage           *usage             `json:"usage,omitempty"`
	DurationMS      int64              `json:"duration_ms,omitempty"`
	Cursor          string             `json:"cursor,omitempty"`
	ServerBanner    string             `json:"server_banner,omitempty"`
	SecurityWarning string             `json:"security_warning,omitempty"`
	Telnet          *term.Telnet       `json:"telnet,omitempty"`
	WaitingForInput bool               `json:"waiting_for_input,omitempty"`
	Prompt          *term.Prompt       `json:"prompt,omitempty"`
	Capabilities    *term.Capabilities `json:"capabilities,omitempty"`
	Sessions        *[]listEntry       `json:"sessions,omitempty"`
	Count           *int               `json:"count,omitempty"` // [list] of all that match
	More            bool               `json:"more,omitempty"`  // [list] than are shown
	Session         *sessionStatus     `json:"session,omitempty"`
	AlreadyClosed   bool               `json:"already_closed,omitempty"`
	LockAcquired    *bool              `json:"lock_acquired,omitempty"`
	LockHolder      string             `json:"lock_holder,omitempty"`
	LockExpiresAt   int64              `json:"lock_expires_at,omitempty"` // Unix milliseconds
	LockEpoch       int64              `json:"lock_epoch,omitempty"`      // greater for each later grant
	PreviousHolder  string             `json:"previous_holder,omitempty"` // whom the lock was taken from
	Warnings        []string           `json:"warnings,omitempty"`
}

func (c *invocation) doSession(ctx context.Context) (any, error) {
	out := &sessionOut{Action: c.action, Success: true}
	var err error
	switch c.action {
	case "open":
		err = c.open(ctx, out)
	case "list":
		err = c.list(ctx, out)
	case "status":
		err = c.status(ctx, out)
	case "close":
		err = c.close(ctx, out)
	case "lock", "unlock", "heartbeat":
		err = c.lock(ctx, out)
	case "signal":
		err = c.signal(ctx, out)
	}
	out.Warnings = append(out.Warnings, c.notes...)
	return out, err
}

// lease shows a lock in the result.
func (out *sessionOut) lease(l session.Lease) {
	out.LockHolder, out.LockExpiresAt, out.LockEpoch = l.Holder.String(), l.Expires.UnixMilli(), int64(l.Epoch)
}

func (c *invocation) list(ctx context.Context, out *sessionOut) error {
	var in listArgs
	if err := c.args(&in); err != nil {
		return err
	}
	var states []session.State
	if in.State != "" {
		states = []session.State{in.State}
	}
	out.list(c.visible(ctx, states...), in)
	out.Capabilities = &term.Capabilities{
		SplitStdoutStderr: term.Yes,
		ExitCode:          term.Yes,
		Resize:            term.Yes,
		Signal:            term.Maybe,
		ParallelExec:      term.Yes,
	}
	return nil
}

func (c *invocation) status(ctx context.Context, out *sessionOut) error {
	var in statusArgs
	if err := c.args(&in); err != nil {
		return err
	}
	s, err := c.m.Get(in.SessionID)
	if err != nil {
		return err
	}
	out.show(s)
	if e, ok := errors.AsType[*term.Error](s.MayType(c.acting(ctx, ""))); ok && e.Details != nil {
		out.Session.TypingDenied = e.Details.Rule
	}
	return nil
}

// show makes out the status of s.
func (out *sessionOut) show(s *session.Session) {
	i := s.Info()
	out.SessionID, out.State, out.Prompt, out.WaitingForInput = i.ID, i.State, i.Prompt, i.Prompt != nil
	if i.Lease != nil {
		out.lease(*i.Lease)
	}
	out.Session = newSessionStatus(i)
	out.Session.Profile = s.Expect().Profile
	out.Session.TxEvents = newTxEvents(s.TxEvents())
}

func (c *invocation) close(ctx context.Context, out *sessionOut) error {
	var in closeArgs
	if err := c.args(&in); err != nil {
		return err
	}
	ctx = c.acting(ctx, in.TaskID)
	s, err := c.m.GetFor(ctx, term.VerbClose, in.SessionID)
	if err != nil {
		return err
	}
	if err := s.MayClose(ctx, in.Force && c.o.AllowForce); err != nil {
		return err
	}
	out.AlreadyClosed = s.Close(ctx, session.CloseOptions{Force: in.Force})
	out.SessionID, out.State = s.ID(), s.State()
	if i := s.Info(); i.About.Process != nil {
		out.ExitCode, out.ExitSignal, out.Usage = exitOf(i.End.Exit)
		out.DurationMS = i.End.Time.Sub(i.Created).Milliseconds()
	}
	return nil
}

func (c *invocation) lock(ctx context.Context, out *sessionOut) error {
	var in lockArgs
	if err := c.args(&in); err != nil {
		return err
	}
	ctx = c.acting(ctx, in.TaskID)
	s, err := c.m.GetFor(ctx, term.Verb(c.action), in.SessionID)
	if err != nil {
		return err
	}
	out.SessionID = s.ID()
	var l session.Lease
	switch c.action {
	case "unlock":
		return s.Unlock(ctx)
	case "lock":
		if in.TakeOver {
			var previous session.Lease
			l, previous, err = s.TakeOver(ctx, c.lockTTL(in.TTL))
			out.PreviousHolder = previous.Holder.String()
			break
		}
		l, err = s.Lock(ctx, c.lockTTL(in.TTL))
	case "heartbeat":
		l, err = s.Heartbeat(ctx, c.lockTTL(in.TTL))
	}
	if err == nil {
		out.lease(l)
	}
	return err
}

func (c *invocation) lockTTL(ms int64) time.Duration {
	if ms == 0 {
		return c.o.LockTTL
	}
	return c.millis("lock_ttl_ms", ms, c.o.MaxLockTTL, "locks.max_ttl_ms")
}

func (c *invocation) signal(ctx context.Context, out *sessionOut) error {
	var in signalArgs
	if err := c.args(&in); err != nil {
		return err
	}
	ctx = c.acting(ctx, in.TaskID)
	s, err := c.m.GetFor(ctx, term.VerbSignal, in.SessionID)
	if err != nil {
		return err
	}
	out.SessionID = s.ID()
	return s.Signal(ctx, in.Signal)
}
