package mcpapi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"ptyctl/mcpapi/identity"
	"ptyctl/mcpapi/lending"
	"ptyctl/mcpapi/peers"
	"ptyctl/mcpapi/toolset"
	"ptyctl/session"
	"ptyctl/term"
)

// A copy between sessions of two nodes is made by the target's node. It works as on a single machine, with the same
// arguments and results, but reads its source by package lending. The node that the client is connected to passes the
// call on to both nodes: first to the source's node, which lends the source to the other node alone and asks about it
// until the call is over, and then to the node that copies. So each of them knows the caller from the client's node,
// and neither from the other. The bytes go directly from node to node.

const (
	readTime = 2 * time.Second // how long a node may take to report how much was read

	// holdTime bounds the call that lends: the client's call may have been lost with its node.
	holdTime = 30 * time.Minute
)

// A loan is the lent source of a copy, while the client's call lasts.
type loan struct {
	lent peers.Lent
	to   string // the node that copies

	// over records that the call has ended, and returns how many bytes were read by then; -1: unknown.
	over func() (bytes int64)
}

type loanKey struct{}

// loanFrom returns the loan of borrow, or nil if the call needs none.
func loanFrom(ctx context.Context) *loan {
	l, _ := ctx.Value(loanKey{}).(*loan)
	return l
}

// explained says in an error of the node that copies how far that has come. It is the last that is known.
func (l *loan) explained(err error) error {
	e, ok := errors.AsType[*term.Error](err)
	if l == nil || !ok || e.Kind != term.NodeSilent {
		return err
	}
	far := *e
	if n := l.over(); n >= 0 {
		far.Msg += fmt.Sprintf("; it had read %d bytes, which is the most that it may have written, and a file that was not "+
			"written as a whole has replaced nothing", n)
	}
	return &far
}

// borrow has the source of a copy between two nodes lent to the one that copies, and returns ctx with the loan. The caller
// must call over at the end of the call. Of any other call the loan is empty, and not in ctx.
func (c *invocation) borrow(ctx context.Context, r request) (context.Context, *loan, error) {
	none := &loan{over: func() int64 { return 0 }}
	all := c.s.o.Cluster.Peers
	if all == nil || isServed(ctx) || c.Action() != "copy" || !c.s.farFiles[c.t.Name] {
		return ctx, none, nil
	}
	from, to := toolset.CopyNodes(&c.Call)
	if from == "" || to == "" || from == to {
		return ctx, none, nil
	}
	l := &loan{to: to}
	var err error
	if from == all.Node() {
		err = c.lendHere(ctx, l)
	} else {
		err = c.lendThere(ctx, l, from, r)
	}
	if err != nil {
		return ctx, none, err
	}
	if to == all.Node() {
		if ctx, err = c.s.borrowed(ctx, l.lent); err != nil {
			l.over()
			return ctx, none, err
		}
	}
	return context.WithValue(ctx, loanKey{}, l), l, nil
}

// lendHere lends files of this node.
func (c *invocation) lendHere(ctx context.Context, l *loan) error {
	lend := func(ctx context.Context, files *session.Lending, path string, tree bool) (int64, error) {
		lent := c.s.lendings.Lend(ctx, files, lending.Terms{To: l.to, Path: path, Tree: tree, Limits: files.Limits})
		l.lent = peers.Lent{Node: c.s.o.Cluster.Peers.Node(), ID: lent.ID(), Machine: files.Machine()}
		l.over = sync.OnceValue(lent.Over)
		return 0, nil
	}
	_, err := c.do(toolset.WithLender(ctx, lend))
	return err
}

// lendThere has another node lend files.
func (c *invocation) lendThere(ctx context.Context, l *loan, node string, r request) error {
	call := c.s.callFor(ctx)
	call.Tool, call.Arguments, call.Lend, call.Caller.Results = c.t.Name, r.arguments, l.to, string(identity.Full)
	ctx, cancel := context.WithCancel(ctx)
	client := &lenderClient{
		partClient: partClient{judge: &judge{c: c, ctx: ctx}}, lent: make(chan peers.Lent, 1), over: make(chan struct{}),
	}
	var answer lentAnswer
	ended := make(chan struct{})
	go func() { // ends with the call, which over waits for
		defer close(ended)
		var raw json.RawMessage
		if raw, answer.err = c.s.o.Cluster.Peers.Forward(ctx, node, call, client); answer.err == nil {
			answer.read(raw)
		}
	}()
	l.over = sync.OnceValue(func() int64 {
		defer cancel()
		close(client.over)
		late := time.AfterFunc(readTime, cancel)
		defer late.Stop()
		<-ended
		if answer.err != nil {
			return -1
		}
		return answer.Bytes
	})
	select {
	case l.lent = <-client.lent:
		l.lent.Node = node
		return nil
	case <-ended:
		l.over()
		return answer.unlent(node)
	}
}

// A lentAnswer is the answer of a node that lends.
type lentAnswer struct {
	Bytes int64 `json:"bytes"`
	err   error
}

// read reads the result of the tool.
func (a *lentAnswer) read(raw json.RawMessage) {
	text, err := textOf(raw)
	if err == nil {
		err = json.Unmarshal(text, a)
	}
	a.err = err
}

// unlent returns the error of a copy without a lent source: no file was copied.
func (a *lentAnswer) unlent(node string) error {
	e, ok := errors.AsType[*term.Error](a.err)
	switch {
	case a.err == nil:
		return term.Errorf(term.Unsupported, "node %s does not lend the source of the copy: it may be of another version", node)
	case !ok || e.Kind != term.NodeSilent:
		return a.err
	}
	return &term.Error{
		Kind: term.NodeUnreachable, Reason: term.ReasonNodeUnreachable, Facts: e.Facts, Err: e,
		Msg: "node " + node + ", which has the source of the copy, gives no answer; nothing was copied",
	}
}

// A lenderClient is the client of a call that lends.
type lenderClient struct {
	partClient
	lent chan peers.Lent // has room for one
	over chan struct{}   // closed when the call of the client is over
}

// Ask implements peers.Client.
func (l *lenderClient) Ask(ctx context.Context, method string, params json.RawMessage) (json.RawMessage, error) {
	if method != peers.MethodLent {
		return l.partClient.Ask(ctx, method, params)
	}
	var lent peers.Lent
	if err := json.Unmarshal(params, &lent); err != nil {
		return nil, err
	}
	select {
	case l.lent <- lent:
	default:
		return nil, term.Errorf(term.InvalidArgument, "the files of a copy are lent once")
	}
	select {
	case <-l.over:
	case <-ctx.Done():
	}
	return json.RawMessage("{}"), nil
}

// lender lends files of this node to another one, for a call that a third has passed on.
func (s *api) lender(to string, client peers.Client) toolset.Lender {
	return func(ctx context.Context, files *session.Lending, path string, tree bool) (int64, error) {
		lent := s.lendings.Lend(ctx, files, lending.Terms{To: to, Path: path, Tree: tree, Limits: files.Limits})
		params, err := json.Marshal(peers.Lent{ID: lent.ID(), Machine: files.Machine()})
		if err != nil {
			lent.Over()
			return 0, err
		}
		ctx, cancel := context.WithTimeout(ctx, holdTime)
		defer cancel()
		defer context.AfterFunc(lent.Context(), cancel)()
		_, _ = client.Ask(ctx, peers.MethodLent, params) // whatever the answer: the call or the copy has ended
		return lent.Over(), nil
	}
}

// maxMachine is the longest name of a machine, in bytes.
const maxMachine = 64 << 10

// borrowed returns a context for a copy from a source that another node has lent to this one.
func (s *api) borrowed(ctx context.Context, l peers.Lent) (context.Context, error) {
	all := s.o.Cluster.Peers
	if all == nil || !peers.ValidNode(l.Node) || l.Node == all.Node() || len(l.Machine) > maxMachine {
		return ctx, term.Errorf(term.InvalidArgument, "a copy from node %.40q that this node cannot make", l.Node)
	}
	caller := s.callFor(ctx).Caller // the other node counts the calls against the caller's share
	return toolset.WithBorrower(ctx, func(id string) session.CopySource {
		if peers.NodeOf(id) != l.Node {
			return nil
		}
		return lending.Borrow(lending.Options{
			ID: l.ID, Node: l.Node, Session: id, Machine: l.Machine,
			Call: func(ctx context.Context, request []byte) ([]byte, error) {
				return all.Forward(ctx, l.Node, peers.Call{Files: request, Caller: caller}, nobody{})
			},
		})
	}), nil
}
