package route

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"ptyctl/internal/workers"
	"ptyctl/mcpapi/peers"
	"ptyctl/term"
)

// A Server answers the calls that other nodes pass on. *mcpapi.Server is one.
type Server interface {
	ServePeer(ctx context.Context, call peers.Call, client peers.Client) (json.RawMessage, error)
}

// Serve answers the calls of other nodes until ctx ends. The contexts of the calls end then, too, and Serve returns
// when all calls have ended.
func (r *Router) Serve(ctx context.Context, srv Server) error {
	// The calls end with ctx, and for another reason than a client's.
	running, stop := context.WithCancelCause(context.WithoutCancel(ctx))
	defer stop(term.ErrStopping)
	o := &owner{
		r: r, ctx: running, srv: srv, joiner: newJoiner(r.pieceOf), memory: newMemory(0), early: newMemory(maxEarly), room: make(chan struct{}, r.o.MaxCalls),
		newcomers: make(chan struct{}, maxNewcomers),
		callers:   newShares(r.o.MaxCalls), watchers: newShares(r.o.MaxWatches), calls: workers.New(),
		running: make(map[string]context.CancelCauseFunc),
	}
	o.receivers = newReceivers(o.calls, o.take)
	calls, err := r.o.Conn.ChanSubscribe(r.o.callSubject(r.o.Node), o.receivers.messages)
	if err != nil {
		return fmt.Errorf("route: %w", err)
	}
	all := []*nats.Subscription{calls}
	for subject, take := range map[string]nats.MsgHandler{
		r.o.largeSubject(r.o.Node): o.takeLarge, r.o.cancelSubject(r.o.Node): o.cancel,
	} {
		s, failed := r.o.Conn.Subscribe(subject, take)
		if err = failed; err != nil {
			break
		}
		all = append(all, s)
	}
	o.receivers.start()
	if err == nil { // they outlive the connection: the client library makes them again at each server
		o.ready()
		<-ctx.Done()
	}
	for _, s := range all {
		_ = s.Unsubscribe() // it may have ended with the connection
	}
	stop(term.ErrStopping)
	o.close()
	if err != nil {
		return fmt.Errorf("route: %w", err)
	}
	return nil
}

// An owner answers calls.
type owner struct {
	r      *Router
	ctx    context.Context
	srv    Server
	joiner *joiner
	memory *memory
	early  *memory       // calls that were given up before they were taken
	room   chan struct{} // has a token for each call that runs

	newcomers         chan struct{} // has a token for each call that waits for news of its entry node
	callers, watchers *shares       // of the calls that run

	refusals  refusals
	receivers *receivers    // of calls
	calls     *workers.Pool // has the goroutines of all calls

	mu      sync.Mutex // guards the following
	closed  bool
	running map[string]context.CancelCauseFunc // by id
}

// ready tells Options.Ready that the NATS server knows the subscriptions. Without a server they are made when there is
// one again, and no call can come before.
func (o *owner) ready() {
	if o.r.o.Ready == nil {
		return
	}
	_ = o.r.o.Conn.FlushTimeout(o.r.o.Patience)
	o.r.o.Ready()
}

// close waits for the calls that run. None begins after it.
func (o *owner) close() {
	o.mu.Lock()
	o.closed = true
	o.mu.Unlock()
	o.receivers.end()
	o.calls.End()
	o.calls.Wait()
}

// take answers a call. It is called by receivers.
func (o *owner) take(m *nats.Msg) {
	if !isInbox(m.Reply) {
		return
	}
	if n := m.Header.Get(headerPieces); n != "" && n != "1" { // the other pieces went elsewhere
		o.refuse(m, errLost)
		return
	}
	if leave, ok := o.enter(m); ok {
		defer leave()
		o.answer(m, m.Data, leave)
	}
}

// takeLarge begins to answer a call in several pieces, once all of it has come. NATS delivers the next message only
// when takeLarge has returned, so a goroutine does everything that costs time.
func (o *owner) takeLarge(m *nats.Msg) {
	body, complete, err := o.joiner.add(m, time.Now())
	if !isInbox(m.Reply) {
		return
	}
	if err != nil {
		o.refuse(m, err)
	}
	if !complete {
		return
	}
	o.mu.Lock() // close waits for calls that have begun before it
	defer o.mu.Unlock()
	if o.closed {
		return
	}
	if leave, ok := o.enter(m); ok {
		o.calls.Go(func() {
			defer leave()
			o.answer(m, body, leave)
		})
	}
}

// enter takes the room of a call, or refuses it. leave gives the room back, once; it is for one goroutine.
func (o *owner) enter(m *nats.Msg) (leave func(), ok bool) {
	select {
	case o.room <- struct{}{}:
	default:
		o.refuse(m, &term.Error{Kind: term.LimitExceeded, Msg: fmt.Sprintf("it already answers %d calls of other nodes", cap(o.room))})
		return nil, false
	}
	left := false
	return func() {
		if !left {
			left = true
			<-o.room
		}
	}, true
}

// refuse says that nothing was done.
func (o *owner) refuse(m *nats.Msg, err error) {
	answer := nats.NewMsg(m.Reply)
	answer.Header.Set(headerKind, kindRefused)
	answer.Data = encode(err)
	o.publish(answer)
}

// publish sends a message. The entry node takes a lost one for silence, and says so to its client.
func (o *owner) publish(m *nats.Msg) {
	if err := o.r.o.Conn.PublishMsg(m); err != nil {
		o.r.o.Logger.Warn("a message to another node was lost", "error", err)
	}
}

// maxEarly is how many calls that were given up before they came are known. Any node can name some.
const maxEarly = 64 << 10

// cancel ends a call that its client has given up. It also answers a request for a sign of life.
func (o *owner) cancel(m *nats.Msg) {
	if isInbox(m.Reply) {
		o.say(m.Reply, kindAlive, nil)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	id := m.Header.Get(headerID)
	if stop := o.running[id]; stop != nil {
		stop(context.Canceled)
	} else if validID(id) { // it may be on its way, as after a pause of this process
		o.early.first(id, time.Now())
	}
}

// answer answers a call. A call that watches a resource leaves its room to others: it takes none of the time of this node,
// and may last for days.
func (o *owner) answer(m *nats.Msg, body []byte, leave func()) {
	now := time.Now()
	id, entry, err := o.r.verify(m.Header, body, now)
	if errors.Is(err, errUnknownEntry) && o.await(entry) {
		now = time.Now()
		id, entry, err = o.r.verify(m.Header, body, now)
	}
	if err == nil && !o.memory.first(id, now) {
		err = fmt.Errorf("it was taken before")
	}
	var call peers.Call
	if err == nil {
		if call, err = peers.Decode(body); err == nil && call.Caller.Node != entry {
			err = fmt.Errorf("it says that it is from node %.40q", call.Caller.Node)
		}
	}
	if err != nil {
		o.refusals.log(o.r.o.Logger, now, entry, err)
		kind := term.PolicyDenied
		if errors.Is(err, errUnknownEntry) { // which it may not yet have heard of
			kind = term.NodeUnreachable
		}
		o.refuse(m, &term.Error{Kind: kind, Msg: fmt.Sprintf("a call of node %.40q is refused: %v; nothing was done", entry, err)})
		return
	}
	shares, what := o.callers, "calls"
	if call.Watch {
		leave()
		shares, what = o.watchers, "watches of resources"
	}
	end, err := shares.take(call.Caller, what)
	if err != nil {
		o.refuse(m, err)
		return
	}
	end = sync.OnceFunc(end)
	defer end()
	ctx, stop := context.WithCancelCause(o.ctx)
	defer stop(nil)
	o.mu.Lock()
	o.running[id] = stop
	gone := o.early.has(id)
	o.mu.Unlock()
	defer func() {
		o.mu.Lock()
		delete(o.running, id)
		o.mu.Unlock()
	}()
	if gone {
		o.refuse(m, &term.Error{Kind: term.Canceled, Msg: "the call was given up before it was taken; nothing was done"})
		return
	}
	b := o.beat(m.Reply)
	result, err := o.serve(ctx, call, &entryClient{o: o, reply: m.Reply})
	b.stop()
	end() // before the answer: with it, the caller may make the next call
	if err != nil {
		o.say(m.Reply, kindError, encode(err))
		return
	}
	_ = split(result, func(piece []byte, last bool) error {
		kind := kindPiece
		if last {
			kind = kindResult
		}
		o.say(m.Reply, kind, piece)
		return nil
	})
}

const (
	// newcomerTime is how long a call waits until this node has heard of its entry node, which may call as soon as it is in
	// the registry.
	newcomerTime = 2 * time.Second
	maxNewcomers = 16 // calls that wait so; anyone who may send to this node can name a node that there is not
)

// await waits until this node has heard of another one, and reports whether it has.
func (o *owner) await(entry string) bool {
	if !peers.ValidNode(entry) {
		return false
	}
	select {
	case o.newcomers <- struct{}{}:
		defer func() { <-o.newcomers }()
	default:
		return false
	}
	ctx, cancel := context.WithTimeout(o.ctx, newcomerTime)
	defer cancel()
	return o.r.o.Nodes.Await(ctx, entry)
}

// serve has the server answer a call, and makes an error of its panic.
func (o *owner) serve(ctx context.Context, call peers.Call, client peers.Client) (result json.RawMessage, err error) {
	defer func() {
		if p := recover(); p != nil {
			o.r.o.Logger.Error("panic while a call of another node was answered", "panic", p, "stack", string(debug.Stack()))
			result, err = nil, &term.Error{Kind: term.Internal, Msg: "a fault of ptyctl"}
		}
	}()
	return o.srv.ServePeer(ctx, call, client)
}

// say sends a message of a kind to the inbox of a call.
func (o *owner) say(reply, kind string, data []byte) {
	m := &nats.Msg{Subject: reply, Data: data}
	if kind != kindResult { // that of a call has no headers, which cost both nodes more than a small result
		m.Header = nats.Header{headerKind: []string{kind}}
	}
	o.publish(m)
}

// An entryClient is the client of a call, at the entry node.
type entryClient struct {
	o     *owner
	reply string
}

// Notify implements peers.Client.
func (c *entryClient) Notify(method string, params json.RawMessage) {
	m := nats.NewMsg(c.reply)
	m.Header.Set(headerKind, kindProgress)
	m.Header.Set(headerMethod, method)
	m.Data = params
	c.o.publish(m)
}

// Ask implements peers.Client. It makes the inbox for the answer itself: see newInbox.
func (c *entryClient) Ask(ctx context.Context, method string, params json.RawMessage) (json.RawMessage, error) {
	inbox := newInbox(c.o.r.o.Node)
	answers, err := c.o.r.o.Conn.SubscribeSync(inbox)
	if err != nil {
		return nil, err
	}
	defer func() { _ = answers.Unsubscribe() }() // it may have ended with the connection
	m := nats.NewMsg(c.reply)
	m.Header.Set(headerKind, kindAsk)
	m.Header.Set(headerMethod, method)
	m.Reply, m.Data = inbox, params
	if err := c.o.r.o.Conn.PublishMsg(m); err != nil {
		return nil, err
	}
	answer, err := answers.NextMsgWithContext(ctx)
	switch {
	case err != nil:
		return nil, err
	case answer.Header.Get(headerKind) != kindResult:
		return nil, fmt.Errorf("there is no answer: %w", decode("of the client", answer.Data))
	}
	return answer.Data, nil
}
