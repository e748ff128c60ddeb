package toolset

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"ptyctl/internal/mcpgo"
	"ptyctl/mcpapi/identity"
	"ptyctl/mcpapi/jsonrpc"
	"ptyctl/mcpapi/kept"
	"ptyctl/mcpapi/schema"
	"ptyctl/session"
	"ptyctl/session/hosts"
	"ptyctl/term"
)

// Shared is the state that the calls of one server share. The server alone has it: a tool gets a Call, which shows the
// sessions that its caller may see, and never the session.Manager.
type Shared struct {
	Sessions *session.Manager
	Hosts    *hosts.Hosts // of commands that name a host
	Fleet
	Version string
	Started time.Time

	Transport     string       // for callers without a transport
	ReadOnly      bool         // no caller may type
	NoInteractive bool         // never ask during a login
	AllowForce    bool         // a task without the lock may close by force
	Secrets       term.Secrets // the operator's secrets; nil: no secrets
	Numbered      bool         // each call gets a number; see term.Actor

	Limits

	Elsewhere func(ctx context.Context) []Elsewhere                                    // sessions of the caller in other processes; nil: there are none
	Gather    func(ctx context.Context, c *Call, arguments json.RawMessage) []Gathered // see Gather; nil: there are no other nodes
	Far       func(ctx context.Context, id string) (node string)                       // see Far; nil: there are no other nodes
	Ask       func(ctx context.Context, c *Call, node string, arguments json.RawMessage) Gathered
	Memory    kept.Memory   // of the sessions of all nodes; nil: there are no other nodes
	Notice    func() string // notice about this machine for callers; nil, or empty: no notice

	said said
}

// Limits are the operator's limits, and the defaults of calls.
type Limits struct {
	MaxWait           time.Duration // the longest a call waits; 0: 50 s
	ReadTimeout       time.Duration // of a read that names none; 0: 2 s
	ExecTimeout       time.Duration // of a command that names none; 0: 60 s
	MaxConnectTimeout time.Duration // 0: 2 min
	MaxExecTimeout    time.Duration // 0: 24 h
	UnattendedExec    time.Duration // of a command that names none, after a result that says it goes on; 0: 10 min
	MaxReadBytes      int           // most bytes of one read; 0: 1 MiB
	MaxFileRead       int           // most bytes of one read of a file; 0: 1 MiB
	Format            string        // of output for a call that names none, "clean" or "raw"; empty: clean
	AutoIdle          time.Duration // after which a session that was opened for a command closes; 0: 10 min
	LockTTL           time.Duration // of a lock that names none; 0: 60 s
	MaxLockTTL        time.Duration // 0: 1 h
}

// TransportOf returns the name of the caller's transport, for example "stdio".
func (s *Shared) TransportOf(ctx context.Context) string {
	return cmp.Or(identity.FromContext(ctx).Transport, s.Transport)
}

// OnlyReads reports whether the caller may use only actions that type nothing.
func (s *Shared) OnlyReads(ctx context.Context) bool {
	return s.ReadOnly || identity.FromContext(ctx).ReadOnly
}

// A Call is one call of a tool, with a known action. Its methods are all that a tool may do: in the caller's name, with
// the sessions that the caller may see.
type Call struct {
	shared    *Shared
	tool      *Tool
	action    string
	arguments json.RawMessage
	args      []jsonrpc.Member // arguments, split
	notes     []note           // for the result's warnings
	session   string           // that the call is about
	caller    term.Principal
	exact     bool // another program's contract says which values are taken
	began     time.Time
	serial    uint64 // of all calls of this process; 0: not numbered
	meter     meter
	opening   *Opening
	repeats   bool // see MayRepeat

	// onGiveUp calls a function when the client has given the call up, as context.AfterFunc does; nil: the context of
	// the action ends then.
	onGiveUp func(func()) (stop func() bool)
}

// Begin makes c a call of an action of a set's tool. The arguments are valid JSON, and args are the same, split.
func (s *Shared) Begin(
	c *Call,
	set *Set,
	t *Tool,
	action string,
	arguments json.RawMessage,
	args []jsonrpc.Member,
) {
	c.shared, c.tool, c.action, c.arguments, c.args, c.began = s, t, action, arguments, args, time.Now()
	if c.exact = set.Foreign(); s.Numbered {
		c.serial = serials.Add(1)
	}
}

// serials numbers the calls of this process.
var serials atomic.Uint64

// SerialOf returns the number of the call, which all events of its actions have; 0: calls are not numbered.
func SerialOf(c *Call) uint64 { return c.serial }

// Offers reports whether the tool has an action as this caller is offered it.
func Offers(c *Call, action string) bool {
	_, ok := c.tool.Action(action)
	return ok
}

// Action returns the name of the tool's action that the call is for.
func (c *Call) Action() string { return c.action }

// Verb names the call's action in the audit log.
func (c *Call) Verb() term.Verb {
	a, _ := c.tool.Action(c.action)
	return cmp.Or(a.Verb, term.Verb(c.action))
}

// Arguments returns the call's arguments as they came.
func (c *Call) Arguments() json.RawMessage { return c.arguments }

// Text returns an argument that is a string, or "" if it is not one: the tool's Handler reports that error.
func (c *Call) Text(name string) (value string) {
	for _, m := range c.args {
		if m.Name == name && m.Value[0] == '"' {
			value = jsonrpc.Unquoted(m.Value)
		}
	}
	return value
}

// Marked returns the name of the first argument with a mark that the call gives, or "". in is the struct of arguments.
func (c *Call) Marked(in any, mark string) string { return c.tool.Marked(in, mark) }

// Invalid returns the error for an argument that the table accepts but the tool does not. text says which value would
// be right.
func (c *Call) Invalid(field, text string) error { return c.Checker().Invalid(field, nil, "%s", text) }

// Checker returns the checker for this call, to report a wrong argument in the same words as the table does.
func (c *Call) Checker() *schema.Checker {
	checker := c.tool.Checker(c.action).About(c.Text("session_id")).Speaking(c.Text("protocol"))
	if c.exact {
		checker.Exactly()
	}
	return checker
}

// Waits names, for progress messages, the event that the call is about to wait for; s may be nil.
func (c *Call) Waits(what string, s *session.Session) { c.meter.waits(what, s) }

// Moves says that the call is about to move a file, and returns a function that takes the number of bytes moved so
// far.
func (c *Call) Moves(what string) func(bytes int64) { return c.meter.moves(what) }

// Warn adds advice to the result's warnings, once for each session and caller: repeated, it would only cost space.
func (c *Call) Warn(text string) { c.notes = append(c.notes, note{text, true}) }

// Inform adds a warning about the outcome of this very call.
func (c *Call) Inform(text string) { c.notes = append(c.notes, note{text, false}) }

// Warnings returns the warnings so far that the caller has not had. The result must show them.
func (c *Call) Warnings() (texts []string) {
	for i := range c.notes {
		n := &c.notes[i]
		if n.once {
			n.once = false
			if c.shared.said.already(c.shared.Sessions, c.session, c.caller, n.text) {
				n.text = ""
			}
		}
		if n.text != "" {
			texts = append(texts, n.text)
		}
	}
	return texts
}

// Millis returns a wire duration as a time.Duration. It lowers it to the operator's limit, with a warning that names
// key. A limit of 0 means no limit.
func (c *Call) Millis(field string, ms int64, limit time.Duration, key string) time.Duration {
	if limit > 0 && ms > limit.Milliseconds() {
		c.Warn(field + " was lowered to " + limit.String() + " (" + key + ")")
		return limit
	}
	return time.Duration(ms) * time.Millisecond
}

// Lower lowers a caller's size to the operator's limit, with a warning that names key. Zero stays.
func (c *Call) Lower(field string, n int64, limit int, key string) int {
	if n > int64(limit) {
		c.Warn(fmt.Sprintf("%s was lowered to %d (%s)", field, limit, key))
		return limit
	}
	return int(n)
}

// OnlyReads reports whether the caller may use only actions that type nothing.
func (c *Call) OnlyReads(ctx context.Context) bool { return c.shared.OnlyReads(ctx) }

// Session returns the session with that id, if the caller may see it. A refusal is recorded under verb, as for any
// other action.
func (c *Call) Session(ctx context.Context, verb term.Verb, id string) (*session.Session, error) {
	s, err := c.shared.Sessions.ServerView().GetFor(ctx, verb, id)
	c.session, c.caller = id, term.ActorFrom(ctx).Principal()
	if err == nil {
		err = c.shared.Unseen(ctx, verb, s)
	}
	if err != nil {
		return nil, err
	}
	if c.shared.Notice != nil {
		if text := c.shared.Notice(); text != "" {
			c.Warn(text)
		}
	}
	return s, nil
}

// Look is Session for an action that only looks: that there is no such session is not recorded.
func (c *Call) Look(ctx context.Context, id string) (*session.Session, error) {
	s, err := c.shared.Sessions.Get(id)
	if err == nil {
		err = c.shared.Unseen(ctx, c.Verb(), s)
	}
	if err != nil {
		return nil, err
	}
	return s, nil
}

// Sessions returns the sessions that the caller sees, or those in one of the states; oldest first.
func (c *Call) Sessions(ctx context.Context, states ...session.State) []session.Info {
	caller := identity.FromContext(ctx)
	all := c.shared.Sessions.List(states...)
	return slices.DeleteFunc(all, func(i session.Info) bool { return !caller.Sees(i) })
}

// Open opens a session in the caller's name.
func (c *Call) Open(ctx context.Context, r session.OpenRequest) (session.OpenResult, error) {
	open := c.shared.Sessions.Open
	if identity.FromContext(ctx).Isolated {
		open = c.shared.Sessions.ServerView().OpenOwn
	}
	res, err := open(ctx, r)
	if err == nil {
		c.session, c.caller = res.Session.ID(), term.ActorFrom(ctx).Principal()
	}
	return res, err
}

// Reopen connects a session again in the caller's name. The session is from Session.
func (c *Call) Reopen(ctx context.Context, r session.ReopenRequest) (session.OpenResult, error) {
	return c.shared.Sessions.Reopen(ctx, r)
}

// On calls f with an open session of the caller's at the target, which f runs a command on; see hosts.Hosts.Use.
func (c *Call) On(ctx context.Context, t term.Target, f func(*session.Session) error) (hosts.Result, error) {
	about := func(s *session.Session) { c.session, c.caller = s.ID(), term.ActorFrom(ctx).Principal() }
	res, err := c.shared.Hosts.Use(ctx, hosts.Request{Target: t, Wait: max(c.Left(), 1)}, func(s *session.Session) error {
		about(s)
		return f(s)
	})
	if err == nil {
		about(res.Session)
	}
	if err == nil && res.State == session.Open {
		// These are open's warnings about a new session; a caller that got them from open does not get them again.
		for _, w := range res.Session.Info().About.Warnings {
			c.Warn(w)
		}
	}
	return res, HostNamed(t, err)
}

// Run runs a program on this machine in the caller's name.
func (c *Call) Run(ctx context.Context, r session.RunRequest) (session.RunResult, error) {
	return c.shared.Sessions.Run(ctx, r)
}

// Copy copies a file or a tree in the caller's name. Its sessions are from Session.
func (c *Call) Copy(ctx context.Context, r session.CopyRequest) (session.CopyResult, error) {
	return c.shared.Sessions.Copy(ctx, r)
}

// Files returns the files of this machine that the operator offers.
func (c *Call) Files() *session.Files { return c.shared.Sessions.Files() }

// FarFiles reports whether the operator offers the files of other hosts.
func (c *Call) FarFiles() bool {
	_, far := c.shared.Sessions.ServerView().OffersFiles()
	return far
}

// Secrets returns the operator's secrets that the caller may use. They have no values.
func (c *Call) Secrets(ctx context.Context) []term.SecretInfo {
	if c.shared.Secrets == nil {
		return nil
	}
	return c.shared.Secrets.List(ctx)
}

// Hide returns the error for a session that the tool does not show, and records the refusal. The error is the same as
// for a session that does not exist: a caller must not learn that it does.
func (c *Call) Hide(ctx context.Context, verb term.Verb, id string) error {
	return c.shared.Sessions.ServerView().Hide(ctx, verb, id)
}

// Forget takes an ended session off the list. The tool has it from Session.
func (c *Call) Forget(s *session.Session) { c.shared.Sessions.Forget(s) }

// Listed reports whether a session is still on the list.
func (c *Call) Listed(s *session.Session) bool {
	found, err := c.shared.Sessions.Get(s.ID())
	return err == nil && found == s
}

// Version returns the version of ptyctl.
func (c *Call) Version() string { return c.shared.Version }

// Uptime returns how long ptyctl has run.
func (c *Call) Uptime() time.Duration { return time.Since(c.shared.Started) }

// Limits returns the server's limits; each of them is greater than 0.
func (c *Call) Limits() Limits { return c.shared.Limits }

// NoInteractive reports whether the operator forbids questions of a login.
func (c *Call) NoInteractive() bool { return c.shared.NoInteractive }

// AllowForce reports whether a task without the lock may close by force.
func (c *Call) AllowForce() bool { return c.shared.AllowForce }

// Left returns how long the call may still wait.
func (c *Call) Left() time.Duration { return max(c.shared.MaxWait-time.Since(c.began), 0) }

// MayRepeat says that the action has the same effect if it is done once more, so that one which failed is not kept for
// its request_id.
func (c *Call) MayRepeat() { c.repeats = true }

// Repeats reports whether the handler of c has called MayRepeat.
func Repeats(c *Call) bool { return c.repeats }

// Outlives says that the action's context will not end when the client gives the call up, which ctx does.
func (c *Call) Outlives(ctx context.Context) {
	c.onGiveUp = func(f func()) func() bool { return context.AfterFunc(ctx, f) }
}

// UntilGivenUp returns a context for work that must stop when the client cancels the call, although a retry could still
// get its result.
func (c *Call) UntilGivenUp(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	if c.onGiveUp == nil {
		return ctx, cancel
	}
	stop := c.onGiveUp(cancel)
	return ctx, func() { stop(); cancel() }
}

// Actor returns a context that acts in the name of the call's own task.
func (c *Call) Actor(ctx context.Context) context.Context { return c.Acting(ctx, c.Text("task_id")) }

// Acting returns a context with the actor of the call. Only tools of others take agent_id and evidence_id.
func (c *Call) Acting(ctx context.Context, task string) context.Context {
	name, version, _ := mcpgo.ClientFromContext(ctx)
	caller := identity.FromContext(ctx)
	if caller.Attachment != (term.Attachment{}) {
		task = caller.Attachment.String() // for the record: the person is no task
	}
	return term.WithActor(ctx, term.Actor{
		Transport: c.shared.TransportOf(ctx), Client: name, Version: version, Token: caller.Token, Issuer: caller.Issuer, Shim: caller.Shim,
		Task:     task,
		Operator: caller.Operator, Attachment: caller.Attachment, PID: caller.PID, Node: caller.Node, Rules: caller.Rules,
		Agent: c.Text("agent_id"), Evidence: c.Text("evidence_id"), Serial: c.serial,
	})
}
