package toolset

import (
	"context"
	"fmt"

	"ptyctl/mcpapi/identity"
	"ptyctl/mcpapi/kept"
	"ptyctl/mcpapi/peers"
	"ptyctl/session"
	"ptyctl/term"
)

// Lost returns the kept record of a session that no node has any more, if the caller may reopen it. It returns nil if
// there is no record, or if this node has the session.
func (s *Shared) Lost(ctx context.Context, id string) (*kept.Session, error) {
	if s.Memory == nil || peers.NodeOf(id) == "" {
		return nil, nil
	}
	if _, err := s.Sessions.Get(id); err == nil {
		return nil, nil
	}
	k, err := s.Memory.Find(ctx, id)
	if caller := identity.FromContext(ctx); err == nil && k != nil && caller.Isolated && !k.Owner.Is(s.principal(ctx)) {
		k = nil
	}
	return k, err
}

// principal returns the caller, as the sessions that it opens know it.
func (s *Shared) principal(ctx context.Context) term.Principal {
	p := identity.FromContext(ctx).Principal()
	p.Transport = s.TransportOf(ctx)
	return p
}

// Lost is Shared.Lost for the session that the call is about.
func Lost(ctx context.Context, c *Call, id string) (*kept.Session, error) {
	return c.shared.Lost(ctx, id)
}

// OpenLost opens a session in the caller's name to replace the lost session k. It gives r, which has no id, a new one.
// If another call has already replaced the session, OpenLost returns an error: it opens nothing twice.
func OpenLost(ctx context.Context, c *Call, k *kept.Session, r session.OpenRequest) (session.OpenResult, error) {
	v := c.shared.Sessions.ServerView()
	name := r.Target.Host
	if r.Device != "" {
		name = r.Device
	}
	r.ID = v.NewID(name)
	taken, release, err := c.shared.Memory.Claim(ctx, k.ID, r.ID)
	switch {
	case err != nil:
		return session.OpenResult{}, err
	case taken != r.ID:
		return session.OpenResult{}, &term.Error{
			Op: "open", Session: k.ID, Kind: term.AlreadyClosed,
			Msg: fmt.Sprintf("this session was reopened before and goes on as %s; use that one", taken),
		}
	}
	res, err := v.OpenNew(ctx, r, identity.FromContext(ctx).Isolated)
	if err != nil {
		release()
		return res, err
	}
	c.session, c.caller = r.ID, term.ActorFrom(ctx).Principal()
	return res, nil
}
