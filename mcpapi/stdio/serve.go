package stdio

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"

	"ptyctl/internal/faultlog"
	"ptyctl/internal/mcpgo"
	"ptyctl/internal/workers"
	"ptyctl/mcpapi/jsonrpc"
	"ptyctl/term"
)

const (
	// codeTooManyRequests is from the range that MCP leaves to implementations, -32000 to -32019.
	codeTooManyRequests = -32000

	// grace bounds how long Serve waits for a request that ignores its cancellation, and after that for a
	// client that does not read its output.
	grace = 2 * time.Second
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
	Room            *jsonrpc.Room // for the bytes of these requests; nil: no limit
	DrainTimeout    time.Duration // how long requests may go on after the end of the input; 0 means 3 s
	Logger          *slog.Logger  // handler panics and abandoned requests; nil discards them

	// GoesOn says that the program goes on after Serve returns, and so does all work that the client has begun.
	// Otherwise a request that the end of the client cuts off ends with term.ErrStopping.
	GoesOn bool
}

// ended is the cause with which requests end when the client has ended its side.
func (o Options) ended(cause error) error {
	if o.GoesOn {
		return cause
	}
	return fmt.Errorf("%w: %w", cause, term.ErrStopping)
}

// A Server is an MCP server to serve: a mcpapi.Server.
type Server interface{ Protocol() *mcpgo.Server }

// stopping is the cause with which requests end when ctx does.
func stopping(ctx context.Context) error {
	return fmt.Errorf("%w: %w", term.ErrStopping, context.Cause(ctx))
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
func Serve(ctx context.Context, s Server, in io.Reader, out io.Writer, o Options) error {
	o.MaxMessageBytes = cmp.Or(o.MaxMessageBytes, 8<<20)
	o.MaxInFlight = cmp.Or(o.MaxInFlight, 256)
	o.DrainTimeout = cmp.Or(o.DrainTimeout, 3*time.Second)
	o.Logger = faultlog.Or(o.Logger)

	base, cancelAll := context.WithCancelCause(context.WithoutCancel(ctx))
	defer cancelAll(nil)
	defer context.AfterFunc(ctx, func() { cancelAll(stopping(ctx)) })()
	w := newMessageWriter(out, o.MaxInFlight, o.Logger)
	session := newSession(w)
	srv := s.Protocol()
	if err := srv.RegisterSession(ctx, session); err != nil {
		w.close(nil)
		return fmt.Errorf("register the stdio session: %w", err)
	}
	defer srv.UnregisterSession(context.WithoutCancel(ctx), session.SessionID())

	l := &loop{
		srv: srv, opts: o, session: session, out: w, ctx: base,
		inFlight: make(map[string]*pending), idle: make(chan struct{}), workers: workers.New(), calls: srv.Queue(),
	}
	defer l.endWorkers()
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
		cause := o.ended(errInputEnded)
		switch {
		case w.failed() != nil:
			cause = o.ended(errOutputBroken)
		case ctx.Err() != nil: // it ends base, too, but a moment later
			cause = stopping(ctx)
		}
		cancelAll(cause)
		if !l.waitIdle(grace, nil, nil) {
			// Answered in its place, so that a client which still reads does not wait for it.
			last = l.abandon()
		}
	}
	// Only after every handler: their messages must come before the end of the output.
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
