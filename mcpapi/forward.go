package mcpapi

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"ptyctl/internal/inorder"
	"ptyctl/internal/mcpgo"
	"ptyctl/mcpapi/identity"
	"ptyctl/mcpapi/peers"
	"ptyctl/mcpapi/toolset"
	"ptyctl/mcpapi/wire"
	"ptyctl/term"
)

// placements is how many nodes are tried for a new session or program while they give no answer.
const placements = 3

// elsewhere passes the call on if another node must answer it. It reports false if this node must.
func (c *invocation) elsewhere(ctx context.Context, r request) (result *mcp.CallToolResult, ok bool, err error) {
	all := c.s.o.Cluster.Peers
	if all == nil || isServed(ctx) {
		return nil, false, nil
	}
	node, state, err := c.named(ctx, r)
	need, opens := c.need(ctx)
	for tried := 1; err == nil; tried++ {
		placed := node == "" && opens
		if placed {
			node, err = all.Place(ctx, need)
		}
		if err == nil && (node == "" || node == all.Node()) {
			return nil, false, nil
		}
		if err == nil {
			result, err = c.forward(ctx, node, state, r)
		}
		// The node has done nothing. A request that must not be done twice stays with its node.
		if !placed || tried == placements || need.Once != "" || !errors.Is(err, term.NodeUnreachable) || node == "" {
			break
		}
		need.Not, node, err = append(need.Not, node), "", nil
	}
	err = loanFrom(ctx).explained(err)
	if ok = true; errors.Is(err, term.NodeUnreachable) && node != "" && c.reopens() && state == "" {
		result, ok, err = c.reopen(ctx, node, r)
	}
	if err != nil {
		result, err = c.s.failed(ctx, c.t.set, c.about(err))
	}
	return result, ok, err
}

// about adds the action and the session to the error of a call that no other node has answered. The sets of other
// programs need both for messages in their own words.
func (c *invocation) about(err error) error {
	e, ok := errors.AsType[*term.Error](err)
	if !ok || !c.t.set.Foreign() {
		return err
	}
	said := *e
	said.Op, said.Session = cmp.Or(c.Action(), e.Op), cmp.Or(e.Session, c.Text("session_id"), c.Text("id"))
	return &said
}

// named returns the node that a call names, and the state of the question that the call answers, as that node knows it.
// node is empty if the call names none.
func (c *invocation) named(ctx context.Context, r request) (node, state string, err error) {
	if l := loanFrom(ctx); l != nil {
		_, state = stateNode(r.trip.RequestState)
		return l.to, state, nil
	}
	if node, state = stateNode(r.trip.RequestState); node != "" { // the answer goes to the node that asks
		return node, state, nil
	}
	switch named := toolset.NodesNamed(&c.Call); len(named) {
	case 0:
		return "", state, nil
	case 1:
		return named[0], state, nil
	default:
		if c.Action() == "wait" && c.t.Takes("on") { // each node waits for its own
			return "", state, nil
		}
		return "", "", c.Invalid("session_id", fmt.Sprintf("this call names sessions of several nodes (%s), and one node has to do "+
			"all of it: make a call for each", strings.Join(named, ", ")))
	}
}

// need returns the facts from which a cluster chooses the node for a call that opens a session or starts a program. It
// reports false for any other call.
func (c *invocation) need(ctx context.Context) (n peers.Need, ok bool) {
	n.Host = cmp.Or(c.Text("host"), toolset.FileHost(&c.Call))
	switch local := c.Text("protocol") == "local" || c.s.placed[c.t.Name] && n.Host == ""; {
	case c.t.set.Foreign(): // their actions have other names, and they start local programs
		return n, local && c.starts()
	case local && (c.Action() == "open" || !c.t.HasActions()):
		n.Host = ""
	case c.Action() == "open":
		n.Device = c.Text("device_id")
	case n.Host == "" || c.Action() == "list" || c.Text("session_id") != "":
		return n, false
	case !c.t.HasActions() || c.s.farFiles[c.t.Name]: // a command or a file uses the session that is open there
		n.Same = n.Host
	}
	if id := c.Text("request_id"); id != "" && c.t.Takes("request_id") {
		caller := identity.FromContext(ctx)
		n.Once = strings.Join([]string{c.t.Name, n.Host, caller.Transport, c.s.tokenFor(ctx), caller.Shim, id}, "\x00")
	}
	return n, true
}

// starts reports whether the call starts a program and names no running one.
func (c *invocation) starts() bool {
	verb := c.Verb()
	return verb == term.VerbOpen || verb == term.VerbExec && c.Text("session_id")+c.Text("id") == ""
}

// forward has another node answer the call.
func (c *invocation) forward(ctx context.Context, node, state string, r request) (*mcp.CallToolResult, error) {
	call := c.s.callFor(ctx)
	call.Tool, call.Arguments, call.Progress = c.t.Name, r.arguments, r.progress != nil
	call.Ordered = inorder.From(ctx) != nil
	if l := loanFrom(ctx); l != nil {
		call.Lent = &l.lent
	}
	if r.trip.RequestState != "" {
		r.trip.RequestState = state
		trip, err := json.Marshal(r.trip)
		if err != nil {
			return nil, err
		}
		call.Trip = trip
	}
	j := &judge{c: c, ctx: ctx, given: c.s.given.take(node, state)}
	if given := term.ConsentFrom(ctx); given != nil {
		j.given = given
	}
	raw, err := c.s.o.Cluster.Peers.Forward(ctx, node, call, &askedClient{ctx: ctx, srv: c.s.srv, progress: r.progress, judge: j})
	if err != nil {
		return nil, err
	}
	result, err := mcpgo.ReadResult(raw)
	if err != nil {
		return nil, fmt.Errorf("the answer of node %s is no result of a tool: %w", node, err)
	}
	if question := j.question(ctx, result); question != nil {
		return question, nil
	}
	if result.RequestState != "" {
		c.s.given.keep(node, result.RequestState, j.given)
		result.RequestState = stateMark + node + " " + result.RequestState
	}
	return result, nil
}

// stateMark begins the state of a question that another node asks; the node and a space follow.
const stateMark = "@"

// stateNode splits the state of a question into the node that asks and that node's own state. node is empty if this
// node asks.
func stateNode(text string) (node, state string) {
	rest, ok := strings.CutPrefix(text, stateMark)
	if node, state, found := strings.Cut(rest, " "); ok && found && peers.ValidNode(node) {
		return node, state
	}
	return "", text
}

// asking marks a question of this node with the node's name: the answer may come to any node.
func (c *invocation) asking(ctx context.Context, question *mcp.CallToolResult) *mcp.CallToolResult {
	if all := c.s.o.Cluster.Peers; all != nil && !isServed(ctx) && question.RequestState != "" {
		question.RequestState = stateMark + all.Node() + " " + question.RequestState
	}
	return question
}

// asked reports whether r answers a question of this node, and if so sets the state in r to the node's own.
func (c *invocation) asked(r *request) bool {
	all := c.s.o.Cluster.Peers
	if all == nil {
		return false
	}
	node, state := stateNode(r.trip.RequestState)
	if node == all.Node() {
		r.trip.RequestState = state
	}
	return node == all.Node()
}

// callFor returns a call with the caller of ctx and its program.
func (s *api) callFor(ctx context.Context) peers.Call {
	caller := identity.FromContext(ctx)
	name, version, revision := mcpgo.ClientFromContext(ctx)
	p := peers.Program{Name: name, Version: version, Revision: revision, Stateless: server.IsModernRequest(ctx)}
	p.Capabilities = noCapabilities
	if c := mcpgo.Capabilities(ctx); !reflect.ValueOf(&c).Elem().IsZero() {
		p.Capabilities, _ = json.Marshal(c) // JSON can encode the struct
	}
	return peers.Call{
		Caller: peers.Caller{
			Transport: s.shared.TransportOf(ctx), Token: s.tokenFor(ctx), Issuer: caller.Issuer, Shim: caller.Shim,
			ReadOnly: s.shared.OnlyReads(ctx), Isolated: caller.Isolated, Results: string(s.results.ResultsFor(ctx)),
		},
		Client: p, Rules: s.rules(),
	}
}

// noCapabilities are the capabilities of most clients, in JSON.
var noCapabilities = json.RawMessage("{}")

// machineTransports are the transports of clients on the server's machine.
var machineTransports = []string{"stdio", "socket"}

// tokenFor returns the name by which other nodes know the caller of ctx. A client on this machine without a token gets
// the node's name: otherwise it could use the locks of such a client on another machine.
func (s *api) tokenFor(ctx context.Context) string {
	caller := identity.FromContext(ctx)
	if caller.Token == "" && caller.Shim == "" && slices.Contains(machineTransports, s.shared.TransportOf(ctx)) {
		return "node:" + s.o.Cluster.Peers.Node()
	}
	return caller.Token
}

// gatherTime is how long the other nodes have to answer a call that goes to all of them.
const gatherTime = 2 * time.Second

// gather is toolset.Gather.
func (s *api) gather(ctx context.Context, c *toolset.Call, arguments json.RawMessage) []toolset.Gathered {
	if isServed(ctx) {
		return nil
	}
	return s.askAll(ctx, s.callOf(ctx, c, arguments), textOf)
}

// ask is toolset.Ask.
func (s *api) ask(ctx context.Context, c *toolset.Call, node string, arguments json.RawMessage) toolset.Gathered {
	return s.askOne(ctx, node, s.callOf(ctx, c, arguments), textOf)
}

// callOf returns c for other nodes, with other arguments and whole results.
func (s *api) callOf(ctx context.Context, c *toolset.Call, arguments json.RawMessage) peers.Call {
	call := s.callFor(ctx)
	name, _ := toolset.ToolOf(c)
	call.Tool, call.Arguments, call.Part, call.Caller.Results = name, arguments, true, string(identity.Full)
	return call
}

// A taking extracts the wanted part of an answer.
type taking func(raw json.RawMessage) (json.RawMessage, error)

// askAll has all other nodes answer a call.
func (s *api) askAll(ctx context.Context, call peers.Call, take taking) []toolset.Gathered {
	ctx, cancel := context.WithTimeout(ctx, gatherTime)
	defer cancel()
	others := slices.Sorted(slices.Values(s.o.Cluster.Peers.Others()))
	answers := make([]toolset.Gathered, len(others))
	var asking sync.WaitGroup
	for i, node := range others {
		asking.Go(func() {
			answers[i] = s.askOne(ctx, node, call, take)
			if answers[i].Err != nil && errors.Is(ctx.Err(), context.DeadlineExceeded) {
				answers[i].Err = term.Errorf(term.NodeSilent, "no answer within %v", gatherTime)
			}
		})
	}
	asking.Wait()
	return answers
}

// askOne has a node answer a call.
func (s *api) askOne(ctx context.Context, node string, call peers.Call, take taking) toolset.Gathered {
	var client peers.Client = nobody{}
	if of, ok := ctx.Value(invocationKey{}).(*invocation); ok {
		client = partClient{judge: &judge{c: of, ctx: ctx}}
	}
	raw, err := s.o.Cluster.Peers.Forward(ctx, node, call, client)
	a := toolset.Gathered{Node: node, Err: err}
	if err == nil {
		a.Result, a.Err = take(raw)
	}
	return a
}

// textOf returns the JSON in the text of a tool's result. For the result of a failed call, it returns an error of the
// same kind.
func textOf(raw json.RawMessage) (json.RawMessage, error) {
	var result mcp.CallToolResult
	if err := json.Unmarshal(raw, &result); err != nil {
		return nil, err
	}
	for _, content := range result.Content {
		text, ok := mcp.AsTextContent(content)
		switch {
		case !ok:
		case result.IsError:
			var failure wire.Failure
			if json.Unmarshal([]byte(text.Text), &failure) != nil || failure.ErrorCode == "" {
				return nil, term.Errorf(term.IOError, "%.300s", text.Text)
			}
			return nil, term.Errorf(failure.ErrorCode, "%s", failure.Message)
		default:
			return json.RawMessage(text.Text), nil
		}
	}
	return nil, term.Errorf(term.IOError, "an empty answer")
}

// An askedClient is the client of a call that another node answers.
type askedClient struct {
	ctx      context.Context // of the call
	srv      *server.MCPServer
	progress mcp.ProgressToken // the client's own; the other node uses another
	judge    *judge
}

// Notify implements peers.Client. Progress gets the client's own token; without one, it is dropped.
func (a *askedClient) Notify(method string, params json.RawMessage) {
	if method == peers.NotePassed {
		inorder.Pass(a.ctx)
		return
	}
	fields := make(map[string]any)
	if json.Unmarshal(params, &fields) != nil {
		return
	}
	if method == string(mcp.MethodNotificationProgress) {
		if a.progress == nil {
			return
		}
		fields["progressToken"] = a.progress
	}
	_ = a.srv.SendNotificationToClient(a.ctx, method, fields) // a lost one does no harm: the answer still comes
}

// Ask implements peers.Client.
func (a *askedClient) Ask(ctx context.Context, method string, params json.RawMessage) (json.RawMessage, error) {
	switch method {
	case peers.MethodElicit:
		return a.elicit(ctx, params)
	case peers.MethodJudge:
		return a.judge.answer(ctx, params)
	}
	return nil, noMethod(method)
}

// noMethod returns the error for a question that a client does not answer.
func noMethod(method string) error {
	return term.Errorf(term.Unsupported, "a question with the method %.64q is not answered here", method)
}

// elicit asks the person at the client.
func (a *askedClient) elicit(ctx context.Context, params json.RawMessage) (json.RawMessage, error) {
	var req mcp.ElicitationRequest
	if err := json.Unmarshal(params, &req.Params); err != nil {
		return nil, err
	}
	inorder.Pass(a.ctx) // no later call waits for a person
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(a.ctx, func() { cancel(context.Cause(a.ctx)) })()
	answer, err := a.srv.RequestElicitation(a.srv.WithContext(ctx, server.ClientSessionFromContext(a.ctx)), req)
	if err != nil {
		return nil, err
	}
	return json.Marshal(answer)
}

// nobody is the client of a call without questions or notifications.
type nobody struct{}

func (nobody) Notify(string, json.RawMessage) {}

func (nobody) Ask(_ context.Context, method string, _ json.RawMessage) (json.RawMessage, error) {
	return nil, noMethod(method)
}

// invocationKey is the context key of the *invocation, in a cluster.
type invocationKey struct{}

// partClient is the client of a part of a call that another node runs. It answers from the rules of this node, and
// never asks the client.
type partClient struct {
	nobody
	judge *judge
}

// Ask implements peers.Client.
func (p partClient) Ask(ctx context.Context, method string, params json.RawMessage) (json.RawMessage, error) {
	if method == peers.MethodJudge {
		return p.judge.answer(ctx, params)
	}
	return p.nobody.Ask(ctx, method, params)
}
