package daemon

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"sync"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"ptyctl/internal/mcpgo"
	"ptyctl/mcpapi/identity"
	"ptyctl/mcpapi/jsonrpc"
	"ptyctl/mcpapi/wire"
	"ptyctl/term"
)

// A Relay carries the conversation of one client to the daemon and back.
type Relay struct {
	Conn     net.Conn // to the daemon; Run closes it
	In       io.Reader
	Out      io.Writer
	MaxLine  int      // longest line of the client, in bytes without its end; 0: 8 MiB
	Presents Presents // the form of the errors when the daemon is lost
	Logger   *slog.Logger
}

// gone is the message of each call after the daemon is lost.
const gone = "the ptyctl daemon that kept the terminal sessions has ended, and all its sessions with it: nothing was " +
	"opened again, and a command in progress may have run or not; to go on, start this MCP server again " +
	"(reconnect it in the client) and open new sessions"

// drain is how long the daemon may take to answer the calls in progress when the client has ended its input.
const drain = 10 * time.Second

// ErrLost means that the daemon has ended before the client.
var ErrLost = errors.New("the connection to the daemon was lost")

// Run returns when the client has ended its input, or ctx ends, and the last answer is written. Sessions go on in the
// daemon. After the daemon is lost it goes on to answer, with errors, and then returns ErrLost.
func (r Relay) Run(ctx context.Context) error {
	if r.Logger == nil {
		r.Logger = slog.New(slog.DiscardHandler)
	}
	r.MaxLine = cmp.Or(r.MaxLine, 8<<20)
	run := &relaying{Relay: r, pending: pending{open: make(map[string]request)}}
	defer r.Conn.Close()
	defer context.AfterFunc(ctx, func() { _ = r.Conn.Close() })()
	down, up := make(chan error, 1), make(chan error, 1)
	go func() { down <- run.down(ctx) }()
	go func() { up <- run.up() }()
	var lost error
	for {
		select {
		case err := <-down: // the daemon's side has ended, or the client does not take its answers
			if ctx.Err() != nil {
				return nil
			}
			if !errors.Is(err, ErrLost) {
				return err
			}
			r.Logger.Error("the daemon was lost: each call is answered with an error")
			lost, down = err, nil
		case err := <-up:
			if lost == nil && run.pending.isLost() { // both have ended, and the other one is about to say so
				lost = <-down
			}
			if lost != nil || err != nil {
				return errors.Join(lost, err)
			}
			return run.finish(ctx, down)
		case <-ctx.Done():
			return nil
		}
	}
}

// relaying is one Run.
type relaying struct {
	Relay
	pending pending

	out sync.Mutex // held while a line is written to Out
}

// finish tells the daemon that the client has ended its input, and waits for the last answers.
func (r *relaying) finish(ctx context.Context, down <-chan error) error {
	if half, ok := r.Conn.(interface{ CloseWrite() error }); ok {
		_ = half.CloseWrite()
	}
	_ = r.Conn.SetReadDeadline(time.Now().Add(drain))
	select {
	case err := <-down:
		if errors.Is(err, ErrLost) || ctx.Err() != nil {
			return nil //nolint:nilerr // the daemon ends the conversation, as it should
		}
		return err
	case <-ctx.Done():
		return nil
	}
}

// up carries the client's lines to the daemon, until the client ends its input. It returns an error if the input cannot
// be read. A line that is too long is answered here, as the daemon would answer it.
func (r *relaying) up() error {
	in := bufio.NewReaderSize(r.In, 64<<10)
	var line []byte
	var long *jsonrpc.IDFinder // has read the line so far, which is too long; nil: it is not
	for {
		part, err := in.ReadSlice('\n')
		if line == nil && long == nil && err == nil && len(part) <= r.MaxLine {
			r.pass(part) // in one piece, as nearly all are
			continue
		}
		if long == nil && len(line)+len(bytes.TrimSuffix(part, []byte("\n"))) > r.MaxLine {
			long = new(jsonrpc.IDFinder)
			_, _ = long.Write(line) // it never fails
			line = nil
		}
		if long != nil {
			_, _ = long.Write(part)
		} else {
			line = append(line, part...)
		}
		ended := errors.Is(err, io.EOF)
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
		case long != nil && (err == nil || ended):
			r.refuseLong(long.ID())
			long = nil
		case err == nil:
			r.pass(line)
			line = nil
		case ended && len(line) > 0:
			r.pass(append(line, '\n'))
		case ended:
		default:
			return fmt.Errorf("read from the client: %w; start the server again", err)
		}
		if ended {
			return nil
		}
	}
}

// refuseLong answers a message that is too long, with the id of its request if it has one.
func (r *relaying) refuseLong(id json.RawMessage) {
	line, err := mcpgo.EncodeAnswer(id, mcpgo.Error(mcp.INVALID_REQUEST, fmt.Sprintf(
		"message dropped: a line may have at most %d bytes (limits.max_message_bytes); send less in one message", r.MaxLine)))
	if err == nil {
		err = r.write(line)
	}
	if err != nil {
		r.Logger.Error("an answer was not written", "error", err)
	}
}

// pass sends one line to the daemon, or answers it if the daemon is lost.
func (r *relaying) pass(line []byte) {
	unanswered, lost := r.pending.ask(line)
	if lost {
		r.answer(unanswered)
		return
	}
	_, _ = r.Conn.Write(line) // if it fails, so does the read of down, which answers the open requests
}

// down carries the daemon's lines to the client. Only whole lines: one that is cut off by the daemon's end would spoil
// the next.
func (r *relaying) down(ctx context.Context) error {
	in := bufio.NewReaderSize(r.Conn, 64<<10)
	var line []byte
	for {
		part, err := in.ReadSlice('\n')
		whole := part
		if line != nil || err != nil {
			line = append(line, part...)
			whole = line
		}
		switch {
		case err == nil:
			r.pending.settle(whole)
			if err := r.write(whole); err != nil {
				return fmt.Errorf("write to the client: %w; answers were lost, start the server again", err)
			}
			line = nil
		case errors.Is(err, bufio.ErrBufferFull):
		case ctx.Err() != nil, errors.Is(err, os.ErrDeadlineExceeded): // this side ends, and the daemon goes on
			return ErrLost
		default:
			r.answer(r.pending.lose())
			return ErrLost
		}
	}
}

func (r *relaying) write(line []byte) error {
	r.out.Lock()
	defer r.out.Unlock()
	_, err := r.Out.Write(line)
	return err
}

// answer answers requests that the daemon cannot answer any more.
func (r *relaying) answer(all []request) {
	for _, q := range all {
		line, err := mcpgo.EncodeAnswer(q.id, r.failure(q))
		if err == nil {
			err = r.write(line)
		}
		if err != nil {
			r.Logger.Error("an answer was not written", "error", err)
		}
	}
}

// failure is the answer to one request: of a tool, a result that its caller sees.
func (r *relaying) failure(q request) mcp.JSONRPCMessage {
	if !q.call {
		return mcpgo.Error(mcp.INTERNAL_ERROR, gone)
	}
	ctx := context.Background()
	var slot mcpgo.ErrorSlot
	results := wire.Encoder{
		Results: identity.Results(r.Presents.Results), JSONRPCErrors: r.Presents.JSONRPCErrors, Log: r.Logger,
	}
	res, err := results.Failure(mcpgo.WithErrorSlot(ctx, &slot), &term.Error{Kind: term.Internal, Msg: gone})
	if err != nil {
		return mcpgo.Error(mcp.INTERNAL_ERROR, gone)
	}
	return slot.Answer(mcp.JSONRPCResponse{
		JSONRPC: mcp.JSONRPC_VERSION, ID: mcp.NewRequestId(q.id), Result: res,
	})
}
