package session

import (
	"context"
	"errors"
	"io"
	"time"

	"ptyctl/screen"
	"ptyctl/session/access"
	"ptyctl/session/keys"
	"ptyctl/session/lane"
	"ptyctl/session/paced"
	"ptyctl/session/shell"
	"ptyctl/session/sudo"
	"ptyctl/term"
	"ptyctl/vt"
)

// startTyped types a command into the terminal and follows it in a goroutine of the session.
//
// It returns once the line is typed. The time that the command has waited for its turn is not part of its deadline.
func (e *execs) startTyped(ctx context.Context, r ExecRequest, epoch uint64) (*run, error) {
	s := e.s
	if err := s.life.typing("exec"); err != nil {
		return nil, err
	}
	if t := s.writer.turn.Load(); t != nil && t.moves != "" && !r.Queue {
		return nil, s.writer.moving("exec", t)
	}
	if r.Dir != "" || len(r.Env) > 0 || len(r.Stdin) > 0 {
		return nil, sessionError("exec", s.id, term.Unsupported,
			"a folder, variables and stdin belong to the channel lane; in the terminal, type cd and export"+
				s.execs.beside(", or use the channel lane"))
	}
	expect, by := s.Expect().with(r.Expect), term.ActorFrom(ctx)
	c, err := s.lane.Prepare(ctx, lane.Request{
		Command: r.Command, WrittenFor: r.line.writtenFor, JudgedFor: r.line.judgedFor,
		Asked: r.Class, Expected: expect.Class, Pace: r.Pace, Errors: expect.Errors,
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
	if c.Paced() {
		if err := e.typeLines(ctx, x, r, epoch); err != nil {
			s.execs.discard(x, err)
			return nil, err
		}
		return x, nil
	}
	out := io.Writer(x.stdout)
	if x.secret = r.secret; x.secret != nil {
		out = x.secret.sudo.Watch(out)
	}
	if x.sentBytes, err = c.Type(ctx, x.ctx, x.id, out); err != nil {
		s.execs.discard(x, err)
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
	if l := x.lines.Load(); l != nil && l.Stopped != "" && l.Stopped != paced.Closed {
		res.Done, res.ExitReason, res.WaitingFor = DoneStopped, "no_status", x.typed.Standing()
		return
	}
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
	if r.line.writtenFor != "" && s.shells.shellOf(ctx, "").Class != r.line.writtenFor {
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

// Behind implements lane.Terminal.
func (t laneTerminal) Behind(ctx context.Context) { t.s.writer.behind(ctx) }

// Type writes a command's line like any other write: in turn, and under the epoch of the lock with which it was
// permitted. A terminal that does not take the line within the write timeout is an ExecTimeout.
func (t laneTerminal) Type(ctx context.Context, line string, epoch uint64) (lane.Typed, error) {
	s := t.s
	if err := s.life.alive("exec"); err != nil {
		return lane.Typed{}, err
	}
	// If the terminal may have the whole line, the line is a command: its output and end must be followed.
	w, err := s.writer.send(ctx, []byte(line), permit{epoch: epoch, whole: true})
	if w.Written > 0 {
		s.input.Add(TxEvent{Verb: term.VerbExec, Task: access.HolderOf(term.ActorFrom(ctx)).String(), Bytes: w.Written})
	}
	switch {
	case err != nil:
		return lane.Typed{}, withWritten(err, w.Written)
	case w.TimedOut:
		return lane.Typed{}, sessionError("exec", s.id, term.ExecTimeout,
			"the terminal does not take what is typed; read what it shows; a signal or close does not wait for it")
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
