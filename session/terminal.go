package session

import (
	"bytes"
	"context"
	"errors"
	"io"
	"slices"
	"time"

	"ptyctl/screen"
	"ptyctl/session/access"
	"ptyctl/session/keys"
	"ptyctl/session/lane"
	"ptyctl/session/prompt"
	"ptyctl/session/scene"
	"ptyctl/session/shell"
	"ptyctl/session/sudo"
	"ptyctl/session/vault"
	"ptyctl/term"
	"ptyctl/vt"
)

// startTyped types a command into the terminal and follows it in a goroutine of the session's.
//
// It returns once the line is typed. The time that the command has waited for its turn is not part of its deadline.
func (e *execs) startTyped(ctx context.Context, r ExecRequest, epoch uint64) (*run, error) {
	s := e.s
	if err := s.life.typing("exec"); err != nil {
		return nil, err
	}
	if r.Dir != "" || len(r.Env) > 0 || len(r.Stdin) > 0 {
		return nil, sessionError("exec", s.id, term.Unsupported,
			"a folder, variables and stdin belong to the channel lane; in the terminal, type cd and export"+
				s.execs.beside(", or use the channel lane"))
	}
	expect, by := s.Expect().with(r.Expect), term.ActorFrom(ctx)
	c, err := s.lane.Prepare(ctx, lane.Request{
		Command: r.Command, WrittenFor: r.writtenFor, Asked: r.Class, Expected: expect.Class,
		Prompt: expect.Prompt, Pagers: expect.Pagers, AutoPage: expect.AutoPage,
		NoMarker: r.NoMarker, MarkerPrefix: r.MarkerPrefix, MarkerSuffix: r.MarkerSuffix, Idle: r.Idle,
		QuietLine: s.o.QuietLine, Timeout: r.Timeout, Wait: r.Wait, Queue: r.Queue,
		Actor: by, Epoch: epoch,
	})
	if err != nil {
		return nil, err
	}
	defer c.Leave()
	x, err := s.execs.newRun(r, LaneTerminal, by) // its time begins here
	if err != nil {
		return nil, err
	}
	x.typed = c
	out := io.Writer(x.stdout)
	if x.secret = r.secret; x.secret != nil {
		out = x.secret.sudo.Watch(out)
	}
	if x.sentBytes, err = c.Type(ctx, x.ctx, x.id, out); err != nil {
		s.execs.discard(x)
		return nil, err
	}
	ok := s.execs.launch(x, func() (term.Exit, error) {
		defer c.Release()
		if x.secret == nil {
			return c.Follow()
		}
		return e.followSudo(x, epoch, out.(*sudo.Watcher))
	})
	if !ok {
		c.Release()
		return nil, s.life.endedError("exec")
	}
	return x, nil
}

// typedResult completes the result of a command that has ended in the terminal.
func (e *execs) typedResult(x *run, res *ExecResult) {
	how, lost := x.typed.Outcome()
	res.Lost = lost
	switch how {
	case lane.Marked:
		res.Done = DoneMarker
	case lane.Prompted, lane.Silent:
		seen := how == lane.Prompted
		res.Done, res.Prompt = DoneIdle, &seen
		if seen {
			res.Done = DonePrompt
		}
		res.ExitReason = "marker_not_seen"
		switch sh := x.typed.Shell(); {
		case sh.Class.TakesMarker():
		case sh.Name != "": // a shell that no marker is known for
			res.ExitReason = "unsupported_shell"
		default: // a device, which has none to report, or nothing is known
			res.ExitReason = "no_status"
		}
	default:
		res.Done = DoneEOF
		if !res.Exit.Known {
			res.ExitReason = "session_ended"
			if x.life.now() == Failed {
				res.ExitReason = "connection_lost"
			}
		}
	}
}

// collectOrType collects the result of a command for which the caller left the lane open. If the server has no
// channel for it, and nothing was run, the command is typed into the terminal instead.
func (e *execs) collectOrType(ctx context.Context, x *run, r ExecRequest, epoch uint64) (ExecResult, error) {
	s := e.s
	begun := time.Now()
	res, err := s.execs.collect(ctx, x, ContinueRequest{Wait: r.Wait, MaxOutput: r.MaxOutput, Match: r.Match})
	// This error says that the server refused the channel, so nothing ran. After any other the command may have run,
	// and must not run twice.
	if !errors.Is(err, term.LimitExceeded) || r.secret != nil || r.Dir != "" || len(r.Env) > 0 || len(r.Stdin) > 0 {
		return res, err
	}
	// Another shell would read it differently.
	if r.writtenFor != "" && s.shells.shellOf(ctx, "").Class != r.writtenFor {
		return res, err
	}
	typed, typedErr := s.execs.startTyped(ctx, r, epoch)
	if typedErr != nil {
		return res, err
	}
	close(typed.recorded) // as the command that the server refused
	defer s.execs.letGo(typed)
	return s.execs.collect(
		ctx, typed, ContinueRequest{Wait: r.Wait - time.Since(begun), MaxOutput: r.MaxOutput, Match: r.Match},
	)
}

// A laneTerminal is the session as its terminal lane sees it.
//
// It is all that package lane knows of a session, so that commands in a terminal can be tested without one.
type laneTerminal struct{ s *Session }

func (t laneTerminal) Context() context.Context { return t.s.life.ctx }
func (t laneTerminal) Closed(op string) error   { return t.s.life.endedError(op) }
func (t laneTerminal) HasChannel() bool         { return t.s.execs.hasChannel() }
func (t laneTerminal) Modes() vt.Modes          { return t.s.window.modes() }
func (t laneTerminal) Marks() vt.Marks          { return t.s.window.marks() }
func (t laneTerminal) Quiet() time.Duration     { return age(&t.s.count.lastRx) }

// Front returns the programs in front of a local terminal; zero: not known.
func (t laneTerminal) Front() term.Front {
	if l := t.s.link.Load(); l != nil && l.prober != nil {
		return l.prober.Probe()
	}
	return term.Front{}
}

func (t laneTerminal) Cols() int { return t.s.window.cols() }

// Screen implements lane.Terminal.
func (t laneTerminal) Screen() *screen.Snapshot { return t.s.display.Peek() }

// Mask implements lane.Terminal.
func (t laneTerminal) Mask(text string) string { return t.s.display.Mask(text) }

// End waits until the session is over, and returns how its program ended, if by itself.
func (t laneTerminal) End() (term.Exit, error) {
	<-t.s.life.over
	end := t.s.life.ending()
	return end.ProgramExit(), end.Err
}

// Hold takes the writer's token if it is free. It must not wait: a caller who has the token, or a turn, is typing, and
// a key would land in their input.
func (t laneTerminal) Hold() (release func(), ok bool) {
	select {
	case t.s.writer.token <- struct{}{}:
		if t.s.writer.turn.Load() != nil {
			<-t.s.writer.token
			return nil, false
		}
		return func() { <-t.s.writer.token }, true
	default:
		return nil, false
	}
}

// ShellAt returns the shell that reads a command's line; see farSide.
func (t laneTerminal) ShellAt(ctx context.Context, asked, expected Class) shell.Shell {
	return t.s.shells.farSide(ctx, asked, expected)
}

// Type writes a command's line like any other write: in turn, and under the epoch of the lock with which it was
// permitted. A terminal that does not take the line within the write timeout is an ExecTimeout.
func (t laneTerminal) Type(ctx context.Context, line string, epoch uint64) (lane.Typed, error) {
	s := t.s
	if err := s.life.alive("exec"); err != nil {
		return lane.Typed{}, err
	}
	// A line of which the terminal may have all is a command, whose output and end must be followed.
	w, err := s.writer.send(ctx, []byte(line), permit{epoch: epoch, whole: true})
	if w.Written > 0 {
		s.input.Add(TxEvent{Verb: term.VerbExec, Task: access.HolderOf(term.ActorFrom(ctx)).String(), Bytes: w.Written})
	}
	switch {
	case err != nil:
		return lane.Typed{}, withWritten(err, w.Written)
	case w.TimedOut:
		return lane.Typed{}, sessionError("exec", s.id, term.ExecTimeout,
			"the terminal does not take what is typed; read what it shows, or send ctrl_c")
	}
	return lane.Typed{Cursor: w.Cursor, Bytes: w.Written}, nil
}

// Press sends a key that no caller asked for, for example to turn a page. The holder must still have the lock, and the
// key must be on record first; otherwise Press sends nothing and returns false.
func (t laneTerminal) Press(k lane.Key, done func()) bool {
	s, by := t.s, access.HolderOf(k.Actor)
	if !s.lock.StillGranted(by, k.Epoch) {
		return false
	}
	// The key is typed for the command that the Gate has allowed, so it is recorded and not judged again.
	e := term.Event{Verb: term.VerbWrite, Actor: k.Actor, Data: []byte(k.Text), Size: len(k.Text), Detail: k.Why}
	if s.auth.Record(e) != nil {
		return false
	}
	s.auth.Observe(e)
	s.input.Add(TxEvent{
		Verb: term.VerbWrite, Task: by.String(), Bytes: len(k.Text), Key: keys.Name([]byte(k.Text)), Reason: k.Why,
	})
	s.writer.press(by, k.Text, done)
	return true
}

// press sends a key for by past everything that waits to be written, and then calls done.
func (out *writer) press(by Holder, key string, done func()) {
	s := out.s
	s.prompts.Pressed()
	if !s.group.spawn("exec", func() {
		defer done()
		n, _ := s.link.Load().Write([]byte(key))
		s.writer.countTyped(by, n)
	}) {
		done()
	}
}

// typeSecret types a secret of the operator's and the enter key. The Gate judges it as other input that it may not see.
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
		epoch: epoch, timeout: o.Timeout, echo: echo, whole: true, secret: func() error { return named(still()) },
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

// byName says of a write in the record that it typed a secret of the operator's.
const byName = "by name"

// A vaultTerminal is the session as package vault sees it.
type vaultTerminal struct{ s *Session }

func (t vaultTerminal) Settle(ctx context.Context) { FinishScreen(ctx, t.s) }

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
	// First, so that what comes during the look makes a difference to the next one.
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
