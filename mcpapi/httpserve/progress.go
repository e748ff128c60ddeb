package httpserve

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

// clientSession has the methods of mcp-go's HTTP sessions except
// UpgradeToSSEWhenReceiveNotification, which would make all later answers of a session
// streams.
type clientSession interface {
	server.SessionWithClientInfo
	server.SessionWithProtocolVersion
	server.SessionWithTools
	server.SessionWithResources
	server.SessionWithResourceTemplates
	server.SessionWithLogging
	server.SessionWithElicitation
	server.SessionWithSampling
	server.SessionWithRoots
	SetProtocolVersion(version string)
}

// A callSession is an MCP session as seen by one tool call. Notifications of the call are
// sent before its answer and on the same stream. mcp-go would put them into one queue for
// all calls of the session, and would drop those that are not written when the answer is.
type callSession struct {
	clientSession
	w *answer

	begin   sync.Once // starts write at the first notification; most calls send none
	queue   chan mcp.JSONRPCNotification
	flushes chan chan struct{} // receives a channel to close after the queue is written
	done    chan struct{}      // closed at the end of the call
	running sync.WaitGroup
}

// follow wraps the session that mcp-go's HTTP handler has put into the context of a call.
// It also records that the handler has seen the session.
func (h *Handler) follow(ctx context.Context, c called) context.Context {
	s, ok := server.ClientSessionFromContext(ctx).(clientSession)
	if !ok {
		return ctx
	}
	if c.m != nil {
		c.m.heard.Store(&partner{s, time.Now()})
	}
	return h.srv.WithContext(ctx, &callSession{clientSession: s, w: c.w})
}

// NotificationChannel returns a channel with room. mcp-go drops notifications that do not
// fit, and calls this method for each one.
func (c *callSession) NotificationChannel() chan<- mcp.JSONRPCNotification {
	c.begin.Do(func() {
		c.queue, c.flushes, c.done = make(
			chan mcp.JSONRPCNotification,
			16,
		), make(
			chan chan struct{},
		), make(
			chan struct{},
		)
		c.running.Go(c.write)
		c.w.call.Store(c)
	})
	if len(c.queue) > cap(c.queue)/2 {
		c.flush()
	}
	return c.queue
}

// flush waits until all queued notifications are written.
func (c *callSession) flush() {
	written := make(chan struct{})
	select {
	case c.flushes <- written:
		<-written
	case <-c.done:
	}
}

// end stops the writer and waits for it.
func (c *callSession) end() {
	close(c.done)
	c.running.Wait()
}

// write sends queued notifications until the call ends.
func (c *callSession) write() {
	for {
		select {
		case n := <-c.queue:
			c.w.event(n)
		case written := <-c.flushes:
			for len(c.queue) > 0 {
				c.w.event(<-c.queue)
			}
			close(written)
		case <-c.done:
			return
		}
	}
}

// event sends a notification. If the response has not begun, it begins a stream.
func (w *answer) event(n mcp.JSONRPCNotification) {
	data, err := json.Marshal(n)
	if err != nil {
		return // only notifications of this program come here, so all can be encoded
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.streamLocked()
	w.eventLocked(data)
}
