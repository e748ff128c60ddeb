package term

import (
	"context"
	"time"
)

// An Actor is who makes a call. All of it is what the caller says of itself, except Transport and Token.
type Actor struct {
	Transport string // "stdio", "http", "socket", "library"
	Client    string // name of the MCP client
	Version   string // its version
	Token     string // name (never the value) of the bearer token
	Task      string // task_id: the name under which locks are held
}

type actorKey struct{}

// WithActor returns a context that carries a.
func WithActor(ctx context.Context, a Actor) context.Context {
	return context.WithValue(ctx, actorKey{}, a)
}

// ActorFrom returns the Actor that ctx carries; the zero Actor if none.
func ActorFrom(ctx context.Context) Actor {
	a, _ := ctx.Value(actorKey{}).(Actor)
	return a
}

// A Verb is what a call does to a session.
type Verb string

// The verbs.
const (
	VerbOpen   Verb = "open"
	VerbWrite  Verb = "write"
	VerbAnswer Verb = "answer" // a write that answers a Prompt
	VerbExec   Verb = "exec"
	VerbSignal Verb = "signal"
	VerbResize Verb = "resize"
	VerbExpect Verb = "expect"
	VerbLock   Verb = "lock"
	VerbUnlock Verb = "unlock"
	VerbClose  Verb = "close"

	// Not calls, but things that happen to a session:
	VerbOutput Verb = "output" // bytes arrived
	VerbState  Verb = "state"  // Event.State is the new one
)

// An Action is something a caller wants to do; a Gate decides whether it may.
type Action struct {
	Verb    Verb
	Session string
	Actor   Actor
	Target  *Target // open
	Command string  // exec
	Data    []byte  // write; nil when Sensitive
}

// An Event is something that was done, refused, or happened. Data is valid only during the call that hands it over.
type Event struct {
	Time      time.Time
	Session   string
	Verb      Verb
	Actor     Actor
	Data      []byte // write and output; nil when Sensitive
	Size      int    // length of the data, also when Sensitive
	Sensitive bool
	Command   string // exec
	Detail    string // key name, signal name, size, host
	State     string
	Refused   error // why it was not done; nil if it was
}

type (
	// A Gate decides whether an action is allowed: nil allows, an *Error of kind PolicyDenied refuses.
	Gate func(ctx context.Context, a Action) error

	// A Journal is told of an action before its bytes go out; an error refuses the action.
	Journal func(e Event) error

	// An Observer is told after the fact. It never blocks: it owns a bounded queue and counts what it drops.
	Observer interface{ Observe(e Event) }
)
