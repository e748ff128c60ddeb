package term

import (
	"context"
	"time"
)

// An Actor is the caller of an action. All fields are statements of the caller itself,
// except Transport, Token, PID, Operator and Attachment.
type Actor struct {
	Transport string // how the call came, for example "stdio" or "http"; empty for a direct call of this library
	Client    string // name of the program that calls, as it gives it
	Version   string // its version
	Token     string // name (never the value) of the bearer token, or "oauth:" and the subject of an access token
	Issuer    string // for the audit log: the issuer of that access token; empty: not an access token
	Shim      string // id of the conversation, where several clients come and go over one transport; empty: one does
	Task      string // a task of the principal; tasks hold locks, see Principal
	Agent     string // for the audit log: the agent that the program acts for, as the program gives it
	Evidence  string // for the audit log: the program's own reference for the call, for example of a ticket
	Via       string // for the audit log, in place of Transport: how a person has answered for the caller, as "page"
	Call      string // correlation id, which the answer and the audit log also have; empty: none
	PID       int    // for the audit log: the process at the other end of a Unix socket; 0: unknown
	Node      string // for the audit log: the node of a cluster that has passed the call on; empty: it came to this one
	Rules     string // digest of the rules of Node, for a Gate; empty: it has none, or there is no Node. In no record
	Serial    uint64 // number of the call in this process, equal in all events of one call; 0: none. In no record

	// Operator says that a person makes the call over a transport that only the operator can
	// use. Such a caller may take over locks and answer questions for others, and their
	// input is never recorded.
	Operator bool

	// Attachment is the person at a terminal who makes the call; the zero value is no
	// person. An attached person holds locks instead of a task; Task is then only a name for
	// the audit log.
	Attachment Attachment
}

type actorKey struct{}

// WithActor returns a context that carries a.
func WithActor(ctx context.Context, a Actor) context.Context {
	return context.WithValue(ctx, actorKey{}, a)
}

// ActorFrom returns the Actor that ctx carries, or the zero Actor.
func ActorFrom(ctx context.Context) Actor {
	a, _ := ctx.Value(actorKey{}).(Actor)
	return a
}

// A Verb is an action on a session, or an event of one.
type Verb string

// Verbs.
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

	VerbHeartbeat Verb = "heartbeat" // extends a lock
	VerbTakeOver  Verb = "take_over" // takes a lock from its holder
	VerbAdopt     Verb = "adopt"     // makes the caller the owner of a session that no client has
	VerbGive      Verb = "give"      // makes another client the owner; Event.Detail names it

	VerbFileRead  Verb = "file_read" // reads a file or lists the folder Action.Path
	VerbFileWrite Verb = "file_write"

	VerbForward Verb = "forward" // listens here for connections to Action.To, which the far side makes
	// VerbForwardEnd: a forward has ended. Event.Detail has the address and the bytes, Event.Size the sum of these. As an
	// action, it ends one.
	VerbForwardEnd Verb = "forward_end"

	// Events of a session that are not actions:
	VerbOutput  Verb = "output"   // bytes arrived
	VerbState   Verb = "state"    // Event.State is the new state
	VerbExecEnd Verb = "exec_end" // a command has ended
	VerbRead    Verb = "read"     // a caller has read output
	VerbReply   Verb = "reply"    // queries of the output were answered, as a terminal does

	// VerbExecOutput: bytes of a command beside the terminal arrived. Event.Detail is their stream, "stdout" or
	// "stderr". Only an ExecObserver gets it.
	VerbExecOutput Verb = "exec_output"

	VerbQuestion Verb = "question" // the login asks a question; Event.Detail is its kind
	VerbGone     Verb = "gone"     // a session that had ended is no longer listed
	VerbSecret   Verb = "secret"   // a named secret answers a question of a login; Event.Detail names it, never its value
	VerbOrphan   Verb = "orphan"   // the session's client is gone, and the session stays for another
	// VerbPlan: the plan of an opening session was judged (Event.Plan), or, without a plan, a credential
	// was used (Event.Detail).
	VerbPlan Verb = "plan"

	// VerbConsent: a call needs a person's consent (Event.State "asked"), a person has answered ("agreed", "denied"), or
	// the question has ended without an answer, which denies the call ("expired"; "withdrawn": its session or its client
	// has ended). Event.Consent is the rule. It may have no session.
	VerbConsent Verb = "consent"

	// Events of a process that keeps the sessions of clients that come and go; they have no session:
	VerbStop   Verb = "stop"   // a person ends it
	VerbReload Verb = "reload" // a person has it read its configuration again

	VerbWatch Verb = "watch" // a person begins to watch all sessions; Event.Detail is from where
)

// An Action is a request of a caller; a Gate decides whether it is allowed.
type Action struct {
	Verb      Verb
	Session   string
	Protocol  string      // of the session
	Host      string      // of the session, as the caller wrote it
	User      string      // of the session, as its opener wrote it; empty: the default
	Far       *PlannedHop // of the session: its host with all names and addresses; nil: no plan
	Actor     Actor
	Target    *Target  // open
	Plan      *Plan    // open: the Dialer's plan; nil in the first question, before there is one
	Command   string   // exec; open of a local session: its program and arguments, quoted for a shell
	Argv      []string // the words of the command, if the caller passed any; Command is then for people only
	Dir       string   // exec, and open of a local session: working directory; empty: the far side's default
	Env       []EnvVar // exec, and open of a local session
	Input     int      // exec: number of bytes on its standard input
	Data      []byte   // write; nil when Sensitive
	Key       string   // write: the name of the key, if it is one
	Sensitive bool     // write: Data must not be recorded
	Path      string   // of a file
	To        string   // forward: host:port, in its one form; see package session/forward/address

	// FarSide returns the class of the interpreter that reads the line of an exec or a
	// write: "posix", "fish", "csh", or a class without safe quoting. The class is detected,
	// never taken from the caller; FarSide may have to ask the far side. Nil: no
	// interpreter, because the program gets Argv unchanged.
	FarSide func(ctx context.Context) string
}

// A Ruling is the form in which an action is allowed. The zero Ruling allows it
// unchanged.
type Ruling struct {
	Command  string   // exec: runs instead of Action.Command; empty: no change
	Argv     []string // open of a local session: runs instead of Action.Argv; nil: no change
	Program  string   // local sessions: absolute path of the file to start, whatever Argv[0] is
	Grant    Grant    // open with a Plan: limits the plan
	Reported error    // the denial that the rules would make if they were enforced; nil: none
}

// A PartOf says which larger action an event is a part of. The zero PartOf is of none.
type PartOf struct {
	Copy  string // file_read and file_write, and write over a terminal: the id of the copy
	Fleet string // the id of the run over many hosts
}

// An Event is an action or event of a session. Each action of a caller makes one, even if
// it is refused or fails. Data is valid only during the call that receives the Event.
type Event struct {
	Time      time.Time
	Session   string
	Protocol  string // of the session
	Host      string // as the caller wrote it
	Verb      Verb
	Actor     Actor
	Data      []byte // write and reply; output, with an asterisk for each column of a secret; nil when Sensitive
	Size      int    // bytes sent to or received from the far side by this event; also when Sensitive
	Sensitive bool
	Step      *int   // write and answer: the index of the step in a list of them; nil: it is in none
	Command   string // exec, plan, and open of a local session: the command as a Gate allowed it
	Path      string // file_read and file_write
	Exec      string // exec and exec_end: the exec's id
	PartOf
	Exit     *Exit  // exec_end; state: of the terminal's program, if that has ended
	Plan     *Plan  // plan; Command holds its RemoteCommand
	Detail   string // for example key, signal, size, user@host:port, lane, reason, warnings
	State    string // state: the new state; exec_end: "ended", "timeout" or "canceled"
	From     string // state: the old state
	Dropped  int64  // read: requested bytes that the buffer had dropped
	Duration time.Duration
	Consent  string // the rule to which a person has consented; empty: none
	Reported error  // the denial that the rules would make if they were enforced; nil: none
	Refused  error  // why an action was not started; nil: it was
	Err      error  // the failure of the started action, or the cause of the session's end; nil: none
}

// Outcome returns the error of the event, or nil if it succeeded.
func (e Event) Outcome() error {
	if e.Refused != nil {
		return e.Refused
	}
	return e.Err
}

type (
	// A Gate decides whether an action is allowed, and in which form. To refuse it, the Gate
	// returns an *Error of kind PolicyDenied.
	Gate func(ctx context.Context, a Action) (Ruling, error)

	// A Journal records an action before it starts. An error refuses the action.
	Journal func(e Event) error

	// An Observer receives events after they happened. It must not block: it should own a
	// bounded queue and count the events that it drops.
	Observer interface{ Observe(e Event) }

	// An ExecObserver is an Observer that also receives the output of commands beside the
	// terminal, from the start of each until its VerbExecEnd. It must not block either.
	ExecObserver interface {
		Observer
		ObserveExec(e Event)
	}

	// A Settler is an Observer that has files of a session open for a while after its end. Settle returns when the
	// files of the sessions that have ended are closed, or ctx has ended.
	Settler interface {
		Observer
		Settle(ctx context.Context)
	}
)

// An ObserverFunc is a function that is an Observer.
type ObserverFunc func(e Event)

// Observe implements Observer.
func (f ObserverFunc) Observe(e Event) { f(e) }
