package toolset

import (
	"context"
	"errors"
	"fmt"

	"ptyctl/mcpapi/identity"
	"ptyctl/session"
	"ptyctl/session/owners"
	"ptyctl/term"
)

// Unseen returns the error for an action verb on a session that the caller must not see, or nil if it may. For a
// session that the caller may adopt, the error says so. For any other, it says that the session does not exist, and the
// refusal is recorded.
func (s *Shared) Unseen(ctx context.Context, verb term.Verb, of *session.Session) error {
	caller, i := identity.FromContext(ctx), of.Info()
	switch {
	case caller.Sees(i):
		return nil
	case !caller.Resumes(s.Sessions, i):
		return s.Sessions.ServerView().Hide(ctx, verb, i.ID)
	}
	err := &term.Error{
		Op: string(verb), Session: i.ID, Kind: term.NotFound, Reason: term.ReasonResumable,
		Msg: "this session is not yours yet: a client before this one has left it",
	}
	s.Sessions.ServerView().Refused(ctx, i.ID, verb, err)
	return err
}

// Known returns the sessions that the caller may know of, or those in one of the states; oldest first. resumable reports
// which of them it would have to adopt first.
func Known(ctx context.Context, c *Call, states ...session.State) (
	known []session.Info, resumable func(session.Info) bool,
) {
	return identity.FromContext(ctx).Known(c.shared.Sessions, states...)
}

// An Elsewhere is a session that another process keeps, and that this one cannot use. It is one that the caller may know
// of.
type Elsewhere struct {
	Daemon  string       // "older" or "newer", as the version of that process is
	Build   string       // its version
	PID     int          // of that process
	Session session.Info // its id, and the little more that is known
}

// NotHere returns the sessions of the caller that other processes keep.
func NotHere(ctx context.Context, c *Call) []Elsewhere {
	if c.shared.Elsewhere == nil {
		return nil
	}
	return c.shared.Elsewhere(ctx)
}

// Missed returns the error of a call that has found no session. If another process keeps one with that id for the
// caller, it says so.
func Missed(ctx context.Context, c *Call, err error) error {
	e, ok := errors.AsType[*term.Error](err)
	if !ok || e.Kind != term.NotFound || e.Session == "" || c.shared.Elsewhere == nil {
		return err
	}
	for _, o := range c.shared.Elsewhere(ctx) {
		if o.Session.ID == e.Session {
			return &term.Error{
				Op: e.Op, Session: e.Session, Kind: term.NotFound, Reason: term.ReasonElsewhere,
				Msg: fmt.Sprintf("an %s version of ptyctl keeps this session (%s, process %d), and no call here reaches it",
					o.Daemon, o.Build, o.PID),
			}
		}
	}
	return err
}

// ToolOf returns the name of the tool that c calls, and whether it is another program's.
func ToolOf(c *Call) (name string, foreign bool) { return c.tool.Name, c.exact }

// ByPerson reports whether a person makes the call; see term.Actor.
func ByPerson(ctx context.Context) bool { return identity.FromContext(ctx).Operator }

// Adopt makes the caller the owner of a session that a client before it has left.
func Adopt(ctx context.Context, c *Call, id string) (session.Adoption, error) {
	c.session, c.caller = id, term.ActorFrom(ctx).Principal()
	return c.shared.Sessions.ServerView().Adopt(ctx, id)
}

// Give makes another client the owner of a session; see session.ServerView.Give.
func Give(ctx context.Context, c *Call, id, to string) (owners.Owner, error) {
	c.session, c.caller = id, term.ActorFrom(ctx).Principal()
	return c.shared.Sessions.ServerView().Give(ctx, id, to)
}
