package tools

import (
	"context"
	"strconv"
	"time"

	"ptyctl/mcpapi/kept"
	"ptyctl/mcpapi/toolset"
	"ptyctl/mcpapi/wire"
	"ptyctl/session"
	"ptyctl/session/forward"
	"ptyctl/term"
)

// doSession runs one action of ptyctl_session.
func doSession(ctx context.Context, c *toolset.Call, in *sessionArgs) (any, error) {
	if c.Action() == "wait" {
		return wait(ctx, c, in)
	}
	out := &sessionOut{Action: c.Action(), Success: true}
	var err error
	switch c.Action() {
	case "open":
		err = open(ctx, c, in, out)
	case "reopen":
		err = reopen(ctx, c, in, out)
	case "list", listAll:
		err = listSessions(ctx, c, in, out)
	case "status":
		err = status(ctx, c, in, out)
	case "close":
		err = closeSession(ctx, c, in, out)
	case "lock", "unlock", "heartbeat":
		err = lock(ctx, c, in, out)
	case "signal":
		err = signal(ctx, c, in, out)
	case "adopt":
		err = adopt(ctx, c, in, out)
	case "give":
		err = give(ctx, c, in, out)
	case "forward":
		err = forwarded(ctx, c, in, out)
	case "secrets":
		out.Secrets = wire.Secrets(c.Secrets(ctx))
	}
	if err != nil {
		return nil, err
	}
	// Last, so that the warnings of every step are in the result, whichever action ran.
	out.Warnings = append(out.Warnings, c.Warnings()...)
	return out, nil
}

// lease adds a lock to the result: its holder, its end in Unix milliseconds, and its epoch, which grows with each new
// holder.
func (out *sessionOut) lease(l session.Lease) {
	out.LockHolder, out.LockExpiresAt, out.LockEpoch = l.Holder.String(), l.Expires.UnixMilli(), int64(l.Epoch)
}

// reopen connects a session again that its far side has ended. The result has the cursor at which the output of the new
// connection begins.
func reopen(ctx context.Context, c *toolset.Call, in *sessionArgs, out *sessionOut) error {
	if lost, err := toolset.Lost(ctx, c, in.SessionID); err != nil || lost != nil {
		if err != nil {
			return err
		}
		return reopenLost(ctx, c, in, lost, out)
	}
	old, err := c.Session(ctx, term.VerbOpen, in.SessionID)
	if err != nil {
		return err
	}
	in.Protocol = old.Info().Protocol
	if err := checkAuth(c, in); err != nil {
		return err
	}
	r := session.ReopenRequest{
		Session: old, Wait: c.Limits().MaxWait,
		Try: c.Millis("wait_ms", in.WaitMS, session.LongestReopening, "the longest there is"),
	}
	if in.Auth != (openAuth{}) {
		r.Auth = new(in.target(c).Auth)
	}
	c.Waits("connecting again", nil)
	res, err := c.Reopen(ctx, r)
	if err != nil {
		return err
	}
	if res.Prompt != nil {
		c.Ask(&toolset.Opening{OpenResult: res, Show: func(
			ctx context.Context, c *toolset.Call, res session.OpenResult,
		) (any, error) {
			again := &sessionOut{Action: c.Action(), Success: true}
			again.reopened(ctx, c, in, res)
			again.Warnings = append(again.Warnings, c.Warnings()...)
			return again, nil
		}})
	}
	out.reopened(ctx, c, in, res)
	return nil
}

// reopenLost opens a session like one of a lost node, from its kept record and the credentials of the call. It is a new
// session with an id of its own: the output of the old one is lost.
func reopenLost(ctx context.Context, c *toolset.Call, in *sessionArgs, k *kept.Session, out *sessionOut) error {
	in.Protocol = k.Target.Protocol
	if err := checkAuth(c, in); err != nil {
		return err
	}
	t := k.Target.Open()
	if in.Auth != (openAuth{}) {
		method := t.Auth.Method
		t.Auth = in.target(c).Auth
		if t.Auth.Method == "" { // it has options, but no credentials
			t.Auth.Method = method
		}
	}
	t.Auth.NoInteractive = t.Auth.NoInteractive || c.NoInteractive()
	if t.Auth.Method == "private_key" && t.Auth.PrivateKeyPEM == "" {
		return &term.Error{
			Op: "open", Session: k.ID, Kind: term.InvalidArgument,
			Msg:   "the private key with which this session was opened is not kept; pass it again",
			Facts: term.Facts{term.ArgumentFault{Field: term.FieldPrivateKey}},
		}
	}
	t.ConnectTimeout = min(t.ConnectTimeout, c.Limits().MaxConnectTimeout)
	expect, err := (&expectArgs{patternArgs: patternArgs{Profile: family(k.Profile)}}).compile("expect", nil)
	if err != nil {
		return err
	}
	if in.WaitMS > 0 {
		c.Inform("wait_ms does not count for a session of a node that is gone: it was tried once")
	}
	c.Waits("connecting", nil)
	res, err := toolset.OpenLost(ctx, c, k, session.OpenRequest{
		Target: t, Device: k.Device, Expect: expect, Wait: c.Limits().MaxWait,
		IdleTimeout: time.Duration(k.IdleMS) * time.Millisecond,
	})
	if err != nil {
		return err
	}
	show := func(ctx context.Context, c *toolset.Call, res session.OpenResult, out *sessionOut) {
		out.reopened(ctx, c, in, res)
		out.ReopenedFrom = k.ID
	}
	if res.Prompt != nil {
		c.Ask(&toolset.Opening{OpenResult: res, Show: func(
			ctx context.Context, c *toolset.Call, res session.OpenResult,
		) (any, error) {
			again := &sessionOut{Action: c.Action(), Success: true}
			show(ctx, c, res, again)
			again.Warnings = append(again.Warnings, c.Warnings()...)
			return again, nil
		}})
	}
	show(ctx, c, res, out)
	return nil
}

// reopened adds the state of the session, or its login's question, to the result.
func (out *sessionOut) reopened(ctx context.Context, c *toolset.Call, in *sessionArgs, res session.OpenResult) {
	opened(c, in, res, out)
	i := res.Session.Info()
	out.Opens, out.Reopening = i.Opens, wire.NewReopening(i.Reopening, wire.WordsFor(ctx))
	if n := len(i.Gaps); n > 0 {
		out.Cursor = strconv.FormatInt(i.Gaps[n-1], 10)
	}
}

// status describes one session. It also names the rule that would refuse the caller's input, so that a client learns
// of it before it types.
func status(ctx context.Context, c *toolset.Call, in *sessionArgs, out *sessionOut) error {
	s, err := c.Look(ctx, in.SessionID)
	if err != nil {
		return err
	}
	out.show(s, wire.WordsFor(ctx))
	// This only asks the rules. It is not in the audit log: nothing was attempted.
	out.Session.TypingDenied = term.FactOf[term.Denial](s.ServerView().MayType(ctx)).Rule
	return nil
}

// SessionStatus is the result of status for a session, as a resource shows it.
func SessionStatus(s *session.Session, w wire.Words) any {
	out := &sessionOut{Action: "status", Success: true}
	out.show(s, w)
	return out
}

// show adds the status of s to the result.
func (out *sessionOut) show(s *session.Session, w wire.Words) {
	i := s.Info()
	out.EndCode = i.End.Code
	out.SessionID, out.State, out.Prompt, out.WaitingForInput = i.ID, i.State, (*wire.Prompt)(i.Prompt), i.Prompt != nil
	out.WaitingFor = wire.PersonOf(s, out.Prompt)
	if i.Lease != nil {
		out.lease(*i.Lease)
	}
	out.Session = wire.NewSessionStatus(i, w)
	out.Session.Profile = s.Expect().Profile
	out.Session.TxEvents = wire.NewTxEvents(s.TxEvents())
	out.Session.Forwards = wire.NewForwards(s.Forwards().List())
}

// close ends a session. Closing an ended session is no error: already_closed says so. For a local program the result
// also has its usage, how long it ran, and its exit code if it had ended by itself.
func closeSession(ctx context.Context, c *toolset.Call, in *sessionArgs, out *sessionOut) error {
	s, err := c.Session(ctx, term.VerbClose, in.SessionID)
	if err != nil {
		return err
	}
	// force has two meanings: not to wait for the far side, which any holder may want, and to close in spite of
	// another's lock, which the operator must allow.
	if err := s.ServerView().MayClose(ctx, in.Force && c.AllowForce()); err != nil {
		return err
	}
	out.AlreadyClosed = s.Close(ctx, session.CloseOptions{Force: in.Force})
	i := s.Info()
	out.SessionID, out.State, out.EndCode = i.ID, i.State, i.End.Code
	// A program of this machine has ended with its session, so that its use of resources is known.
	if i.About.Process != nil {
		out.ExitCode, out.ExitSignal, out.Usage = wire.Exit(i.End.ProgramExit())
		out.DurationMS = i.End.Time.Sub(i.Created).Milliseconds()
	}
	return nil
}

// lock takes, renews or gives back the session's lock, by action. A lock that is taken over also returns the previous
// holder.
func lock(ctx context.Context, c *toolset.Call, in *sessionArgs, out *sessionOut) error {
	s, err := c.Session(ctx, term.Verb(c.Action()), in.SessionID)
	if err != nil {
		return err
	}
	out.SessionID = s.ID()
	var l session.Lease
	switch c.Action() {
	case "unlock":
		return s.Unlock(ctx)
	case "lock":
		if in.TakeOver {
			var previous session.Lease
			// The previous holder learns of it in its next call; the new holder must know whom it interrupted.
			l, previous, err = s.TakeOver(ctx, lockTTL(c, in.LockTTL))
			out.PreviousHolder = previous.Holder.String()
			out.Cursor = strconv.FormatInt(s.ServerView().TakenAt(), 10) // from here on, a person's terminal answers queries
			break
		}
		l, err = s.Lock(ctx, lockTTL(c, in.LockTTL))
	case "heartbeat":
		l, err = s.Heartbeat(ctx, lockTTL(c, in.LockTTL))
	}
	if err == nil {
		out.lease(l)
	}
	return err
}

// lockTTL returns how long a lock lasts: the server's default for 0, and at most the operator's maximum.
func lockTTL(c *toolset.Call, ms int64) time.Duration {
	if ms == 0 {
		// A lock without an end would outlive a client that crashed.
		return c.Limits().LockTTL
	}
	return c.Millis("lock_ttl_ms", ms, c.Limits().MaxLockTTL, "locks.max_ttl_ms")
}

// signal sends a signal, by the name that the call gives.
func signal(ctx context.Context, c *toolset.Call, in *sessionArgs, out *sessionOut) error {
	s, err := c.Session(ctx, term.VerbSignal, in.SessionID)
	if err != nil {
		return err
	}
	out.SessionID = s.ID()
	return s.Signal(ctx, string(in.Signal))
}

// forwarded opens a forward, or ends those to an address.
func forwarded(ctx context.Context, c *toolset.Call, in *sessionArgs, out *sessionOut) error {
	verb := term.VerbForward
	if in.Stop {
		verb = term.VerbForwardEnd
	}
	s, err := c.Session(ctx, verb, in.SessionID)
	if err != nil {
		return err
	}
	out.SessionID = s.ID()
	if in.Stop {
		ended, err := s.Forwards().Stop(ctx, in.To)
		out.Forwards, out.AlreadyClosed = wire.NewForwards(ended), len(ended) == 0
		return err
	}
	r := forward.Request{To: in.To}
	if in.TCPPort != nil {
		r.TCP, r.Port = true, *in.TCPPort
	}
	c.Waits("a connection to the address", nil)
	f, err := s.Forwards().Open(ctx, r)
	if err != nil {
		return err
	}
	out.Socket, out.Address = f.Socket, f.Address
	if !f.Reached {
		c.Inform("connections are closed at once for now: " + f.LastError)
	}
	return nil
}

// adopt makes the caller the owner of a session that a client before it has left. The result is its status, with all
// that the caller would have got meanwhile.
func adopt(ctx context.Context, c *toolset.Call, in *sessionArgs, out *sessionOut) error {
	a, err := toolset.Adopt(ctx, c, in.SessionID)
	if err != nil {
		return err
	}
	s := a.Session
	out.show(s, wire.WordsFor(ctx))
	i := s.Info()
	from := max(a.Left, i.Buffer.Start)
	out.Cursor, out.NewBytes = strconv.FormatInt(from, 10), new(i.Buffer.End-from)
	out.Running, out.Unfetched = i.Running, i.Unfetched
	out.ExitCode, out.ExitSignal, _ = wire.Exit(i.End.ProgramExit())
	if i.State == session.Open {
		out.WaitingFor = (*wire.Waiting)(s.Waiting())
	}
	return nil
}

// give makes another client the owner of a session.
func give(ctx context.Context, c *toolset.Call, in *sessionArgs, out *sessionOut) error {
	to, err := toolset.Give(ctx, c, in.SessionID, in.To)
	if err != nil {
		return err
	}
	out.SessionID, out.Owner = in.SessionID, to.Place.String()
	return nil
}
