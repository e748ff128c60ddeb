package mcpapi

import (
	"cmp"
	"context"
	"encoding/json"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"ptyctl/internal/inorder"
	"ptyctl/internal/mcpgo"
	"ptyctl/mcpapi/identity"
	"ptyctl/mcpapi/schema"
	"ptyctl/mcpapi/toolset"
	"ptyctl/mcpapi/wire"
	"ptyctl/term"
)

// A request is a parsed tools/call, without the tool's name.
type request struct {
	arguments json.RawMessage          // valid JSON; nil: none
	progress  mcp.ProgressToken        // nil: the client asks for no progress
	trip      mcp.MultiRoundTripParams // the answer to a question that was the result of this call
}

// An invocation is a call, with the parts of the server that answer it.
type invocation struct {
	toolset.Call
	s *api
	t calledTool

	excerpt *mcp.CallToolResult // the result as a record needs it; nil: as it is
}

// answerCall answers a call of a tool.
func (s *api) answerCall(ctx context.Context, t calledTool, r request) (result *mcp.CallToolResult, err error) {
	c, a, err := s.call(ctx, t, r.arguments)
	if err != nil {
		return s.failed(ctx, t.set, err)
	}
	if s.o.Answered != nil {
		defer func() { s.answered(&c.Call, cmp.Or(c.excerpt, result)) }()
	}
	if err := c.permitted(ctx, a); err != nil {
		return s.failed(ctx, t.set, err)
	}
	if err := c.inOrder(ctx); err != nil {
		return s.failed(ctx, t.set, err)
	}
	ctx, loan, err := c.borrow(ctx, r)
	if err != nil {
		return s.failed(ctx, t.set, err)
	}
	defer loan.over()
	if !c.asked(&r) {
		if result, ok, err := c.elsewhere(ctx, r); ok {
			return result, err
		}
	}
	if s.o.Cluster.Peers != nil {
		ctx = context.WithValue(ctx, invocationKey{}, c) // for the parts that other nodes answer
	}
	// Ends with the call: a notification about a call that has its result would confuse the client.
	defer c.Report(ctx, s.srv, r.progress)()
	var v any
	var question *mcp.CallToolResult
	switch asks := !t.set.Foreign(); {
	// The action has run up to its question, and must not run again: Resume goes on from there.
	case r.trip.RequestState != "" && asks:
		inorder.Pass(ctx)
		v, question, err = s.questions.Resume(ctx, &c.Call, anywhere{c, r}, r.trip)
	default:
		v, err = c.Once(ctx)
		// Only after a refusal: a person is not asked about an action that the rules allow.
		if err != nil {
			inorder.From(ctx).End() // no later call waits for a person, but for what a canceled call has left going on
			v, question, err = s.questions.Consent(ctx, &c.Call, c, err)
		}
	}
	// After the consent, because without it there is no login to ask about.
	if err == nil && question == nil && c.Opening() != nil {
		v, question, err = s.questions.Login(ctx, &c.Call, v)
	}
	if question != nil {
		return c.asking(ctx, question), nil
	}
	return c.outcome(ctx, v, err)
}

// call finds out which action of the tool a call is for.
func (s *api) call(ctx context.Context, t calledTool, raw json.RawMessage) (*invocation, schema.Action, error) {
	a, args, err := t.Split(raw)
	// An action of others' is unknown, except for the one that says why it is refused.
	if shown := s.callable[shownTo{s.callersOf(ctx), t.Name}]; shown != nil && a.Only != schema.Clients {
		t.Tool = shown
		a, args, err = shown.Split(raw)
	}
	if err != nil && !s.shared.OnlyReads(ctx) {
		return nil, schema.Action{}, s.elsewhere(ctx, t, args, err)
	}
	if err != nil {
		if r := t.ForReading(); r != nil && s.shared.OnlyReads(ctx) {
			_, _, err = r.Split(raw) // which fails too, and does not show actions that the caller may not use
		}
		return nil, schema.Action{}, err
	}
	// An argument that a caller is not shown is refused.
	if r := s.readers[shownTo{s.callersOf(ctx), t.Name}]; r != nil && a.Reads && s.shared.OnlyReads(ctx) {
		t.Tool, _ = r() // not nil: it has at least this action
	}
	if name, _, _ := mcpgo.ClientFromContext(ctx); name != "" { // of a revision without initialize
		s.named(ctx, name)
	}
	c := &invocation{s: s, t: t}
	s.shared.Begin(&c.Call, t.set, t.Tool, a.Name, raw, args)
	return c, a, nil
}

// inOrder waits until the earlier calls of the client that are about the same terminal or file have gone far enough.
func (c *invocation) inOrder(ctx context.Context) error {
	err := inorder.From(ctx).Wait(ctx, c.patience)
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return &term.Error{
			Op: c.Action(), Kind: term.Canceled, Err: err,
			Msg: term.CanceledMsg(ctx, "the call was canceled while it waited for an earlier one; nothing was done"),
		}
	}
	return &term.Error{
		Op: c.Action(), Kind: term.Busy,
		Msg:    "an earlier call of yours about the same terminal or file is not done, so nothing was done for this one",
		Advice: "wait for its answer, or cancel it, and call again",
	}
}

// patience returns how long the call may wait for earlier ones: as long as it may take.
func (c *invocation) patience() time.Duration {
	if ms := c.t.Whole(c.Arguments(), "timeout_ms"); ms > 0 {
		return time.Duration(min(ms, c.Left().Milliseconds())) * time.Millisecond
	}
	return c.Left()
}

// outcome makes the result of a call from the handler's value or error.
func (c *invocation) outcome(ctx context.Context, v any, err error) (*mcp.CallToolResult, error) {
	if err != nil {
		return c.s.failed(ctx, c.t.set, err)
	}
	switch v := v.(type) {
	case wire.Answer:
		return c.s.results.Answer(ctx, v)
	case wire.Shown:
		if !isPart(ctx) {
			return c.s.results.Answer(ctx, v.Answer())
		}
	case *mcp.CallToolResult: // of another node
		return v, nil
	}
	if c.t.set.Foreign() {
		return c.s.results.Full(ctx, v)
	}
	if c.s.o.Answered != nil {
		c.excerpt = c.s.results.Excerpt(ctx, v)
	}
	return c.s.results.Result(ctx, v)
}

// failed makes the result of a failure, in the form of a set of tools.
func (s *api) failed(ctx context.Context, set *toolset.Set, err error) (*mcp.CallToolResult, error) {
	// The sets of other programs have a form of their own for failures, which their clients know.
	if !set.Foreign() {
		return s.results.Failure(ctx, err)
	}
	if term.KindOf(err) == term.Internal {
		s.log.Error("internal error", "error", err)
	}
	return s.results.Answer(ctx, set.Fail(err))
}

// Once runs the call's action, or returns the result of an earlier call with the same request_id.
func (c *invocation) Once(ctx context.Context) (any, error) {
	// Read from the raw arguments: a retry is recognised before its arguments are checked once more.
	id := c.Text("request_id")
	if id == "" || !c.t.Takes("request_id") || toolset.LenderFrom(ctx) != nil { // the node that copies knows the id
		return c.do(ctx)
	}
	caller := identity.FromContext(ctx) // a caller must not get another's result
	about := c.Text("session_id")
	if about == "" && !c.t.HasActions() { // a command on a host that it names
		about = "host " + c.Text("host")
	}
	scope := c.t.Name + "/" + about + "/" + caller.Transport + "/" + caller.Token + "/" + caller.Shim
	c.Outlives(ctx)
	return c.s.replays.do(ctx, scope, id, c.Arguments(), func(ctx context.Context) (any, error) {
		v, err := c.do(ctx)
		if err != nil && toolset.Repeats(&c.Call) {
			err = repeatable{err}
		}
		return v, err
	})
}

// do runs the call's action.
func (c *invocation) do(ctx context.Context) (any, error) {
	v, err := c.t.Handle(c.Actor(ctx), &c.Call)
	if err != nil {
		err = toolset.Missed(ctx, &c.Call, err)
	}
	if err != nil && !c.t.set.Foreign() { // other programs have other units
		err = c.Hurried(err)
	}
	return v, err
}
