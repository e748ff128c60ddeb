package session

import (
	"bytes"
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"ptyctl/internal/inorder"
	"ptyctl/internal/locked"
	"ptyctl/quote"
	"ptyctl/session/access"
	"ptyctl/session/keys"
	"ptyctl/session/prompt"
	"ptyctl/session/scene"
	"ptyctl/session/shell"
	"ptyctl/session/sudo"
	"ptyctl/session/vault"
	"ptyctl/term"
)

// An ExecSecret is one of Options.Secrets for a command. No caller gets its value.
type ExecSecret struct {
	Name string // empty: none
	// Sudo has sudo(8) run the command, and answers its question for the password. Else the command reads the value as the
	// first line of its standard input, which the operator must have permitted for that command.
	Sudo bool
}

// A secretInput is the secret of one command, on its way.
type secretInput struct {
	request term.SecretRequest
	sudo    *sudo.Command // nil: the command reads the value itself
	input   io.ReadCloser // the standard input then

	fetching atomic.Bool // a vault or a person is asked for the value
}

// release fetches the value of the secret that sudo has asked for. A person is asked no longer than the command may run.
func (e *execs) release(ctx context.Context, x *run) ([]byte, error) {
	in := x.secret
	in.fetching.Store(true)
	defer in.fetching.Store(false)
	q := in.request
	q.Wait = min(q.Wait, vault.Patience(x.deadline.Remaining()))
	value, err := e.s.o.Secrets.Release(ctx, q)
	if err != nil && ctx.Err() != nil {
		return nil, ctx.Err() // how the command has ended says why
	}
	return value, e.named(err)
}

// waitsForValue returns the wait of a command while its secret is fetched, or nil. A person may have to unlock the
// vault, to agree or to give the value.
func (x *run) waitsForValue() *term.Waiting {
	if x.secret == nil || !x.secret.fetching.Load() {
		return nil
	}
	return &term.Waiting{Kind: term.ForPerson, Text: "secret " + x.secret.request.Name}
}

// underSudo makes the command one of sudo's, for the rules and for the record: as it would be typed.
func (r *ExecRequest) underSudo() {
	words := r.Argv
	if words == nil {
		if strings.TrimSpace(r.Command) == "" {
			return
		}
		words = sudo.Words(r.Command)
	}
	r.Argv = append([]string{sudo.Program}, words...)
	r.Command = quote.Show(r.Argv)
}

// mayHave returns the request for the secret of a command that would run in the lane, or why it does not get it.
func (e *execs) mayHave(ctx context.Context, lane Lane, r *ExecRequest, a term.Action) (term.SecretRequest, error) {
	s := e.s
	refuse := func(kind term.Kind, msg string) (term.SecretRequest, error) {
		return term.SecretRequest{}, sessionError("exec", s.id, kind, msg)
	}
	switch {
	case s.o.Secrets == nil:
		return refuse(term.NotFound, "the operator has no secrets")
	case !r.Secret.Sudo && lane == LaneTerminal:
		return refuse(term.Unsupported, "a command in the terminal has no standard input of its own"+
			e.beside("; use the channel lane")+"; type a secret at the command's question instead")
	case r.Secret.Sudo && len(r.Env) > 0:
		return refuse(term.InvalidArgument, "sudo resets the environment, so variables of the call would not reach the command; "+
			"write them into it: env NAME=value COMMAND")
	case r.Secret.Sudo && s.o.managed.program:
		return refuse(term.Unsupported, "this session is one program")
	}
	if r.Secret.Sudo && len(r.Argv) > 1 {
		if err := sudo.Check(r.Argv[1:]); err != nil {
			return refuse(term.InvalidArgument, err.Error())
		}
	}
	q := term.SecretRequest{
		Name: r.Secret.Name, Use: term.SecretStdin, Sudo: r.Secret.Sudo, Command: r.Command, Action: a,
		Wait: min(r.Wait, vault.Patience(r.Timeout)),
	}
	q.Action.Verb = term.VerbExec
	if l := s.link.Load(); l != nil && l.peerer != nil {
		q.Peer = l.peerer.Peer()
	}
	q.Peer.Session, q.Alone = s.id, s.o.managed.program
	_, err := s.o.Secrets.Check(ctx, q)
	return q, e.named(err)
}

// named adds the session to an error about a secret of the operator.
func (e *execs) named(err error) error {
	own, ok := errors.AsType[*term.Error](err)
	if !ok {
		return err
	}
	about := *own
	about.Op, about.Session = "exec", e.s.id
	return &about
}

// equip readies the secret of a command that the rules have allowed in the form r. Of a command that reads the secret, the
// secret's own rules choose the form that runs.
func (e *execs) equip(ctx context.Context, lane Lane, r *ExecRequest, q term.SecretRequest, ruled string) error {
	s := e.s
	if r.Secret.Sudo {
		c := sudo.New(len(r.Stdin) > 0 || len(r.Argv) > 3 && r.Argv[1] == "sh" && r.Argv[2] == "-c")
		if lane == LaneTerminal {
			c = sudo.Typed()
		}
		line, err := c.Line(string(r.line.writtenFor), r.Command)
		if err != nil {
			return sessionError("exec", s.id, term.Unsupported, "sudo cannot be run here with a secret: "+err.Error())
		}
		r.Command, r.secret = line, &secretInput{request: q, sudo: c}
		return nil
	}
	if ruled != "" {
		q.Action.Command, q.Action.Argv = ruled, nil
	}
	ruling, err := s.o.Secrets.Check(ctx, q)
	if err != nil {
		return e.named(err)
	}
	if err := s.shells.asRuled(ctx, q.Action, ruling, lane, r); err != nil {
		return err
	}
	value, err := s.o.Secrets.Release(ctx, q)
	if err != nil {
		return e.named(err)
	}
	input, err := sudo.Ahead(value, r.Stdin)
	if err != nil {
		return sessionError("exec", s.id, term.AuthFailed, err.Error())
	}
	r.secret = &secretInput{request: q, input: input}
	return nil
}

// drop wipes the secret of a command that does not run.
func (i *secretInput) drop() {
	if i != nil && i.input != nil {
		_ = i.input.Close()
	}
}

// runWithSecret runs a command with its secret on a channel.
func (e *execs) runWithSecret(
	x *run, r term.ExecRequest, in *secretInput, stdout, stderr io.Writer,
) (term.Exit, error) {
	execer := e.s.link.Load().execer
	if in.sudo == nil {
		r.Input = in.input
		return execer.Exec(x.ctx, r, stdout, stderr)
	}
	seen := in.sudo.Watch(stderr)
	r.Input = in.sudo.Feed(term.WithActor(x.ctx, x.actor), r.Stdin, func(ctx context.Context) ([]byte, error) {
		return e.release(ctx, x)
	})
	exit, err := execer.Exec(x.ctx, r, stdout, seen)
	seen.Flush()
	if err == nil {
		said := x.stderr.Since(0, 4<<10)
		x.refused = e.named(in.sudo.Failure(in.request.Name, exit, said.Bytes()))
	}
	return exit, err
}

// asksSudo reports whether w is the question of sudo that a secret will answer.
func (x *run) asksSudo(w *term.Waiting) bool {
	return w != nil && x.secret != nil && x.secret.sudo != nil && x.secret.sudo.IsQuestion(w.Text)
}

// followSudo follows a command in the terminal until its end, and types the secret at sudo's question.
func (e *execs) followSudo(x *run, epoch uint64, seen *sudo.Watcher) (term.Exit, error) {
	ctx, end := context.WithCancel(term.WithActor(x.ctx, x.actor))
	var answering sync.WaitGroup
	answering.Add(1)
	if !e.s.group.spawn("sudo", func() { defer answering.Done(); e.answerSudo(ctx, x, epoch) }) {
		answering.Done()
	}
	exit, err := x.typed.Follow()
	end()
	answering.Wait()
	seen.Flush()
	if err == nil {
		said := x.stdout.Since(0, 4<<10)
		text := bytes.ReplaceAll(said.Bytes(), []byte("\r\n"), []byte("\n"))
		x.refused = e.named(x.secret.sudo.Failure(x.secret.request.Name, exit, text))
	}
	return exit, err
}

// answerSudo types the secret at sudo's question in the terminal, once. At the second one it presses ctrl_d.
func (e *execs) answerSudo(ctx context.Context, x *run, epoch uint64) {
	c := x.secret.sudo
	select {
	case <-c.Asked():
	case <-ctx.Done():
		return
	}
	value, err := e.release(ctx, x)
	if err == nil {
		if err = e.typeAtSudo(ctx, c, value, epoch); err != nil && ctx.Err() != nil {
			err = ctx.Err()
		}
	}
	clear(value)
	if err != nil {
		c.Withhold(err)
	} else {
		c.Deliver()
		select {
		case <-c.AskedAgain():
		case <-ctx.Done():
			return
		}
	}
	// An end of input stays until sudo reads it. ctrl_c would be lost between its question and its read.
	if c.IsQuestion(e.s.lane.LastLine()) {
		_, _ = e.typeFor(ctx, []byte("\x04"), permit{epoch: epoch}, "ctrl_d")
	}
}

// typeFor types data that no caller has typed. It is on record first, without the data.
func (e *execs) typeFor(ctx context.Context, data []byte, p permit, what string) (WriteResult, error) {
	s := e.s
	record := term.Event{Verb: term.VerbWrite, Actor: term.ActorFrom(ctx), Sensitive: true, Detail: what}
	if err := s.auth.Record(record); err != nil {
		return WriteResult{}, err
	}
	res, err := s.writer.send(ctx, data, p)
	record.Size = min(res.Written, 1)
	s.auth.Observe(record)
	return res, err
}

// typeAtSudo types the value and the enter key, if sudo's question is still the last line.
func (e *execs) typeAtSudo(ctx context.Context, c *sudo.Command, value []byte, epoch uint64) error {
	s := e.s
	asked := func() error {
		if line := s.lane.LastLine(); !c.IsQuestion(line) || prompt.Waits(line, nil) == nil {
			return sessionError("exec", s.id, term.Busy, "the terminal has shown something else since sudo has asked")
		}
		return nil
	}
	if bytes.ContainsFunc(value, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		return sessionError("exec", s.id, term.AuthFailed, "the secret has a character that a terminal takes for a key")
	}
	echo, err := s.writer.expectEcho(value)
	if err != nil {
		return err
	}
	enter, _ := keys.Bytes("enter", s.window.modes().AppCursor)
	data := append(append(locked.Bytes(len(value) + len(enter))[:0], value...), enter...)
	defer clear(data)
	res, err := e.typeFor(ctx, data, permit{epoch: epoch, echo: echo, whole: true, secret: asked}, "secret")
	if res.Written+res.Pending == 0 {
		echo.Canceled()
	}
	if err == nil && res.TimedOut {
		err = sessionError("exec", s.id, term.ExecTimeout, "the terminal does not take what is typed")
	}
	return err
}

// typeSecret types a secret of the operator and the enter key. The Gate judges it as other input that it may not see.
func (out *writer) typeSecret(ctx context.Context, o WriteOptions) (res WriteResult, err error) {
	const op = "write"
	s := out.s
	res.Cursor = s.End()
	// A caller may pass the value by mistake. The name is on record once a secret has it.
	d := s.auth.Begin(ctx, term.VerbWrite, term.Event{Sensitive: true, Detail: byName})
	defer func() { d.End(err) }()
	if err := s.life.typing(op); err != nil {
		return res, err
	}
	epoch, err := d.Permit(ctx, term.Action{Sensitive: true, FarSide: s.shells.reads(LaneTerminal, ExecRequest{})})
	if err != nil {
		return res, err
	}
	if end, limited := ctx.Deadline(); limited { // a lock lasts as long as a vault or a person may take
		_, _ = s.lock.Table.Renew(s.id, access.HolderOf(term.ActorFrom(ctx)), time.Until(end)+s.o.WriteTimeout)
	}
	inorder.Pass(ctx) // no later input waits for a vault or a person
	value, still, err := vault.Fetch(ctx, vaultTerminal{s}, s.o.Secrets, o.Secret)
	defer func() { clear(value) }()
	if term.KindOf(err) != term.NotFound {
		d.Event.Detail = o.Secret + " " + byName
	}
	named := func(err error) error {
		e, ok := errors.AsType[*term.Error](err)
		if !ok || e.Session != "" {
			return err
		}
		in := *e
		in.Op, in.Session = op, s.id
		return &in
	}
	if err != nil {
		if over := s.life.typing(op); over != nil { // then no person is asked any more
			err = over
		}
		return res, named(err)
	}
	echo, err := out.expectEcho(value)
	if err != nil {
		return res, err
	}
	enter, _ := keys.Bytes("enter", s.window.modes().AppCursor)
	data := slices.Concat(value, enter)
	defer clear(data)
	out.line.Type(enter)
	res, err = out.send(ctx, data, permit{
		epoch: epoch, timeout: o.Timeout, turn: o.Turn, echo: echo, whole: true, secret: func() error { return named(still()) },
	})
	if res.Written+res.Pending == 0 {
		echo.Canceled()
	}
	res.Written, res.Pending = min(res.Written, 1), min(res.Pending, 1)
	d.Event.Size = res.Written
	if res.Written > 0 {
		s.input.Add(TxEvent{
			Verb: term.VerbWrite, Task: access.HolderOf(term.ActorFrom(ctx)).String(), Bytes: res.Written,
			Sensitive: true, Step: access.StepFrom(ctx),
		})
	}
	return res, withWritten(err, res.Written)
}

// byName is the detail of a recorded write that typed a secret of the operator.
const byName = "by name"

// A vaultTerminal is the session as package vault sees it.
type vaultTerminal struct{ s *Session }

func (t vaultTerminal) Settle(ctx context.Context) { t.s.ServerView().FinishScreen(ctx) }

// Peer implements vault.Terminal.
func (t vaultTerminal) Peer() (p term.Peer, ok bool) {
	if l := t.s.link.Load(); l != nil && l.peerer != nil {
		p, ok = l.peerer.Peer(), true
		p.Session = t.s.id
	}
	return p, ok
}

// Look implements vault.Terminal.
func (t vaultTerminal) Look() vault.Sight {
	s := t.s
	// Read first, so that output during the look changes the next one.
	v := vault.Sight{Received: s.count.rx.Load(), Sent: s.count.tx.Load(), Inputs: s.prompts.Touches(), Echo: term.Maybe}
	modes := s.window.modes()
	v.FullScreen = modes.AltScreen
	v.Line = s.lane.LastLine()
	if now := s.display.Peek(); now != nil {
		v.FullScreen = v.FullScreen || now.AltScreen
		if left, right, ok := scene.Line(now); ok {
			v.Line = left + right
		}
	}
	end, back := s.End(), int64(4<<10)
	tail := s.buf.At(max(end-back, s.buf.Begin(end)), int(back)).Data
	begins := end - int64(len(tail)) + int64(bytes.LastIndexByte(tail, '\n')) + 1
	v.Typed = !prompt.Untouched(s.prompts, begins, end)
	front := laneTerminal{s}.Front()
	editor := front.Edits && shell.Named(front.Program).Class != shell.Unknown
	v.Shell = prompt.Waits(v.Line, nil) == nil && (editor || s.prompts.Known(v.Line))
	if l := s.link.Load(); l != nil && l.echoer != nil {
		v.Echo = l.echoer.Echoes()
	}
	// The editor of a line shows it. On another machine, one that asks for brackets around pasted text takes them back
	// before a command runs.
	if v.Echo == term.Maybe && (editor || modes.BracketedPaste) {
		v.Echo = term.Yes
	}
	return v
}
