package identity

import (
	"context"
	"slices"

	"ptyctl/session"
	"ptyctl/term"
)

// A Caller is the sender of a request, as far as the transport knows it. The zero Caller is the one client of stdio,
// who may do everything that the server offers.
//
// Each conversation of a daemon is a Caller with a Shim and with Isolated set. Its transport calls owners.Registry.Join
// (session.ServerView.Owners) with Principal before the first request, and Gone and Leave at its end:
//
//	c := identity.Caller{Transport: "stdio", Shim: "s-k3f9q2zd", Isolated: true}
//	err := sessions.ServerView().Owners().Join(c.Principal(), owners.Place{Dir: "/srv/web", User: "1000"})
//	...
//	sessions.ServerView().Owners().Gone(c.Principal()) // at the end of its input
//	...
//	sessions.ServerView().Owners().Leave(c.Principal()) // when its calls have ended
//
// The server tells the Registry the name of the client's program, once the client has said it.
type Caller struct {
	Transport string // "http", "socket", PageTransport; empty: the server's own
	Token     string // name of the bearer token, or "oauth:" and the subject of an access token; empty if the request had none
	Issuer    string // of that access token; empty: no access token
	Shim      string // id of the conversation, for those of a daemon; see term.Actor
	ReadOnly  bool   // may not type
	Isolated  bool   // knows only of its own sessions: those that its token or conversation has opened, or was given
	Operator  bool   // is the person who runs ptyctl: see term.Actor
	PID       int    // the process at the other end of a Unix socket; 0: unknown
	Node      string // of a cluster, that the caller is connected to and that has passed the request on; empty: this one
	Rules     string // digest of the rules of Node; empty: no rules

	Results Results // the form that it asks for; empty: the server's

	// Message returns the text of an error for a person at a command of ptyctl, who has flags and no tools. nil: there
	// are no such commands, and every caller gets the words of the tools.
	Message func(*term.Error) string

	// Attachment is the person at a terminal who sends the request; see Attachments. The zero value means no person.
	Attachment term.Attachment
}

// PageTransport is the transport of people at the watch page of the HTTP server.
const PageTransport = "page"

type callerKey struct{}

// WithCaller returns a context for a request of c. A transport sets it on the context that it gives to the MCP server.
func WithCaller(ctx context.Context, c Caller) context.Context {
	return context.WithValue(ctx, callerKey{}, c)
}

// FromContext returns the caller of the request that ctx belongs to.
func FromContext(ctx context.Context) Caller {
	c, _ := ctx.Value(callerKey{}).(Caller)
	return c
}

// Principal returns the identity of c, without the person at a terminal.
func (c Caller) Principal() term.Principal {
	return term.Principal{Transport: c.Transport, Token: c.Token, Shim: c.Shim}
}

// Resumes reports whether c may adopt a session, as one that a client before it has left. It does not see that session
// yet.
func (c Caller) Resumes(m *session.Manager, i session.Info) bool {
	return c.Shim != "" && !c.Sees(i) && m.ServerView().Resumable(c.Principal(), i)
}

// Known returns the sessions that c may know of, or those in one of the states; oldest first. resumable reports which of
// them c would have to adopt first.
func (c Caller) Known(m *session.Manager, states ...session.State) (
	known []session.Info, resumable func(session.Info) bool,
) {
	resumable = func(i session.Info) bool { return c.Resumes(m, i) }
	return slices.DeleteFunc(m.List(states...), func(i session.Info) bool { return !c.Sees(i) && !resumable(i) }), resumable
}

// Sees reports whether c may know of a session.
func (c Caller) Sees(i session.Info) bool {
	return !c.Isolated || i.Owner.Is(c.Principal())
}
