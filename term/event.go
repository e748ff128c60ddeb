package term

import (
	"context"
	"time"
)

// An Actor is who makes a call. All of it is what the caller says of itself, except Transport, Token, Operator and
// Attachment.
type Actor struct {
	Transport string // "stdio", "http", "socket", "cli", "library"
	Client    string // name of the MCP client
	Version   string // its version
	Token     string // name (never the value) of the bearer token
	Task      string // which of its principal's tasks: together they hold locks; see Principal
	Agent     string // agent_id: which of the client's agents
	Evidence  string // evidence_id: what of the client's own records the call belongs to
	Call      string // correlation id, where the caller's contract has one: the same in the answer, and in what is on record

	// Operator says that a person makes the call, over a way that only the operator has: he may take locks over and
	// answer for others, and what he types is in no record.
	Operator bool

	// Attachment is the person who sits at a terminal and makes the call; the zero value is nobody. No task is in the
	// same place, and Task is no more than the name that is on record.
	Attachment Attachment
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

	VerbHeartbeat Verb = "heartbeat" // a lock that is held is extended
	VerbTakeOver  Verb = "take_over" // a lock is taken from its holder

	VerbFileRead  Verb = "file_read" // a file is read, or a folder listed; Action.Path says which
	VerbFileWrite Verb = "file_write"

	// Not actions, but things that happen to a session:
	VerbOutput  Verb = "output"   // bytes arrived
	VerbState   Verb = "state"    // Event.State is the new one
	VerbExecEnd Verb = "exec_end" // a command that an exec started is over
	VerbRead    Verb = "read"     // somebody has read the output, which changes nothing

	VerbQuestion Verb = "question" // the login waits for an answer; Event.Detail is the kind of question
	VerbGone     Verb = "gone"     // a session that ended is no longer listed
	VerbPlan     Verb = "plan"     // an opening session's way was decided about: Event.Plan; or, without one, a credential was used: Event.Detail
)

// An Action is something a caller wants to do; a Gate decides whether it may.
type Action struct {
	Verb      Verb
	Session   string
	Protocol  string      // of the session
	Host      string      // of the session, as the caller named it
	User      string      // of the session, as its opener named it; empty: the default
	Far       *PlannedHop // of the session: its host as it was planned, with its other names and its addresses; nil: it was not
	Actor     Actor
	Target    *Target  // open
	Plan      *Plan    // open: what the Dialer makes of the Target; nil in the first question, before anything is planned
	Command   string   // exec; open of a local session: its program and arguments, quoted for a shell
	Argv      []string // the same word by word, if the caller gave words; Command is then for people and records
	Dir       string   // exec, and open of a local session: the working directory; empty: wherever the far side starts commands
	Env       []EnvVar // exec, and open of a local session
	Input     int      // exec: bytes that the command is given as its input
	Data      []byte   // write; nil when Sensitive
	Key       string   // write: the key that is pressed, if it is one
	Sensitive bool     // write: Data is kept back
	Path      string   // of a file

	// FarSide returns the class of what reads the line of an exec or a write: "posix", "fish", "csh", or one that has no
	// quoting to rely on. It is what was found out, never what the caller claims; to find out, it may ask the far side.
	// Nil: nothing reads a line, because the program gets Argv as it is.
	FarSide func(ctx context.Context) string
}

// A Ruling is how an action is allowed. The zero Ruling allows it as it was asked for.
type Ruling struct {
	Command  string   // exec: the line that is run instead of Action.Command; empty: that one
	Argv     []string // open of a local session: the words that are run instead of Action.Argv; nil: those
	Program  string   // local sessions: the absolute path of the file that is started, whatever the program is called
	Grant    Grant    // open, of a Plan: what it may use
	Reported error    // why it would have been refused, had the rules been enforced; nil: they allow it
}

// An Event is something that was done, refused, or happened. Each action of a caller makes one, whatever became of it.
// Data is valid only during the call that hands it over.
type Event struct {
	Time      time.Time
	Session   string
	Protocol  string // of the session
	Host      string // as the caller named it
	Verb      Verb
	Actor     Actor
	Data      []byte // write and output; nil when Sensitive
	Size      int    // bytes sent to, or had from, the far side by this event; also when Sensitive
	Sensitive bool
	Command   string // exec, plan, and open of a local session: what is run, in the form in which a Gate allowed it
	Path      string // file_read and file_write
	Exec      string // exec and exec_end: the exec's id
	Exit      *Exit  // exec_end
	Plan      *Plan  // plan; its RemoteCommand is Command, too
	Detail    string // key name, signal name, size, user@host:port, lane, reason, warnings
	State     string // state: the new one; exec_end: "ended", "timeout" or "canceled"
	From      string // state: the one before
	Dropped   int64  // read: bytes asked for that were no longer held
	Duration  time.Duration
	Consent   string // the rule for which the person at the caller's client has agreed to what the call does; empty: nobody was asked
	Reported  error  // why it would have been refused, had the rules been enforced; nil: they allow it, or refused it
	Refused   error  // why an action was not begun; nil if it was
	Err       error  // what went wrong with what was begun, or made the session end; nil if nothing did
}

// Outcome is what became of the event's subject: nil if all went well.
func (e Event) Outcome() error {
	if e.Refused != nil {
		return e.Refused
	}
	return e.Err
}

type (
	// A Gate decides whether an action is allowed, and in which form: an *Error of kind PolicyDenied refuses it.
	Gate func(ctx context.Context, a Action) (Ruling, error)

	// A Journal is told of an action before anything of it goes out; an error refuses the action.
	Journal func(e Event) error

	// An Observer is told after the fact. It never blocks: it owns a bounded queue and counts what it drops.
	Observer interface{ Observe(e Event) }
)
