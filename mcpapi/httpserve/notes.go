package httpserve

import (
	"context"
	"encoding/json"
	"net/http"
	"sync"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

// Notes write what a call tells its client while it goes on, such as its progress: each at once, in order, and all of it
// before the call's answer. mcp-go's own way loses the one that it has just taken from its queue when the answer comes,
// and those for which the queue has no room.
type notes struct {
	out   *answer
	queue chan mcp.JSONRPCNotification
	turns chan chan<- struct{} // of those who wait until all that is queued is written
	quit  chan struct{}        // closed by stop

	mu               sync.Mutex // guards the following
	running, stopped bool
	ended            sync.WaitGroup
}

func newNotes(out *answer) *notes {
	n := &notes{out: out, queue: make(chan mcp.JSONRPCNotification, 64), turns: make(chan chan<- struct{}), quit: make(chan struct{})}
	out.notes = n
	return n
}

// start begins the writing, if nobody has: most calls tell nothing.
func (n *notes) start() {
	n.mu.Lock()
	defer n.mu.Unlock()
	if !n.running && !n.stopped {
		n.running = true
		n.ended.Go(n.run)
	}
}

func (n *notes) run() {
	for {
		select {
		case note := <-n.queue:
			n.out.tell(note)
		case written := <-n.turns:
			for range len(n.queue) {
				n.out.tell(<-n.queue)
			}
			close(written)
		case <-n.quit: // what is queued now came after the answer
			return
		}
	}
}

// settle returns when all that is queued is written. It reports whether anything is written at all.
func (n *notes) settle() bool {
	if n == nil {
		return false
	}
	n.mu.Lock()
	running := n.running && !n.stopped
	n.mu.Unlock()
	if !running {
		return false
	}
	written := make(chan struct{})
	select {
	case n.turns <- written:
		<-written
		return true
	case <-n.quit:
		return false
	}
}

// stop ends the writing.
func (n *notes) stop() {
	n.mu.Lock()
	n.stopped = true
	n.mu.Unlock()
	close(n.quit)
	n.ended.Wait()
}

// A callSession is an MCP session as the handler of one request sees it.
type callSession struct {
	anySession
	notes *notes
}

// anySession is what mcp-go's sessions of HTTP are.
type anySession interface {
	server.SessionWithClientInfo
	server.SessionWithElicitation
	server.SessionWithLogging
	server.SessionWithProtocolVersion
	server.SessionWithResources
	server.SessionWithResourceTemplates
	server.SessionWithRoots
	server.SessionWithSampling
	server.SessionWithStreamableHTTPConfig
	server.SessionWithSubscriptionFilter
	server.SessionWithTools
	SetProtocolVersion(version string)
}

// NotificationChannel returns a channel with room in it: mcp-go calls it anew for each notification, and drops what does
// not fit. Half of it is left free for those who call at the same time.
func (s *callSession) NotificationChannel() chan<- mcp.JSONRPCNotification {
	s.notes.start()
	for len(s.notes.queue) > cap(s.notes.queue)/2 && s.notes.settle() {
	}
	return s.notes.queue
}

type notesKey struct{}

// withNotes gives the handler of a request a session whose notifications are the request's notes. It is mcp-go's hook
// into the context of a request, which has its session by then.
func withNotes(srv *server.MCPServer) server.HTTPContextFunc {
	return func(ctx context.Context, _ *http.Request) context.Context {
		n, _ := ctx.Value(notesKey{}).(*notes)
		session, ok := server.ClientSessionFromContext(ctx).(anySession)
		if n == nil || !ok {
			return ctx
		}
		return srv.WithContext(ctx, &callSession{session, n})
	}
}

// tell writes a notification as an event, unless the answer is no stream of events, and so has been given.
func (w *answer) tell(note mcp.JSONRPCNotification) {
	text, err := json.Marshal(note)
	if err != nil {
		return // of what handlers put together from strings and numbers: it always encodes
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.started && !w.events {
		return
	}
	w.hurry()
	if !w.started {
		head := w.ResponseWriter.Header()
		head.Set("Content-Type", eventsType)
		head.Set("Cache-Control", "no-cache")
		w.started, w.events = true, true
		w.ResponseWriter.WriteHeader(http.StatusOK)
	}
	_, _ = w.ResponseWriter.Write([]byte("event: message\ndata: " + string(text) + "\n\n"))
	_ = w.control.Flush() // a client that is gone ends the request's context
}
