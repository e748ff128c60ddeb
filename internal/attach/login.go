package attach

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"golang.org/x/term"

	"ptyctl/control"
	"ptyctl/internal/client"
	"ptyctl/internal/tty"
	"ptyctl/mcpapi/questions"
)

// settleWait is how long, in milliseconds, the far side may take to judge an answer before the status is read again.
const settleWait = int64(25_000)

// A Person answers the questions of logins.
type Person struct {
	in    *os.File
	lines *bufio.Reader // of in, if in is not a terminal
	out   io.Writer

	editor *term.Terminal // of in, if in is a terminal
}

// NewPerson returns a person who reads the questions at out and answers at in: hidden at a terminal, else line by line.
func NewPerson(in *os.File, out io.Writer) *Person {
	return &Person{in: in, lines: bufio.NewReader(in), out: out}
}

// An EndedError is the end of a session before its login was over.
type EndedError struct{ ID, Reason string }

// Error names the session and the reason.
func (e *EndedError) Error() string {
	return fmt.Sprintf("session %s is over: %s", tty.Printable(e.ID), tty.Printable(e.Reason))
}

// Login has a person answer the questions of the session's login, until the session is open.
func (a *Attachment) Login(ctx context.Context, person *Person) error {
	for {
		now, err := a.Status(ctx)
		if err != nil {
			return err
		}
		switch {
		case now.Question != nil:
			if err := a.answer(ctx, now.Question, person); err != nil {
				return err
			}
		case now.State == "connecting" || now.State == "authenticating":
			if !client.Pause(ctx, 100*time.Millisecond) { // the far side does not announce its verdict on an answer
				return context.Cause(ctx)
			}
		case now.State == "open":
			return nil
		default:
			return &EndedError{ID: a.ID, Reason: now.Session.EndReason}
		}
	}
}

// answer has a person answer one question.
func (a *Attachment) answer(ctx context.Context, q *client.Question, person *Person) error {
	id, q, err := a.listed(ctx, q)
	switch {
	case err != nil:
		return err
	case q == nil: // answered since the status was read
		client.Pause(ctx, 100*time.Millisecond)
		return context.Cause(ctx)
	}
	text, err := person.ask(ctx, a.ID, q)
	if err != nil {
		return err
	}
	if id != "" {
		err = a.Client.Answer(ctx, questions.Answer{ID: id, Text: &text})
	} else {
		wait := settleWait
		err = a.Client.Call(
			ctx,
			client.ToolIO,
			client.IOCall{Action: "write", SessionID: a.ID, Data: text + "\r", Sensitive: true, Timeout: &wait},
			nil,
		)
	}
	if client.IsCode(err, "BUSY") || client.IsCode(err, "NOT_FOUND") {
		fmt.Fprintln(person.out, "[ptyctl: another person has answered that]")
		return nil
	}
	if id != "" {
		return err // the error has the advice
	}
	return client.ReadOnlyHint(err)
}

// listed returns the waiting question with its id, so that a late answer does not go to another question; nil: no
// question waits any more. A server without a list has the question q without an id.
func (a *Attachment) listed(ctx context.Context, q *client.Question) (id string, now *client.Question, err error) {
	list, err := a.Client.Questions(ctx, "", 0)
	if errors.Is(err, control.ErrNoQuestions) {
		return "", q, nil
	}
	for _, l := range list.Questions {
		if l.SessionID == a.ID && l.Kind != questions.KindConsent {
			return l.ID, &client.Question{
				Hop: l.Hop, User: l.User, Host: l.Host, Kind: l.Kind, Text: l.Text, Echo: l.Form != questions.AnswerSecret,
				Index: l.Index, Of: l.Of,
			}, nil
		}
	}
	return "", nil, err
}

// Consent has a person answer whether a call may be made. decided is false if another one was faster, or the question
// has expired meanwhile.
func (p *Person) Consent(ctx context.Context, q *client.OpenQuestion) (yes, decided bool, err error) {
	fmt.Fprint(p.out, q.Show())
	if p.editor = nil; tty.IsTerminal(p.in) { // text typed ahead was for another question
		tty.Flush(p.in)
	}
	for {
		text, err := p.read(ctx, "agree to "+q.Extent()+", yes or no? ", true)
		if err != nil {
			return false, false, err
		}
		switch strings.ToLower(strings.TrimSpace(text)) {
		case "yes":
			yes = true
		case "no":
		default: // a key that was meant for another question agrees to nothing
			continue
		}
		err = q.Process.Answer(ctx, questions.Answer{ID: q.ID, Yes: &yes})
		if client.IsCode(err, "NOT_FOUND") || client.IsCode(err, "BUSY") {
			return yes, false, nil
		}
		return yes, err == nil, err
	}
}

// Value shows a call that needs the value of a secret, and has the person give it, hidden. decided is as in Consent.
func (p *Person) Value(ctx context.Context, q *client.OpenQuestion) (decided bool, err error) {
	fmt.Fprint(p.out, q.Show())
	if p.editor = nil; tty.IsTerminal(p.in) { // text typed ahead was for another question
		tty.Flush(p.in)
	}
	text, err := p.read(ctx, "value of "+tty.Printable(q.Secret)+" (hidden; an empty line denies the call): ", false)
	if err != nil {
		return false, err
	}
	answer := questions.Answer{ID: q.ID, Text: &text}
	if text == "" {
		answer = questions.Answer{ID: q.ID, Decline: true}
	}
	err = q.Process.Answer(ctx, answer)
	if client.IsCode(err, "NOT_FOUND") || client.IsCode(err, "BUSY") {
		return false, nil
	}
	return err == nil, err
}

// ask shows a question and reads the answer, which stays hidden unless the question says that it may be seen.
func (p *Person) ask(ctx context.Context, id string, q *client.Question) (string, error) {
	who := q.Host
	if q.User != "" {
		who = q.User + "@" + q.Host
	}
	text := strings.TrimSpace(tty.Printable(q.Text)) + " "
	fmt.Fprintf(p.out, "[ptyctl: %s: %s asks (%s)]\n", tty.Printable(id), tty.Printable(who), tty.Printable(q.Kind))
	answer, err := p.read(ctx, text, q.Echo)
	if err != nil && !errors.Is(err, ErrLeft) && ctx.Err() == nil {
		return "", fmt.Errorf(
			"there is no answer to the question of %s (%s): %w; run this at a terminal, or log in with a key",
			tty.Printable(who),
			tty.Printable(q.Kind),
			err,
		)
	}
	return answer, err
}

// read shows a text and reads one line, at a terminal hidden unless it may be seen.
func (p *Person) read(ctx context.Context, text string, echo bool) (string, error) {
	if tty.IsTerminal(p.in) {
		return p.askTerminal(ctx, text, echo)
	}
	fmt.Fprintln(p.out, text)
	line, err := p.lines.ReadString('\n')
	if err == io.EOF && line != "" {
		err = nil
	}
	return strings.TrimRight(line, "\r\n"), err
}

// ErrLeft is why a question stays open: ctrl-c, or ctrl-d. It ends with its session.
var ErrLeft = errors.New("left without an answer; the question stays open")

// askTerminal asks at a terminal. The terminal does not echo keys, not even those typed before the question is seen.
func (p *Person) askTerminal(ctx context.Context, text string, echo bool) (string, error) {
	ctx, noHangUp := tty.UntilHangUp(ctx)
	defer noHangUp()
	restore, err := tty.RawMode(p.in)
	if err != nil {
		return "", err
	}
	defer restore()
	if p.editor == nil { // kept, because the person may type ahead of the next question
		p.editor = term.NewTerminal(struct {
			io.Reader
			io.Writer
		}{p.in, p.out}, "")
	}
	if cols, rows := tty.Size(p.in); cols > 0 {
		_ = p.editor.SetSize(cols, rows)
	}
	type line struct {
		text string
		err  error
	}
	read := make(chan line, 1)
	go func() { // a read of a terminal cannot be interrupted; the process ends soon after
		var l line
		if echo {
			p.editor.SetPrompt(text)
			l.text, l.err = p.editor.ReadLine()
		} else {
			l.text, l.err = p.editor.ReadPassword(text)
		}
		read <- l
	}()
	select {
	case l := <-read:
		if errors.Is(l.err, io.EOF) {
			fmt.Fprint(p.out, "\r\n")
			return "", ErrLeft
		}
		return l.text, l.err
	case <-ctx.Done():
		fmt.Fprint(p.out, "\r\n")
		return "", context.Cause(ctx)
	}
}
