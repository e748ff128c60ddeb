package mcpapi

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"io"
	"log/slog"
	"sync"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

// ClientFromContext returns what the client of the current request says of itself: its name and version, and the
// protocol revision in effect, such as "2025-11-25". They come from initialize, or, since revision 2026-07-28, from
// the request's own _meta. Each is empty when the client did not say; none of them is verified.
func ClientFromContext(ctx context.Context) (name, version, protocol string) {
	protocol = negotiatedVersion(ctx)
	if info := server.RequestProtocolInfoFromContext(ctx); info != nil && info.Modern {
		if info.ClientInfo == nil {
			return "", "", protocol
		}
		return info.ClientInfo.Name, info.ClientInfo.Version, protocol
	}
	if s, ok := server.ClientSessionFromContext(ctx).(server.SessionWithClientInfo); ok {
		client := s.GetClientInfo()
		return client.Name, client.Version, protocol
	}
	return "", "", protocol
}

// negotiatedVersion returns the protocol revision in effect for the current request, or "" when it is not known.
// A legacy request cannot change by its _meta what initialize has settled.
func negotiatedVersion(ctx context.Context) string {
	if server.IsModernRequest(ctx) {
		return server.RequestProtocolInfoFromContext(ctx).ProtocolVersion
	}
	if s, ok := server.ClientSessionFromContext(ctx).(server.SessionWithProtocolVersion); ok {
		return s.ProtocolVersion()
	}
	return ""
}

// stdioSession is the one client of a ServeStdio. As the session that mcp-go broadcasts to, it never blocks: a
// broadcast that finds the queue full is dropped, because it may come from a goroutine that must not wait.
type stdioSession struct {
	id  string
	out *messageWriter

	mu           sync.Mutex
	initialized  bool
	client       mcp.Implementation
	capabilities mcp.ClientCapabilities
	protocol     string
}

func newStdioSession(w *messageWriter) *stdioSession {
	return &stdioSession{id: "stdio-" + rand.Text(), out: w}
}

func (s *stdioSession) SessionID() string { return s.id }

func (s *stdioSession) NotificationChannel() chan<- mcp.JSONRPCNotification {
	return s.out.notifications
}

func (s *stdioSession) Initialize() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.initialized = true
}

func (s *stdioSession) Initialized() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.initialized
}

func (s *stdioSession) GetClientInfo() mcp.Implementation {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.client
}

func (s *stdioSession) SetClientInfo(client mcp.Implementation) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.client = client
}

func (s *stdioSession) GetClientCapabilities() mcp.ClientCapabilities {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.capabilities
}

func (s *stdioSession) SetClientCapabilities(c mcp.ClientCapabilities) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.capabilities = c
}

func (s *stdioSession) ProtocolVersion() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.protocol
}

func (s *stdioSession) SetProtocolVersion(version string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.protocol = version
}

// requestSession is the session as the handler of one request sees it: it waits for room in the queue, so that
// nothing it sends is dropped.
type requestSession struct {
	*stdioSession
	cancelled <-chan struct{} // closed when the request's context ends
}

// NotificationChannel returns a channel with room in it. mcp-go calls it anew for each notification and drops what
// does not fit; half of the queue is left free for those who call it at the same time.
func (s *requestSession) NotificationChannel() chan<- mcp.JSONRPCNotification {
	queue := s.out.notifications
	for len(queue) > cap(queue)/2 {
		select {
		case s.out.messages <- nil: // Taken only after the previous message, and the queue before it, is written.
		case <-s.cancelled:
			return queue
		case <-s.out.quit:
			return queue
		}
	}
	return queue
}

var (
	_ server.SessionWithClientInfo      = (*requestSession)(nil)
	_ server.SessionWithProtocolVersion = (*requestSession)(nil)
)

// messageWriter owns the output. Its one goroutine writes each message with one Write; before each message, the
// notifications that were queued when it came.
type messageWriter struct {
	out           io.Writer
	logger        *slog.Logger
	notifications chan mcp.JSONRPCNotification
	messages      chan []byte   // lines; a nil one only has the queue written. Unbuffered: see requestSession
	quit          chan struct{} // closed by close
	done          chan struct{} // closed when the goroutine has ended
	broken        chan struct{} // closed after err is set
	err           error
}

func newMessageWriter(out io.Writer, maxInFlight int, logger *slog.Logger) *messageWriter {
	w := &messageWriter{
		out:           out,
		logger:        logger,
		notifications: make(chan mcp.JSONRPCNotification, max(1024, 4*maxInFlight)),
		messages:      make(chan []byte),
		quit:          make(chan struct{}),
		done:          make(chan struct{}),
		broken:        make(chan struct{}),
	}
	go w.run()
	return w
}

func (w *messageWriter) run() {
	defer close(w.done)
	for {
		select {
		case n := <-w.notifications:
			w.notify(n)
		case line := <-w.messages:
			w.flushQueue()
			w.write(line)
		case <-w.quit:
			w.flushQueue()
			return
		}
	}
}

func (w *messageWriter) flushQueue() {
	for range len(w.notifications) {
		w.notify(<-w.notifications)
	}
}

func (w *messageWriter) notify(n mcp.JSONRPCNotification) {
	line, err := encodeLine(n)
	if err != nil {
		w.logger.Error("a notification cannot be written as JSON and was dropped", "method", n.Method, "error", err)
		return
	}
	w.write(line)
}

// write writes one line. After the first failure everything is discarded, so that nobody waits for the output.
func (w *messageWriter) write(line []byte) {
	if len(line) == 0 || w.failed() != nil {
		return
	}
	if _, err := w.out.Write(line); err != nil {
		w.err = err
		close(w.broken)
	}
}

// send returns when the writer has taken line, or is closed.
func (w *messageWriter) send(line []byte) {
	select {
	case w.messages <- line:
	case <-w.quit:
	}
}

// failed returns the error that broke the output, or nil.
func (w *messageWriter) failed() error {
	select {
	case <-w.broken:
		return w.err
	default:
		return nil
	}
}

// close writes last and ends the writer. It reports false when the output has not taken everything within
// stdioGrace; the goroutine then ends with the Write that it is in.
func (w *messageWriter) close(last [][]byte) bool {
	t := time.NewTimer(stdioGrace)
	defer t.Stop()
	for _, line := range last {
		select {
		case w.messages <- line:
		case <-t.C:
			close(w.quit)
			return false
		}
	}
	close(w.quit)
	select {
	case <-w.done:
		return true
	case <-t.C:
		return false
	}
}

// encodeLine returns v as one line of JSON, with the line end. Of < > and & it escapes only what a MarshalJSON of
// mcp-go has escaped already.
func encodeLine(v any) ([]byte, error) {
	var line bytes.Buffer
	enc := json.NewEncoder(&line)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return line.Bytes(), nil
}
