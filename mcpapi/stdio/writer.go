package stdio

import (
	"io"
	"log/slog"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"ptyctl/internal/mcpgo"
	"ptyctl/mcpapi/jsonrpc"
)

// messageWriter owns the output. One goroutine writes each message with one Write, so that lines never mix. Before
// each message it writes the notifications that were queued when the message came: progress must not follow the
// answer.
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

// newMessageWriter starts a writer. The queue has room for several notifications of each request that may run.
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

// run writes until quit is closed. It flushes the queue before it ends.
func (w *messageWriter) run() {
	defer close(w.done)
	for {
		select {
		case n := <-w.notifications:
			w.notify(n)
		case line := <-w.messages:
			w.flushQueue()
			w.write(line)
			mcpgo.Reuse(line)
		case <-w.quit:
			w.flushQueue()
			return
		}
	}
}

// flushQueue writes the notifications that are queued now. Those that come meanwhile wait, so a busy sender cannot
// hold up the next message.
func (w *messageWriter) flushQueue() {
	for range len(w.notifications) {
		w.notify(<-w.notifications)
	}
}

// notify writes one notification; one that is not valid as JSON is logged and dropped.
func (w *messageWriter) notify(n mcp.JSONRPCNotification) {
	line, err := jsonrpc.EncodeLine(n)
	if err != nil {
		w.logger.Error("a notification cannot be written as JSON and was dropped", "method", n.Method, "error", err)
		return
	}
	w.write(line)
}

// write writes one line. After the first failure it discards everything, so that no caller waits for a dead output.
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

// close writes last and ends the writer. It reports false when the output has not taken everything within grace; the
// goroutine then ends when its present Write returns.
func (w *messageWriter) close(last [][]byte) bool {
	t := time.NewTimer(grace)
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
