package stdio

import (
	"io"
	"log/slog"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"ptyctl/mcpapi/jsonrpc"
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

// close writes last and ends the writer. It reports false when the output has not taken everything within
// grace; the goroutine then ends with the Write that it is in.
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
