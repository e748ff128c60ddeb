package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/urfave/cli/v2"
	"golang.org/x/term"
)

// settleWait is how long, in milliseconds, an answer may take to be judged before we look again.
const settleWait = int64(25_000)

// An asked person answers the questions of logins.
type askedPerson struct {
	in    *os.File
	lines *bufio.Reader // of in, where that is no terminal
	out   io.Writer

	editor *term.Terminal // of in, where it is one
}

func personAt(c *cli.Context) *askedPerson {
	return &askedPerson{in: os.Stdin, lines: bufio.NewReader(os.Stdin), out: c.App.ErrWriter}
}

// login has a person answer what the session's login asks, until it is over.
func login(ctx context.Context, s *seat, person *askedPerson) error {
	for {
		var now statusResult
		if err := s.on.Call(ctx, toolSession, sessionCall{Action: "status", SessionID: s.id}, &now); err != nil {
			return err
		}
		switch {
		case now.Prompt != nil:
			if err := answer(ctx, s, now.Prompt, person); err != nil {
				return err
			}
		case now.State == "connecting" || now.State == "authenticating":
			if !pause(ctx, 100*time.Millisecond) { // what the far side thinks of an answer can only be asked
				return context.Cause(ctx)
			}
		case now.State == "open":
			return nil
		default:
			return fmt.Errorf("session %s is over: %s", printable(s.id), printable(now.Session.EndReason))
		}
	}
}

// answer has a person answer one question.
func answer(ctx context.Context, s *seat, q *prompt, person *askedPerson) error {
	text, err := person.ask(ctx, s.id, q)
	if err != nil {
		return err
	}
	wait := settleWait
	err = s.on.Call(
		ctx,
		toolIO,
		ioCall{Action: "write", SessionID: s.id, Data: text + "\r", Sensitive: true, Timeout: &wait},
		nil,
	)
	if isCode(err, "BUSY") {
		fmt.Fprintln(person.out, "[ptyctl: somebody else has answered that]")
		return nil
	}
	return readOnlyHint(err)
}

// ask shows a question and reads the answer, hidden unless the question says that it may be seen.
func (a *askedPerson) ask(ctx context.Context, id string, q *prompt) (string, error) {
	who := q.Host
	if q.User != "" {
		who = q.User + "@" + q.Host
	}
	text := strings.TrimSpace(printable(q.Text)) + " "
	fmt.Fprintf(a.out, "[ptyctl: %s: %s asks (%s)]\n", printable(id), printable(who), printable(q.Kind))
	if !isTerminal(a.in) {
		fmt.Fprintln(a.out, text)
		line, err := a.lines.ReadString('\n')
		if err == io.EOF && line != "" {
			err = nil
		}
		if err != nil {
			return "", fmt.Errorf("there is no answer to the question of %s: %w", printable(id), err)
		}
		return strings.TrimRight(line, "\r\n"), nil
	}
	return a.askTerminal(ctx, text, q.Echo)
}

// errLeft is why a question stays open: ctrl-c, or ctrl-d.
var errLeft = errors.New("left without an answer; the question stays open")

// askTerminal asks at a terminal. It shows nothing of what is typed on its own, from before the question is seen.
func (a *askedPerson) askTerminal(ctx context.Context, text string, echo bool) (string, error) {
	restore, err := rawMode(a.in)
	if err != nil {
		return "", err
	}
	defer restore()
	if a.editor == nil { // kept, for what is typed ahead of the next question
		a.editor = term.NewTerminal(struct {
			io.Reader
			io.Writer
		}{a.in, a.out}, "")
	}
	if cols, rows := size(a.in); cols > 0 {
		_ = a.editor.SetSize(cols, rows)
	}
	type line struct {
		text string
		err  error
	}
	read := make(chan line, 1)
	go func() { // a read of a terminal cannot be called back; the process ends soon after
		var l line
		if echo {
			a.editor.SetPrompt(text)
			l.text, l.err = a.editor.ReadLine()
		} else {
			l.text, l.err = a.editor.ReadPassword(text)
		}
		read <- l
	}()
	select {
	case l := <-read:
		if errors.Is(l.err, io.EOF) {
			fmt.Fprint(a.out, "\r\n")
			return "", errLeft
		}
		return l.text, l.err
	case <-ctx.Done():
		fmt.Fprint(a.out, "\r\n")
		return "", context.Cause(ctx)
	}
}
