package main

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/urfave/cli/v2"

	"ptyctl/control"
)

// firstWait is how long a command is waited for before its output is shown as it comes.
const firstWait = 200 * time.Millisecond

// maxInput bounds what exec --stdin sends: it is one argument of a call.
const maxInput = 4 << 20

func execCommand() *cli.Command {
	return &cli.Command{
		Name: "exec", Usage: "run a command on a host, through what an agent has; its exit status is ours",
		ArgsUsage: "[USER@]HOST[:PORT] -- COMMAND...",
		Flags: append(
			hostFlags(),
			&cli.StringFlag{Name: "lane", Usage: "channel (beside a terminal) or terminal (typed into one); default auto"},
			&cli.DurationFlag{
				Name:  "timeout",
				Usage: "stop the command after this `TIME`, such as 90s; default as configured for calls that ask for the longest",
			},
			&cli.BoolFlag{
				Name:  "argv",
				Usage: "pass the words of the command on as they are, quoted for the shell there, which otherwise reads them as one line",
			},
			&cli.BoolFlag{Name: "stdin", Usage: "send what is on stdin to the command, up to 4 MiB"},
		),
		Action: runExec,
	}
}

type execCall struct {
	SessionID     string   `json:"session_id"`
	Cmd           string   `json:"cmd,omitempty"`
	Argv          []string `json:"argv,omitempty"`
	Lane          string   `json:"lane,omitempty"`
	Timeout       int64    `json:"timeout_ms,omitempty"`
	Stdin         string   `json:"stdin,omitempty"`
	StdinEncoding string   `json:"stdin_encoding,omitempty"`
	ExecID        string   `json:"exec_id,omitempty"`
	Cancel        bool     `json:"cancel,omitempty"`
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
	Truncated      bool   `json:"truncated"`
	WaitingFor     *struct{ Kind, Text string }
}

func runExec(c *cli.Context) (err error) {
	where, command, err := hostAndCommand(c)
	if err != nil {
		return err
	}
	call := execCall{Lane: c.String("lane")}
	if c.Bool("argv") {
		call.Argv = command
	} else { // joined by blanks, for the shell there to read, as ssh(1) does it
		call.Cmd = strings.Join(command, " ")
	}
	if c.Bool("stdin") {
		input, err := io.ReadAll(io.LimitReader(os.Stdin, maxInput+1))
		if err != nil {
			return err
		}
		if len(input) > maxInput {
			return errors.New("there is more on stdin than exec takes (4 MiB)")
		}
		call.Stdin, call.StdinEncoding = base64.StdEncoding.EncodeToString(input), "base64"
	}
	c.Context = asPerson(c.Context)
	a, closeAll, err := newApp(c)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeAll()) }()
	on, err := a.Client(c.Context, 0)
	if err != nil {
		return err
	}
	defer on.Close()
	start, err := a.Client(c.Context, firstWait)
	if err != nil {
		return err
	}
	defer start.Close()
	s, err := openHost(c, on, where, nil)
	if err != nil {
		return notReached(err)
	}
	call.SessionID, call.Timeout = s.id, a.Config().Limits.MaxExecTimeout.Milliseconds()
	if t := c.Duration("timeout"); t > 0 {
		call.Timeout = max(t.Milliseconds(), 1)
	}
	var out execResult
	if err := start.Call(c.Context, toolExec, call, &out); err != nil {
		return notReached(err)
	}
	r := &remoteCommand{on: on, session: s.id, out: c.App.Writer, errs: c.App.ErrWriter}
	return r.finish(c.Context, out)
}

// hostAndCommand reads HOST -- COMMAND.
func hostAndCommand(c *cli.Context) (host string, command []string, err error) {
	args := c.Args().Slice()
	switch {
	case len(args) > 1 && args[1] == "--":
		args = append(args[:1:1], args[2:]...)
	case len(args) > 1 && strings.HasPrefix(args[1], "-"):
		return "", nil, misplaced(c, args)
	}
	if len(args) < 2 {
		return "", nil, usageError{
			fmt.Errorf("exec needs a host and a command; call it as %s [flags] %s", c.Command.HelpName, c.Command.ArgsUsage),
		}
	}
	return args[0], args[1:], nil
}

// A remoteCommand is one that runs on a host, and whose output is shown here.
type remoteCommand struct {
	on        *control.Client
	session   string
	out, errs io.Writer
}

// finish shows the command's output and waits for its end. The error is its exit status.
func (r *remoteCommand) finish(ctx context.Context, first execResult) error {
	last := first
	if first.ExecID == "" { // all of it is in the result
		if err := errors.Join(put(r.out, first.Stdout, first.StdoutEncoding), put(r.errs, first.Stderr, first.StderrEncoding)); err != nil {
			return err
		}
	} else {
		var wg sync.WaitGroup
		var outErr, errsErr error
		wg.Go(func() { outErr = r.stream(ctx, first.ExecID, "stdout", r.out) })
		wg.Go(func() { errsErr = r.stream(ctx, first.ExecID, "stderr", r.errs) })
		err := r.wait(ctx, first.ExecID, &last)
		wg.Wait()
		if ctx.Err() != nil {
			r.cancel(first.ExecID)
			return exitStatus{130} // 128 + SIGINT
		}
		if err := errors.Join(err, outErr, errsErr); err != nil {
			return notReached(err)
		}
	}
	if last.TimedOut {
		fmt.Fprintln(os.Stderr, "ptyctl: the command took too long and was stopped (--timeout)")
		return exitStatus{124} // as timeout(1)
	}
	return remoteStatus(last.ExitCode, last.ExitSignal)
}

// wait waits for the command's end.
func (r *remoteCommand) wait(ctx context.Context, id string, last *execResult) error {
	for last.DoneReason == "running" {
		*last = execResult{}
		if err := r.on.Call(ctx, toolExec, execCall{SessionID: r.session, ExecID: id}, last); err != nil {
			return err
		}
		if w := last.WaitingFor; w != nil && last.DoneReason == "running" {
			r.cancel(id)
			return fmt.Errorf(
				"the command waits for an answer (%s: %s), and exec cannot give one; use ptyctl open",
				printable(w.Kind),
				printable(w.Text),
			)
		}
	}
	return nil
}

// stream shows one stream from its beginning to its end.
func (r *remoteCommand) stream(ctx context.Context, id, stream string, to io.Writer) error {
	cursor, wait, missing := "0", longPoll, int64(0)
	for {
		var out ioResult
		err := r.on.Call(
			ctx,
			toolIO,
			ioCall{
				Action:    "read",
				SessionID: r.session,
				ExecID:    id,
				Stream:    stream,
				Cursor:    cursor,
				Encoding:  "base64",
				Timeout:   &wait,
				MaxBytes:  readSize,
			},
			&out,
		)
		if err != nil {
			return err
		}
		missing += out.Dropped
		if err := put(to, out.Chunk, out.Encoding); err != nil {
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

// cancel stops the command.
func (r *remoteCommand) cancel(id string) {
	ctx, stop := context.WithTimeout(context.Background(), parting)
	defer stop()
	_ = r.on.Call(
		ctx,
		toolExec,
		execCall{SessionID: r.session, ExecID: id, Cancel: true},
		nil,
	) // closing the session ends it too
}

// put writes output as it came.
func put(to io.Writer, text, encoding string) error {
	data, err := decode(text, encoding)
	if err == nil && len(data) > 0 {
		_, err = to.Write(data)
	}
	return err
}
