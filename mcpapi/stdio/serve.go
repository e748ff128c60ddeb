package stdio

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"runtime/debug"
	"sync"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"ptyctl/mcpapi/jsonrpc"
)

const (
	// codeTooManyRequests is from the range that MCP leaves to implementations, -32000 to -32019.
	codeTooManyRequests = -32000

	// grace bounds how long Serve waits for a request that ignores its cancellation, and after that for a
	// client that does not read its output.
	grace = 2 * time.Second

	// spareWorkers is how many goroutines wait for requests.
	spareWorkers = 8
	// spareTime is how long each of them waits.
	spareTime = time.Second

	// maxNumericID is the longest number accepted as a request id, in bytes. It keeps ids within the range of
	// the float64 that mcp-go reads them into; the exact digits are kept here.
	maxNumericID = 64
)

// Why the context of a request ended, as context.Cause tells its handler.
var (
	errCancelledByClient = errors.New("the client cancelled the request")
	errInputEnded        = errors.New("the client closed its side and the time to finish is over")
	errOutputBroken      = errors.New("answers can no longer be written to the client")
)

// Options adjusts Serve. The zero value works.
type Options struct {
	MaxMessageBytes int           // longest line accepted, without its line end; 0 means 8 MiB
	MaxInFlight     int           // requests running at one time; 0 means 256
	DrainTimeout    time.Duration // how long requests may go on after the end of the input; 0 means 3 s
	Logger          *slog.Logger  // handler panics and abandoned requests; nil discards them
}

// A MessageServer answers messages: a server of mcp-go, or what embeds one.
type MessageServer interface {
	RegisterSession(ctx context.Context, session server.ClientSession) error
	UnregisterSession(ctx context.Context, sessionID string)
	WithContext(ctx context.Context, session server.ClientSession) context.Context
	HandleMessage(ctx context.Context, message json.RawMessage) mcp.JSONRPCMessage
}

// A caller answers some calls without mcp-go, and reports false for those that it leaves to HandleMessage.
type caller interface {
	Answer(ctx context.Context, id, params json.RawMessage) (mcp.JSONRPCMessage, bool)
}

func callsOf(srv MessageServer) caller {
	c, _ := srv.(caller)
	return c
}

// Serve answers newline-delimited JSON-RPC 2.0 from in on out, as the MCP stdio transport describes it, until
// in ends or ctx is done. It returns nil in both cases.
//
// Every request runs in its own goroutine. Notifications, initialize and ping are handled in the order of their
// arrival, so a client may send initialize, notifications/initialized and tools/list without waiting, and no number
// of blocked requests delays a notifications/cancelled. A cancelled request gets no answer. Messages that a handler
// sends through its session are written before its answer, and none of them is dropped: the handler waits while out
// is busy.
//
// When in ends, requests already read have DrainTimeout to finish; then, and at once when ctx is done, their
// contexts are cancelled. Their answers are written before Serve returns; a request that ignores the
// cancellation for two seconds is answered with an error in its place.
//
// An error means that in could not be read, or that out could not be written or took nothing for two seconds at the
// end. (A program that passes os.Stdout must catch or ignore SIGPIPE: otherwise the Go runtime ends it at the first
// write to a client that has gone, see os/signal.) Two things can outlive Serve, because Go cannot interrupt
// them: a handler that ignores its context, and a blocked Read of in. Serve ends the Read with SetReadDeadline
// where in has one that works, for example a network connection or a non-blocking pipe.
func Serve(ctx context.Context, srv MessageServer, in io.Reader, out io.Writer, o Options) error {
	o.MaxMessageBytes = cmp.Or(o.MaxMessageBytes, 8<<20)
	o.MaxInFlight = cmp.Or(o.MaxInFlight, 256)
	o.DrainTimeout = cmp.Or(o.DrainTimeout, 3*time.Second)
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}

	base, cancelAll := context.WithCancelCause(ctx)
	defer cancelAll(nil)
	w := newMessageWriter(out, o.MaxInFlight, o.Logger)
	session := newSession(w)
	if err := srv.RegisterSession(ctx, session); err != nil {
		w.close(nil)
		return fmt.Errorf("register the stdio session: %w", err)
	}
	defer srv.UnregisterSession(context.WithoutCancel(ctx), session.SessionID())

	l := &loop{
		srv: srv, calls: callsOf(srv), opts: o, session: session, out: w, ctx: base,
		inFlight: make(map[string]*pending), idle: make(chan struct{}),
		work: make(chan func()), spare: make(chan struct{}, spareWorkers),
	}
	var readErr error // set before read is closed
	read := make(chan struct{})
	go func() {
		defer close(read)
		readErr = l.readAll(in)
	}()

	var err error
	drain := o.DrainTimeout
	select {
	case <-read:
		err = readErr
	case <-ctx.Done():
		drain = 0
	case <-w.broken:
		drain = 0
	}
	l.stop()
	var last [][]byte
	if !l.waitIdle(drain, ctx.Done(), w.broken) {
		cause := errInputEnded
		switch {
		case w.failed() != nil:
			cause = errOutputBroken
		case ctx.Err() != nil: // it ends base, too, but a moment later
			cause = context.Cause(ctx)
		}
		cancelAll(cause)
		if !l.waitIdle(grace, nil, nil) {
			last = l.abandon()
		}
	}
	written := w.close(last)
	if d, ok := in.(interface{ SetReadDeadline(time.Time) error }); ok && d.SetReadDeadline(time.Unix(1, 0)) == nil {
		<-read
	}
	if !written {
		return fmt.Errorf("write to the client: it has read nothing for %v, so answers were lost; "+
			"the client must read the server's output until it ends", grace)
	}
	if werr := w.failed(); werr != nil {
		return fmt.Errorf("write to the client: %w; answers were lost, start the server again", werr)
	}
	if err != nil {
		return fmt.Errorf("read from the client: %w; start the server again", err)
	}
	return nil
}

// loop is one run of Serve.
type loop struct {
	srv     MessageServer
	calls   caller // of srv; nil: it leaves all to HandleMessage
	opts    Options
	session *clientSession
	out     *messageWriter
	ctx     context.Context // parent of every request's context
	idle    chan struct{}   // closed when the loop is stopped and nothing runs any more
	work    chan func()     // taken by a goroutine that has answered before
	spare   chan struct{}   // one for each of those that wait for work

	mu       sync.Mutex
	inFlight map[string]*pending // by the id's JSON text, see rpcMessage.key
	active   int                 // requests running, plus a line being dispatched
	stopped  bool                // no further line is dispatched
}

// pending is a request in flight.
type pending struct {
	msg    rpcMessage
	cancel context.CancelCauseFunc
	silent bool // guarded by loop.mu: it gets no answer, or has it already
}

// readAll dispatches lines until the input ends; it returns nil at its end and when the loop is stopped.
func (l *loop) readAll(in io.Reader) error {
	r := lineReader{br: bufio.NewReaderSize(in, 64<<10), max: l.opts.MaxMessageBytes}
	for {
		line, err := r.next()
		if err != nil && !errors.Is(err, errLineTooLong) {
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		}
		if !l.begin() {
			return nil
		}
		if err != nil {
			l.refuse(nil, jsonrpc.Error(mcp.INVALID_REQUEST, fmt.Sprintf(
				"message dropped: a line may have at most %d bytes; send less in one message", r.max)))
		} else {
			l.dispatch(line)
		}
		l.end()
	}
}

// dispatch handles one line. It waits for nothing but the output.
func (l *loop) dispatch(line []byte) {
	m, bad := parseMessage(line)
	switch {
	case bad != nil:
		l.refuse(m.ID, *bad)
	case m.Method == nil:
		l.session.asked.answer(m)
	case m.ID == nil && *m.Method == string(mcp.MethodNotificationCancelled):
		l.cancelled(m)
	case m.ID == nil:
		l.handle(l.srv.WithContext(l.ctx, l.session), m)
	default:
		l.request(m)
	}
}

// request answers m here if that cannot take long, and in a goroutine of its own otherwise.
func (l *loop) request(m rpcMessage) {
	ctx, cancel := context.WithCancelCause(l.ctx)
	c := &pending{msg: m, cancel: cancel}
	initialize := *m.Method == string(mcp.MethodInitialize)
	inline := initialize || *m.Method == string(mcp.MethodPing)
	if bad := l.admit(c, inline); bad != nil {
		cancel(nil)
		l.refuse(m.ID, *bad)
		return
	}
	run := func() {
		defer l.finish(c)
		var slot jsonrpc.ErrorSlot
		answer := l.handle(l.srv.WithContext(jsonrpc.WithErrorSlot(ctx, &slot), &requestSession{l.session, ctx.Done()}), m)
		if l.claim(c) {
			line := l.encode(m.ID, slot.Answer(answer))
			if *m.Method == string(mcp.MethodResourcesRead) {
				line = jsonrpc.TellURI(line, jsonrpc.URIOf(m.Params))
			}
			l.out.send(line)
		}
	}
	if !inline {
		select {
		case l.work <- run:
		default:
			go l.worker(run)
		}
		return
	}
	run()
	if initialize {
		l.out.send(nil) // Its answer is written before the next line can cause a notification.
	}
}

// worker runs a request, then waits for the next one. Reuse keeps the grown stack: growing it costs a new goroutine a
// fifth of its time.
func (l *loop) worker(run func()) {
	for {
		run()
		select {
		case l.spare <- struct{}{}:
		default:
			return
		}
		rest := time.NewTimer(spareTime)
		select {
		case run = <-l.work:
			rest.Stop()
			<-l.spare
		case <-rest.C:
			<-l.spare
			return
		case <-l.idle:
			rest.Stop()
			return
		}
	}
}

// handle runs one message through the MCP server. A panic becomes an error without the panic's text, because that may
// contain the handler's data.
func (l *loop) handle(ctx context.Context, m rpcMessage) (answer mcp.JSONRPCMessage) {
	defer func() {
		if p := recover(); p != nil {
			l.opts.Logger.Error("panic while handling an MCP message; the server goes on",
				"method", *m.Method, "panic", p, "stack", string(debug.Stack()))
			answer = jsonrpc.Error(mcp.INTERNAL_ERROR,
				"the server failed while handling this request; its log has the details, other requests still work")
		}
	}()
	if l.calls != nil && m.ID != nil && *m.Method == string(mcp.MethodToolsCall) {
		if answer, ok := l.calls.Answer(ctx, m.ID, m.Params); ok {
			return answer
		}
	}
	return l.srv.HandleMessage(ctx, m.raw)
}

// refuse answers a message that is not handled. A nil id is written as null.
func (l *loop) refuse(id json.RawMessage, e mcp.JSONRPCError) {
	l.out.send(l.encode(id, e))
}

// encode returns the line that answers id.
func (l *loop) encode(id json.RawMessage, answer mcp.JSONRPCMessage) []byte {
	line, err := jsonrpc.EncodeAnswer(id, answer)
	if err != nil {
		l.opts.Logger.Error("an answer cannot be written as JSON", "error", err)
		return l.encode(id, jsonrpc.Error(mcp.INTERNAL_ERROR,
			"the answer cannot be written as JSON; the server's log has the details"))
	}
	return line
}

// cancelled ends the request that m, a notifications/cancelled, names. One that is not in flight may have been
// answered in the meantime and is ignored, as the protocol asks.
func (l *loop) cancelled(m rpcMessage) {
	var params struct {
		RequestID json.RawMessage `json:"requestId"`
	}
	if json.Unmarshal(m.Params, &params) != nil {
		return
	}
	key, ok := idKey(params.RequestID)
	if !ok {
		return
	}
	l.mu.Lock()
	c := l.inFlight[key]
	if c != nil {
		c.silent = true
	}
	l.mu.Unlock()
	if c != nil {
		c.cancel(errCancelledByClient)
	}
}

// begin counts a line as being dispatched, unless the loop is stopped.
func (l *loop) begin() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.stopped {
		return false
	}
	l.active++
	return true
}

func (l *loop) end() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.active--
	l.closeIfIdle()
}

// closeIfIdle requires l.mu.
func (l *loop) closeIfIdle() {
	if l.stopped && l.active == 0 {
		close(l.idle)
	}
}

// admit makes c a request in flight, or says why not. The limit does not hold for inline requests: there is only
// one of them at a time.
func (l *loop) admit(c *pending, inline bool) *mcp.JSONRPCError {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.inFlight[c.msg.key] != nil {
		e := jsonrpc.Error(mcp.INVALID_REQUEST, "a request with this id is still in flight; use a new id for each request")
		return &e
	}
	if !inline && len(l.inFlight) >= l.opts.MaxInFlight {
		e := jsonrpc.Error(codeTooManyRequests, fmt.Sprintf(
			"%d requests are in flight, which is the limit; wait for an answer or cancel one, then send this again",
			l.opts.MaxInFlight))
		return &e
	}
	l.inFlight[c.msg.key] = c
	l.active++
	return nil
}

// claim reports whether c is still to be answered. From here on the answer is the caller's to write.
func (l *loop) claim(c *pending) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	open := !c.silent
	c.silent = true
	// The id is free before the client can see the answer and use it again.
	delete(l.inFlight, c.msg.key)
	return open
}

// finish releases c; its answer, if any, is already written.
func (l *loop) finish(c *pending) {
	c.cancel(nil)
	l.end()
}

// stop lets no further line be dispatched. A subscriptions/listen is ended: it would never finish on its own.
func (l *loop) stop() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.stopped = true
	for _, c := range l.inFlight {
		if *c.msg.Method == string(mcp.MethodSubscriptionsListen) {
			c.cancel(errInputEnded)
		}
	}
	l.closeIfIdle()
}

// waitIdle waits for the requests in flight until d has passed or one of the channels is ready, and reports whether
// all have ended.
func (l *loop) waitIdle(d time.Duration, done <-chan struct{}, broken <-chan struct{}) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-l.idle:
		return true
	case <-t.C:
	case <-done:
	case <-broken:
	}
	select {
	case <-l.idle:
		return true
	default:
		return false
	}
}

// abandon gives up on the requests that ignore their cancellation and returns the answers for them.
func (l *loop) abandon() [][]byte {
	l.mu.Lock()
	defer l.mu.Unlock()
	var answers [][]byte
	for _, c := range l.inFlight {
		l.opts.Logger.Warn("a request ignored its cancellation and was abandoned", "method", *c.msg.Method)
		if !c.silent {
			c.silent = true
			answers = append(answers, l.encode(c.msg.ID, jsonrpc.Error(mcp.INTERNAL_ERROR,
				"the server shut down before this request ended; whether it took effect is unknown")))
		}
	}
	return answers
}
