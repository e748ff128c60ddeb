package session

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"
	"unicode"

	"ptyctl/session/marker"
	"ptyctl/session/shell"
	"ptyctl/term"
)

// A typedRun is a command typed into the terminal, from the moment its line goes out.
type typedRun struct {
	s       *Session
	x       *run
	sh      shell.Shell
	r       ExecRequest
	actor   term.Actor     // who runs it
	epoch   uint64         // the lock's epoch when it was permitted
	prompt  *regexp.Regexp // says that the far side is ready again; may be nil
	before  string         // the last line before the command was typed
	alt     bool           // the alternate screen was on before
	off     int64          // how far the stream has been read
	touches int            // how often callers had typed when the line was out
	taken   bool           // a line end came since: the far side has taken the line

	scan *marker.Scanner // nil: no marker; the prompt or silence ends it, and the following are used
	echo marker.Echo
	ends marker.LineEnds

	holding bool   // the unfinished last line goes to held: without marker, and while the command is interrupted
	held    []byte // it may turn out to be the prompt, which is no output

	pressed time.Time // when a page was last turned; zero: never
	turned  int64     // how far the stream had been read then
	cut     pageCut
}

// startTyped types a command into the terminal and follows it in a goroutine of the session's.
func (s *Session) startTyped(ctx context.Context, r ExecRequest, epoch uint64) (*run, error) {
	expect := s.Expect().with(r.Expect)
	t := &typedRun{
		s:      s,
		r:      r,
		actor:  term.ActorFrom(ctx),
		epoch:  epoch,
		prompt: expect.Prompt,
		cut:    pageCut{on: expect.turnsPages()},
	}
	var p *place
	if r.Queue { // before anything that takes time, or others that came later would be before us
		p = s.lineUp(min(r.Wait, r.Timeout))
		defer s.leave(p)
	}
	line, err := t.prepare(ctx, expect.Class)
	if err != nil {
		return nil, err
	}
	if p != nil {
		if err := s.awaitTurn(ctx, p); err != nil {
			return nil, err
		}
		if line, err = t.prepare(ctx, expect.Class); err != nil { // another shell may be there now
			return nil, err
		}
	}
	x, err := s.newRun(r, LaneTerminal, t.actor) // its time begins here
	if err != nil {
		return nil, err
	}
	x.class = t.sh.Class
	t.x = x
	if err := s.claimTerminal(ctx, x, p); err != nil {
		s.discard(x)
		return nil, err
	}
	if err = t.ready(ctx, expect); err == nil {
		err = t.send(ctx, line, epoch)
	}
	if err != nil {
		s.releaseTerminal(x)
		s.discard(x)
		return nil, err
	}
	ok := s.launch(x, func() (term.Exit, error) {
		defer s.releaseTerminal(x)
		return t.follow()
	})
	if !ok {
		s.releaseTerminal(x)
		return nil, s.endedError("exec")
	}
	return x, nil
}

// send types the line.
func (t *typedRun) send(ctx context.Context, line string, epoch uint64) error {
	s := t.s
	tr, err := s.alive("exec")
	if err != nil {
		return err
	}
	w, err := s.send(ctx, tr, []byte(line+"\r"), epoch, 0, nil)
	if w.Written > 0 {
		s.recordTx(TxEvent{Verb: term.VerbExec, Task: holderOf(t.actor).String(), Bytes: w.Written})
	}
	switch {
	case err != nil:
		return withWritten(err, w.Written)
	case w.TimedOut:
		return &term.Error{
			Op:      "exec",
			Session: s.id,
			Kind:    term.ExecTimeout,
			Msg:     "the terminal does not take what is typed; read what it shows, or send ctrl_c",
		}
	}
	t.off, t.x.sentBytes = w.Cursor, w.Written
	if t.scan == nil {
		t.echo, t.holding = marker.NewEcho(line), true
	}
	t.touches = s.prompts.Touches()
	s.mu.Lock()
	t.x.sent = true
	s.mu.Unlock()
	return nil
}

// prepare finds out for whom the line is, and returns it.
func (t *typedRun) prepare(ctx context.Context, expected Class) (line string, err error) {
	t.sh = t.s.farSide(ctx, t.r.Class, expected)
	return t.line()
}

// line returns what is typed for the command.
func (t *typedRun) line() (string, error) {
	refused := func(kind term.Kind, format string, args ...any) (string, error) {
		return "", &term.Error{Op: "exec", Session: t.s.id, Kind: kind, Msg: fmt.Sprintf(format, args...)}
	}
	r, class := t.r, t.sh.Class
	if r.Dir != "" || len(r.Env) > 0 || len(r.Stdin) > 0 {
		return refused(
			term.Unsupported,
			"a folder, variables and stdin belong to the channel lane; in the terminal, type cd and export%s",
			t.s.beside(", or use the channel lane"),
		)
	}
	if bad := marker.Check(r.MarkerPrefix, r.MarkerSuffix); bad != "" {
		return refused(term.InvalidArgument, "%s", bad)
	}
	marked := class.TakesMarker() && !r.NoMarker
	custom := marked && r.MarkerPrefix != ""
	line := strings.TrimRight(r.Command, "\r\n")
	lines := strings.ContainsAny(line, "\r\n")
	switch {
	case !marked && lines:
		return refused(
			term.Unsupported,
			"this terminal's far side is of class %s, which takes one line at a time; run the lines one by one",
			class,
		)
	case lines && (class == ClassCsh || class == ClassCmd):
		return refused(
			term.Unsupported,
			"a command of several lines cannot be run in %s; join them with ;%s",
			class,
			t.s.beside(", or use the channel lane"),
		)
	case !marked && r.writtenFor != "" && strings.ContainsFunc(line, func(c rune) bool { return c > '~' }):
		return refused(
			term.Unsupported,
			"the command holds characters beyond ASCII, which a line editor may take for keys; leave them out, or run it with the exit code marker",
		)
	case (!marked || class == ClassCmd) && strings.ContainsFunc(line, isUnseen):
		return refused(
			term.InvalidArgument,
			"the command holds a character that cannot be seen, which a line editor here would take for a key, or drop; leave it out",
		)
	case custom && class == ClassCmd:
		return "", &term.Error{
			Op: "exec", Session: t.s.id, Kind: term.Unsupported, Reason: term.ReasonCustomMarker,
			Msg: "cmd.exe cannot print a custom marker", Advice: "leave ExecRequest.MarkerPrefix and MarkerSuffix empty",
		}
	}
	if marked {
		m := marker.New(r.MarkerPrefix, r.MarkerSuffix)
		t.scan = marker.NewScanner(m)
		line = m.Line(t.sh, line)
	}
	if limit := marker.LineLimit(t.sh); len(line) > limit {
		return refused(
			term.InvalidArgument,
			"the command makes a line of %d bytes; this terminal may cut lines beyond %d, and what is left would run: %sput the command into a file and run that",
			len(line),
			limit,
			t.s.beside("use the channel lane, or "),
		)
	}
	return line, nil
}

// isUnseen reports whether a line editor may do something else with a character than to insert it.
func isUnseen(r rune) bool { return !unicode.IsPrint(r) }

// typedResult completes the result of a command that has ended in the terminal.
func (s *Session) typedResult(x *run, res *ExecResult) {
	res.Done, res.Lost = x.how, x.lost
	seen := x.how == DonePrompt
	switch x.how {
	case DoneMarker:
	case DonePrompt, DoneIdle:
		res.Prompt = &seen
		res.ExitReason = "marker_not_seen"
		if !x.class.TakesMarker() {
			res.ExitReason = "unsupported_shell"
		}
	default:
		res.Done = DoneEOF
		if !res.Exit.Known {
			res.ExitReason = "session_ended"
			if s.State() == Failed {
				res.ExitReason = "connection_lost"
			}
		}
	}
}

// collectOrType collects the result of a command for which the caller left the lane open. If the server has no
// channel for it, and nothing was run, the command is typed into the terminal instead.
func (s *Session) collectOrType(ctx context.Context, x *run, r ExecRequest, epoch uint64) (ExecResult, error) {
	begun := time.Now()
	res, err := s.collect(ctx, x, r.Wait, r.MaxOutput)
	if !errors.Is(err, term.LimitExceeded) || r.Dir != "" || len(r.Env) > 0 || len(r.Stdin) > 0 {
		return res, err
	}
	if r.writtenFor != "" && s.shellOf(ctx, "").Class != r.writtenFor { // another shell would read it in another way
		return res, err
	}
	typed, typedErr := s.startTyped(ctx, r, epoch)
	if typedErr != nil {
		return res, err
	}
	defer s.letGo(typed)
	return s.collect(ctx, typed, r.Wait-time.Since(begun), r.MaxOutput)
}
