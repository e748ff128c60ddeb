package httpserve

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

// clientSession is what mcp-go's own sessions over HTTP can do, but one thing: to switch a session, once something was sent
// on it, to answering with streams for good.
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

// A callSession is an MCP session as one tool call sees it: what the call sends to the client goes out with its own answer,
// and before it. mcp-go would put it in a queue that all calls of the session share, and drop what is in a goroutine's
// hands when the answer is written.
type callSession struct {
	clientSession
	w *answer

	begin   sync.Once // at the first notification: most calls send none
	queue   chan mcp.JSONRPCNotification
	flushes chan chan struct{} // takes what is closed when the queue is written
	done    chan struct{}      // closed when the call is over
	running sync.WaitGroup
}

// follow returns the context for a call that mcp-go's HTTP handler has given its session.
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

// NotificationChannel returns a channel with room in it: mcp-go drops what does not fit, and asks for each anew.
func (c *callSession) NotificationChannel() chan<- mcp.JSONRPCNotification {
	c.begin.Do(func() {
		c.queue, c.flushes, c.done = make(chan mcp.JSONRPCNotification, 16), make(chan chan struct{}), make(chan struct{})
		c.running.Go(c.write)
		c.w.call.Store(c)
	})
	if len(c.queue) > cap(c.queue)/2 {
		c.flush()
	}
	return c.queue
}

// flush waits until all that was sent is written.
func (c *callSession) flush() {
	written := make(chan struct{})
	select {
	case c.flushes <- written:
		<-written
	case <-c.done:
	}
}

// end waits until nothing is written any more.
func (c *callSession) end() {
	close(c.done)
	c.running.Wait()
}

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

// event sends a notification, and makes a stream of an answer that has not begun.
func (w *answer) event(n mcp.JSONRPCNotification) {
	data, err := json.Marshal(n)
	if err != nil {
		return // what cannot be sent was made by this program, and is missed by nobody
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.streamLocked()
	w.eventLocked(data)
}
