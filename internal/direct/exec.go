package direct

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"ptyctl/control"
	"ptyctl/internal/attach"
	"ptyctl/internal/client"
	"ptyctl/internal/tty"
)

// firstWait is how long a command may take before its output is shown while it runs.
const firstWait = 200 * time.Millisecond

// cancelTime is how long stopping a command may take.
const cancelTime = 3 * time.Second

// A Command is a command for a host. Either Line or Argv is set.
type Command struct {
	Line    string   // for the shell there to read
	Argv    []string // words, quoted for the shell there
	Lane    string   // empty: auto
	Timeout time.Duration
	Stdin   []byte

	SudoSecret, StdinSecret string // names of secrets; empty: none
}

// An End is how a command has ended.
type End struct {
	ExitCode   *int // nil: not known
	ExitSignal string
	TimedOut   bool
	Killed     string // "yes": a command that was to stop is gone; "unknown": the far side has not said so

	members map[string]json.RawMessage // of the last result
}

// ErrInterrupted means that ctx ended while a command ran. The command was asked to stop.
var ErrInterrupted = errors.New("interrupted")

// An OutputError is a failure to write output here, in contrast to a failure of the host.
type OutputError struct{ Err error }

func (e *OutputError) Error() string { return e.Err.Error() }

func (e *OutputError) Unwrap() error { return e.Err }

type execCall struct {
	SessionID     string   `json:"session_id"`
	Cmd           string   `json:"cmd,omitempty"`
	Argv          []string `json:"argv,omitempty"`
	Lane          string   `json:"lane,omitempty"`
	Timeout       int64    `json:"timeout_ms,omitempty"`
	Wait          int64    `json:"wait_ms,omitempty"`
	MaxOutput     int64    `json:"max_output_bytes,omitempty"`
	Stdin         string   `json:"stdin,omitempty"`
	StdinEncoding string   `json:"stdin_encoding,omitempty"`
	SudoSecret    string   `json:"sudo_secret,omitempty"`
	StdinSecret   string   `json:"stdin_secret,omitempty"`
	ExecID        string   `json:"exec_id,omitempty"`
	Cancel        bool     `json:"cancel,omitempty"`
	Format        string   `json:"format,omitempty"`
}

type execResult struct {
	Stdout, Stderr string
	StdoutEncoding string `json:"stdout_encoding"`
	StderrEncoding string `json:"stderr_encoding"`
	ExitCode       *int   `json:"exit_code"`
	ExitReason     string `json:"exit_code_reason"`
	ExitSignal     string `json:"exit_signal"`
	DoneReason     string `json:"done_reason"`
	ExecID         string `json:"exec_id"`
	TimedOut       bool   `json:"timed_out"`
	Killed         string `json:"killed"`
	Truncated      bool   `json:"truncated"`
	WaitingFor     *struct{ Kind, Text string }

	members map[string]json.RawMessage // all of them
}

// UnmarshalJSON implements json.Unmarshaler.
func (r *execResult) UnmarshalJSON(text []byte) error {
	type fields execResult // without this method
	return errors.Join(json.Unmarshal(text, (*fields)(r)), json.Unmarshal(text, &r.members))
}

// Exec runs a command in a session of a host and writes its output to out and errs.
func Exec(
	ctx context.Context,
	on *control.Client,
	session string,
	c Command,
	out, errs io.Writer,
) (End, error) {
	call := execCall{
		SessionID: session, Cmd: c.Line, Argv: c.Argv, Lane: c.Lane, Timeout: max(c.Timeout.Milliseconds(), 1),
		Wait: firstWait.Milliseconds(), Format: "raw", // whatever session.format says
		SudoSecret: c.SudoSecret, StdinSecret: c.StdinSecret,
	}
	if c.Stdin != nil {
		call.Stdin, call.StdinEncoding = base64.StdEncoding.EncodeToString(c.Stdin), "base64"
	}
	var first execResult
	if err := on.Call(ctx, client.ToolExec, call, &first); err != nil {
		if ctx.Err() != nil { // the command ends with the session, which is its caller's to close
			return End{}, ErrInterrupted
		}
		return End{}, err
	}
	r := &remoteCommand{on: on, session: session, out: out, errs: errs}
	last, err := r.finish(ctx, first)
	return End{last.ExitCode, last.ExitSignal, last.TimedOut, last.Killed, last.members}, err
}

// A remoteCommand is a command that runs on a host while its output is shown here.
type remoteCommand struct {
	on        *control.Client
	session   string
	out, errs io.Writer
}

// finish shows the output of the command and waits for its end.
func (r *remoteCommand) finish(ctx context.Context, first execResult) (last execResult, err error) {
	last = first
	if first.ExecID == "" { // the result has all of the output
		return last, errors.Join(
			write(r.out, first.Stdout, first.StdoutEncoding),
			write(r.errs, first.Stderr, first.StderrEncoding),
		)
	}
	var wg sync.WaitGroup
	var outErr, errsErr error
	wg.Go(func() { outErr = r.stream(ctx, first.ExecID, "stdout", r.out) })
	wg.Go(func() { errsErr = r.stream(ctx, first.ExecID, "stderr", r.errs) })
	err = r.wait(ctx, first.ExecID, &last)
	wg.Wait()
	if ctx.Err() != nil {
		r.cancel(first.ExecID)
		return last, ErrInterrupted
	}
	return last, errors.Join(err, outErr, errsErr)
}

// unsure is the kind of a line that may be a question, or not.
const unsure = "unknown"

// atOnce is the longest time of a call that did not wait.
const atOnce = time.Second

// wait waits for the end of the command. A stalled line may be that of a slow program: the result has
// it, but the next call waits on. A question ends each call at once.
func (r *remoteCommand) wait(ctx context.Context, id string, last *execResult) error {
	asked := 0 // calls in a row that ended at once
	for last.DoneReason == "running" {
		*last = execResult{}
		began := time.Now()
		// The streams are read apart, so the result does not need them.
		again := execCall{SessionID: r.session, ExecID: id, MaxOutput: 1, Format: "raw"}
		if err := r.on.Call(ctx, client.ToolExec, again, last); err != nil {
			return err
		}
		if asked++; time.Since(began) > atOnce {
			asked = 0
		}
		if w := last.WaitingFor; w != nil && last.DoneReason == "running" && (w.Kind != unsure || asked > 1) {
			r.cancel(id)
			return fmt.Errorf(
				"the command waits for an answer (%s: %s), and exec cannot give one; use ptyctl open",
				tty.Printable(w.Kind),
				tty.Printable(w.Text),
			)
		}
	}
	return nil
}

// stream shows one stream from its beginning to its end.
func (r *remoteCommand) stream(ctx context.Context, id, stream string, to io.Writer) error {
	cursor, wait, missing := "0", attach.LongPoll, int64(0)
	for {
		var out client.IOResult
		err := r.on.Call(
			ctx,
			client.ToolIO,
			client.IOCall{
				Action:    "read",
				SessionID: r.session,
				Format:    "raw",
				ExecID:    id,
				Stream:    stream,
				Cursor:    cursor,
				Encoding:  "base64",
				Timeout:   &wait,
				MaxBytes:  attach.ReadSize,
			},
			&out,
		)
		if err != nil {
			return err
		}
		missing += out.Dropped
		if err := write(to, out.Chunk, out.Encoding); err != nil {
			return err
		}
		if out.EOF && missing > 0 {
			return fmt.Errorf("%d bytes of %s are missing: they came faster than they were taken", missing, stream)
		}
		if out.EOF {
			return nil
		}
		cursor = out.Next
	}
}

// cancel stops the command. A failure has no effect: closing the session stops it too.
func (r *remoteCommand) cancel(id string) {
	ctx, stop := context.WithTimeout(context.Background(), cancelTime)
	defer stop()
	_ = r.on.Call(ctx, client.ToolExec, execCall{SessionID: r.session, ExecID: id, Cancel: true}, nil)
}

// write writes output as it came. If it cannot, the error is an *OutputError.
func write(to io.Writer, text, encoding string) error {
	data, err := client.Decode(text, encoding)
	if err != nil || len(data) == 0 {
		return err
	}
	if _, err := to.Write(data); err != nil {
		return &OutputError{err}
	}
	return nil
}
