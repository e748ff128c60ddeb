package mcpapi

import (
	"cmp"
	"context"
	"slices"

	"ptyctl/session"
	"ptyctl/term"
)

// A Caller is who sends a request, as far as the transport knows it. The zero Caller is the one client of stdio, who
// may do everything that the server offers.
type Caller struct {
	Transport string // "http", "socket"; empty: Options.Transport
	Token     string // name of the bearer token; empty if the request had none
	ReadOnly  bool   // may do only what does not type
	Isolated  bool   // knows only of the sessions that its own token has opened
	Operator  bool   // is the person who runs ptyctl: see term.Actor

	// Attachment is the person at a terminal who sends the request; see Attachments. The zero value means no person.
	Attachment term.Attachment
}

type callerKey struct{}

// WithCaller returns a context for a request of c. A transport sets it on the context that it gives to the MCP server.
func WithCaller(ctx context.Context, c Caller) context.Context {
	return context.WithValue(ctx, callerKey{}, c)
}

// callerFrom returns the caller of the request that ctx belongs to.
func callerFrom(ctx context.Context) Caller {
	c, _ := ctx.Value(callerKey{}).(Caller)
	return c
}

// sees reports whether c may know of a session.
func (c Caller) sees(i session.Info) bool {
	return !c.Isolated || i.Opener.Transport == c.Transport && i.Opener.Token == c.Token
}

// visible returns the sessions that the caller may know of, or those in one of the states.
func (s *api) visible(ctx context.Context, states ...session.State) []session.Info {
	caller := callerFrom(ctx)
	return slices.DeleteFunc(s.m.List(states...), func(i session.Info) bool { return !caller.sees(i) })
}

// onlyReads reports whether the caller may not type.
func (s *api) onlyReads(ctx context.Context) bool { return s.o.ReadOnly || callerFrom(ctx).ReadOnly }

// permitted refuses an action that the caller may do on no session, for example a write by a read-only token.
func (c *Call) permitted(ctx context.Context, a Action) error {
	caller := callerFrom(ctx)
	types := !a.Reads && c.onlyReads(ctx)
	if !types && !caller.Isolated {
		return nil
	}
	id := cmp.Or(c.text("session_id"), c.text("id")) // the same, in the words of other programs
	if types {
		err := c.readsOnly(caller)
		c.m.Refused(c.acting(ctx, ""), id, c.verb(), err)
		return err
	}
	if s, err := c.m.Get(id); err == nil && !caller.sees(s.Info()) {
		return c.m.Hide(c.acting(ctx, ""), c.verb(), id)
	}
	return nil
}

// verb names the call's action in the audit log.
func (c *Call) verb() term.Verb {
	a, _ := c.tool.action(c.action)
	return cmp.Or(a.Verb, term.Verb(c.action))
}

// readsOnly says why an action is refused, and lists the actions that are allowed.
func (c *Call) readsOnly(caller Caller) error {
	what := c.tool.Name
	if c.action != "" {
		what += " " + c.action
	}
	why, remedy := "this server is read-only", "the operator decides about that"
	if !c.o.ReadOnly && caller.Token != "" {
		why, remedy = "the token "+caller.Token+" has the role read", "use a token with the role write"
	}
	return &term.Error{
		Kind: term.PolicyDenied,
		Msg:  what + " is refused: " + why + "; sessions can be listed and read, " + remedy,
	}
}

// forReading is the tool as a caller sees it that may only read; nil: not at all.
func (t *Tool) forReading() *Tool {
	r := *t
	r.Actions = slices.DeleteFunc(slices.Clone(t.Actions), func(a Action) bool { return !a.Reads })
	if len(r.Actions) == 0 {
		return nil
	}
	r.About = t.Reading
	r.Fields = slices.DeleteFunc(slices.Clone(t.Fields), func(f Field) bool {
		return !slices.ContainsFunc(r.Actions, func(a Action) bool { return f.takes(a.Name) })
	})
	r.Hints = Hints{ReadOnly: true, Idempotent: true, OpenWorld: t.Hints.OpenWorld}
	return &r
}
