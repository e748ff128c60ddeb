package mcpapi

import (
	"cmp"
	"context"

	"ptyctl/mcpapi/identity"
	"ptyctl/mcpapi/schema"
	"ptyctl/term"
)

// permitted refuses an action that the caller may do on no session, for example a write by a read-only token.
func (c *invocation) permitted(ctx context.Context, a schema.Action) error {
	caller := identity.FromContext(ctx)
	types := !a.Reads && c.OnlyReads(ctx)
	if !types && !caller.Isolated {
		return nil
	}
	id := cmp.Or(c.Text("session_id"), c.Text("id")) // the same, in the words of other programs
	if types {
		err := c.readsOnly(caller)
		c.s.m.ServerView().Refused(c.Acting(ctx, ""), id, c.Verb(), err)
		return err
	}
	if s, err := c.s.m.Get(id); err == nil && a.Only != schema.Clients { // such an action is on one that it does not see
		return c.s.shared.Unseen(c.Acting(ctx, ""), c.Verb(), s)
	}
	return nil
}

// readsOnly says why an action is refused, and lists the actions that are allowed.
func (c *invocation) readsOnly(caller identity.Caller) error {
	what := c.t.Name
	if c.Action() != "" {
		what += " " + c.Action()
	}
	why, remedy := "this server is read-only", "the operator decides about that"
	switch {
	case c.s.o.ReadOnly:
	case caller.Shim != "":
		why, remedy = "this conversation is read-only", "its client was started so"
	case caller.Transport == identity.PageTransport:
		why, remedy = "the token "+caller.Token+" has the role watch", "use a token with the role operate"
	case caller.Token != "":
		why, remedy = "the token "+caller.Token+" has the role read", "use a token with the role write"
	}
	return &term.Error{
		Kind: term.PolicyDenied,
		Msg:  what + " is refused: " + why + "; sessions can be listed and read, " + remedy,
	}
}
