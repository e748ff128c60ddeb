package stdio

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"sync"

	"github.com/mark3labs/mcp-go/mcp"

	"ptyctl/internal/inorder"
	"ptyctl/internal/mcpgo"
	"ptyctl/internal/workers"
	"ptyctl/mcpapi/jsonrpc"
)

// loop is one run of Serve.
type loop struct {
	srv     *mcpgo.Server
	opts    Options
	session *clientSession
	out     *messageWriter
	ctx     context.Context // parent of every request's context
	idle    chan struct{}   // closed when the loop is stopped and no request runs
	workers *workers.Pool
	calls   *inorder.Queue // of tools

	mu       sync.Mutex
	inFlight map[string]*pending // by the id's JSON text, see rpcMessage.key
	active   int                 // requests running, plus a line being dispatched
	stopped  bool                // no further line is dispatched
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
			l.refuse(rpcMessage{ID: r.long.ID()}, mcpgo.Error(mcp.INVALID_REQUEST, fmt.Sprintf(
				"message dropped: a line may have at most %d bytes (limits.max_message_bytes); send less in one message",
				r.max)))
		} else {
			l.dispatch(line)
		}
		l.end()
	}
}

// dispatch handles one line. It waits only for the output.
func (l *loop) dispatch(line []byte) {
	if isBatch(line) {
		l.dispatchBatch(line)
		return
	}
	l.dispatchMessage(parseMessage(line))
}

// dispatchMessage handles one message, or refuses it if bad is not nil.
func (l *loop) dispatchMessage(m rpcMessage, bad *mcp.JSONRPCError) {
	switch {
	case bad != nil:
		l.refuse(m, *bad)
		return
	case m.Method != nil && m.ID != nil:
		l.request(m)
		return
	case m.Method == nil:
		l.session.asked.answer(m)
	case *m.Method == string(mcp.MethodNotificationCancelled):
		l.cancelled(m)
	default:
		l.handle(l.srv.WithContext(l.ctx, l.session), m)
	}
	l.settle(m, nil)
}

// request answers m here if that cannot take long, and otherwise in a new goroutine.
func (l *loop) request(m rpcMessage) {
	ctx, cancel := context.WithCancelCause(l.ctx)
	c := &pending{msg: m, cancel: cancel}
	initialize := *m.Method == string(mcp.MethodInitialize)
	// These must run before later messages: a client may send its next message before it has the answer.
	inline := initialize || *m.Method == string(mcp.MethodPing)
	if bad := l.admit(c, inline); bad != nil {
		cancel(nil)
		l.refuse(m, *bad)
		return
	}
	if *m.Method == string(mcp.MethodToolsCall) {
		ctx = inorder.With(ctx, l.calls.Join(m.Params))
	}
	run := func() {
		defer l.finish(c)
		defer inorder.From(ctx).End()
		var slot mcpgo.ErrorSlot
		answer := l.handle(
			l.srv.WithContext(mcpgo.WithErrorSlot(ctx, &slot), &requestSession{l.session, ctx.Done()}),
			m,
		)
		// The answer is made even if the request was cancelled meanwhile: whether it was can change until the
		// last moment.
		if l.claim(c) {
			line := l.encode(m.ID, slot.Answer(answer))
			if *m.Method == string(mcp.MethodResourcesRead) {
				line = mcpgo.TellURI(line, mcpgo.URIOf(m.Params))
			}
			l.settle(m, line)
		} else {
			l.settle(m, nil)
		}
	}
	if !inline {
		l.workers.Go(run)
		return
	}
	run()
	if initialize {
		l.out.send(nil) // Its answer is written before the next line can cause a notification.
	}
}

// handle runs one message through the MCP server. A panic becomes an error without the panic's text, because that may
// contain the handler's data.
func (l *loop) handle(ctx context.Context, m rpcMessage) (answer mcp.JSONRPCMessage) {
	defer func() {
		if p := recover(); p != nil {
			l.opts.Logger.Error("panic while handling an MCP message; the server goes on",
				"method", *m.Method, "panic", p, "stack", string(debug.Stack()))
			answer = mcpgo.Error(mcp.INTERNAL_ERROR,
				"the server failed while handling this request; its log has the details, other requests still work")
		}
	}()
	if l.srv.Answer != nil && m.ID != nil && *m.Method == string(mcp.MethodToolsCall) {
		if answer, ok := l.srv.Answer(ctx, m.ID, m.Params); ok {
			return answer
		}
	}
	return l.srv.HandleMessage(ctx, m.raw)
}

// refuse answers a message that is not handled. A nil id is written as null.
func (l *loop) refuse(m rpcMessage, e mcp.JSONRPCError) {
	l.settle(m, l.encode(m.ID, e))
}

// encode returns the line that answers id.
func (l *loop) encode(id json.RawMessage, answer mcp.JSONRPCMessage) []byte {
	line, err := mcpgo.EncodeAnswer(id, answer)
	if err != nil {
		l.opts.Logger.Error("an answer cannot be written as JSON", "error", err)
		return l.encode(id, mcpgo.Error(mcp.INTERNAL_ERROR,
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
	key, ok := jsonrpc.IDKey(params.RequestID)
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
