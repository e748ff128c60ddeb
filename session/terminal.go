package session

import (
	"bytes"
	"context"
	"fmt"
	"regexp"
	"strings"
	"time"

	"ptyctl/term"
	"ptyctl/vt"
)

const (
	// lineBack is how much of the stream is looked at for the unfinished last line.
	lineBack = 4 << 10

	// quietPrompt is how long a question must stand still before a result is returned because of it.
	quietPrompt = 150 * time.Millisecond

	// quietStop is how long a prompt must stand still to count as one where one is expected.
	quietStop = 50 * time.Millisecond

	// promptWait is how long a shell may take to show its prompt.
	promptWait = 3 * time.Second

	// interruptGrace is how long a command in the terminal may take to obey ctrl_c, and again ctrl_backslash.
	interruptGrace = 1 * time.Second

	// defaultQuiet is how long a device must be quiet before its answer counts as complete, if the caller says
	// nothing and there is no prompt to go by.
	defaultQuiet = 2 * time.Second
)

// anything matches a line that is not blank.
var anything = []*regexp.Regexp{regexp.MustCompile(`\S`)}

// lastLine returns the unfinished last line as a person sees it.
func (s *Session) lastLine() string {
	end := s.buf.Stat().End
	return vt.LastLine(s.buf.At(max(end-lineBack, 0), lineBack).Data)
}

// A typedRun is a command typed into the terminal, from the moment its line goes out.
type typedRun struct {
	s      *Session
	x      *run
	sh     shell
	r      ExecRequest
	scan   *markerScanner // nil: no marker; the prompt or silence ends it
	prompt *regexp.Regexp // says that the far side is ready again; may be nil
	before string         // the last line before the command was typed
	off    int64          // how far the stream has been read
	echo   []byte         // without marker: the typed line, to be taken out of the output

	stopping bool   // the command is being interrupted: output goes to held
	held     []byte // what came since; its last line may turn out to be the prompt
}

// startTyped types a command into the terminal and follows it in a goroutine of the session's.
func (s *Session) startTyped(ctx context.Context, r ExecRequest, epoch uint64) (*run, error) {
	sh := s.shellOf(ctx, r.Class)
	t := &typedRun{s: s, sh: sh, r: r}
	expect := s.Expect().with(r.Expect)
	t.prompt = expect.Prompt
	line, err := t.line()
	if err != nil {
		return nil, err
	}
	x := s.newRun(r, LaneTerminal)
	x.class = sh.class
	t.x = x
	if err := s.claimTerminal(ctx, x); err != nil {
		s.discard(x)
		return nil, err
	}
	release := func() { s.releaseTerminal(x) }
	if err := t.ready(ctx, expect); err != nil {
		release()
		s.discard(x)
		return nil, err
	}
	tr, err := s.alive("exec")
	var w WriteResult
	if err == nil {
		w, err = s.send(ctx, tr, []byte(line+"\r"), epoch, 0)
	}
	t.off = w.Cursor
	if err == nil && w.TimedOut {
		err = &term.Error{Kind: term.ExecTimeout, Msg: "the terminal does not take what is typed; read what it shows, or send ctrl_c"}
	}
	if err != nil {
		release()
		s.discard(x)
		return nil, err
	}
	t.echo = []byte(line)
	ok := s.launch(x, func() (term.Exit, error) {
		defer release()
		return t.follow()
	})
	if !ok {
		release()
		return nil, s.endedError("exec")
	}
	return x, nil
}

// line returns what is typed for the command.
func (t *typedRun) line() (string, error) {
	command := t.r.Command
	unsupported := func(format string, args ...any) (string, error) {
		return "", &term.Error{Op: "exec", Session: t.s.id, Kind: term.Unsupported, Msg: fmt.Sprintf(format, args...)}
	}
	if t.r.Dir != "" || len(t.r.Env) > 0 || len(t.r.Stdin) > 0 {
		return unsupported("cwd, env and stdin belong to the channel lane; in the terminal, type cd and export, or pass lane channel")
	}
	marked := t.sh.class.takesMarker() && !t.r.NoMarker
	line := strings.TrimRight(command, "\r\n")
	switch {
	case !marked && strings.ContainsAny(line, "\r\n"):
		return unsupported("this terminal's far side is of class %s, which takes one line at a time; run the lines one by one", t.sh.class)
	case marked && (t.sh.class == ClassCsh || t.sh.class == ClassCmd) && strings.ContainsAny(line, "\r\n"):
		return unsupported("a command of several lines cannot be run in %s; join them with ;, or pass lane channel", t.sh.class)
	}
	if marked {
		m := newMarker(t.r.MarkerPrefix, t.r.MarkerSuffix)
		t.scan = &markerScanner{m: m}
		line = typedLine(t.sh, m, line)
	}
	if len(line) > maxTypedLine {
		return "", &term.Error{Op: "exec", Session: t.s.id, Kind: term.InvalidArgument, Msg: fmt.Sprintf("the command makes a line of %d bytes; a terminal may cut lines beyond %d, and what is left would run: pass lane channel, or put the command into a file and run that", len(line), maxTypedLine)}
	}
	return line, nil
}

// claimTerminal makes x the one command in the terminal. A command before it whose shell shows its prompt again,
// though no marker came, gives way.
func (s *Session) claimTerminal(ctx context.Context, x *run) error {
	for {
		s.mu.Lock()
		other, changed := s.typing, s.changed
		if other == nil {
			s.typing = x
			s.mu.Unlock()
			return nil
		}
		s.mu.Unlock()
		w, _ := other.waitsOn()
		if w == nil || w.Kind != WaitPrompt {
			return &term.Error{
				Op: "exec", Session: s.id, Kind: term.Busy,
				Msg:     fmt.Sprintf("a command is running in this terminal (exec_id %s); wait for it with exec_id, stop it with cancel, or pass lane channel to run this one beside the terminal", other.id),
				Details: &term.Details{WaitingFor: w},
			}
		}
		other.yield.Do(func() { close(other.yielded) })
		select {
		case <-changed:
		case <-ctx.Done():
			return &term.Error{Op: "exec", Session: s.id, Kind: term.Canceled, Msg: "canceled before anything was typed", Err: ctx.Err()}
		case <-s.ctx.Done():
			return s.endedError("exec")
		}
	}
}

// releaseTerminal lets the next command have the terminal.
func (s *Session) releaseTerminal(x *run) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.typing == x {
		s.typing = nil
		close(s.changed)
		s.changed = make(chan struct{})
	}
}

// ready refuses to type into anything but a prompt: not into a full-screen program, a pager, a question, a REPL,
// and no marker into a device's command line.
func (t *typedRun) ready(ctx context.Context, e Expect) error {
	s := t.s
	t.before = s.lastLine()
	if strings.TrimSpace(t.before) == "" && !s.untouched() { // the prompt is still to come, or there is none
		s.Read(ctx, ReadRequest{Cursor: Latest, WaitFor: anything, Timeout: promptWait})
		s.Read(ctx, ReadRequest{Cursor: Latest, Idle: quietStop, Timeout: quietPrompt})
		t.before = s.lastLine()
	}
	busy := func(w *term.Waiting, what string) error {
		return &term.Error{
			Op: "exec", Session: s.id, Kind: term.Busy,
			Msg:     fmt.Sprintf("%s, so nothing was typed; use ptyctl_session_io write and read, or pass lane channel", what),
			Details: &term.Details{WaitingFor: w},
		}
	}
	if s.modes().AltScreen {
		return busy(&term.Waiting{Kind: WaitEditor, Text: t.before}, "a full-screen program has the terminal")
	}
	line := t.before
	if s.untouched() { // a marker showed that the shell is ready, and nothing was typed since
		s.learn(line)
		t.before = s.learned()
		return nil
	}
	switch {
	case t.prompt != nil && t.prompt.MatchString(line):
		return nil
	case s.isLearned(line):
		return nil
	}
	if w := waitsFor(line, e.Pagers); w != nil {
		return busy(w, fmt.Sprintf("the terminal waits for something (%s: %q)", w.Kind, w.Text))
	}
	switch {
	case t.prompt != nil:
		return busy(&term.Waiting{Kind: WaitUnknown, Text: line}, fmt.Sprintf("the last line %q does not match expect.prompt_regex", line))
	case t.scan == nil:
		return nil // a device: its prompts are many; the line is typed as a person would
	case devicePrompt.MatchString(line):
		return busy(&term.Waiting{Kind: WaitPrompt, Text: line}, fmt.Sprintf("the last line %q looks like a network device's prompt (set class device, or expect.prompt_regex to confirm that it is a shell's)", line))
	case !shellPrompt.MatchString(line):
		return busy(&term.Waiting{Kind: WaitUnknown, Text: line}, fmt.Sprintf("the last line %q is no prompt", line))
	}
	return nil
}

// follow reads the stream until the command has ended.
func (t *typedRun) follow() (term.Exit, error) {
	still := time.NewTimer(quietPrompt)
	defer still.Stop()
	var idle *time.Timer
	var quiet <-chan time.Time
	if t.scan == nil {
		idle = time.NewTimer(t.quietTime())
		defer idle.Stop()
		quiet = idle.C
	}
	for {
		changed := t.s.buf.Changed()
		if t.advance() {
			still.Reset(quietPrompt)
			t.x.setWaiting(nil)
			if idle != nil {
				idle.Reset(t.quietTime())
			}
		}
		if t.scan != nil && t.scan.done {
			return t.marked(), nil
		}
		if t.s.buf.Stat().Closed {
			return t.closed()
		}
		if t.prompted() {
			t.x.how = DonePrompt
			return term.Exit{}, nil
		}
		select {
		case <-changed:
		case <-still.C:
			t.x.setWaiting(t.question())
		case <-quiet:
			t.x.how = DoneIdle
			return term.Exit{}, nil
		case <-t.x.interrupted:
			return t.afterInterrupt(), nil
		case <-t.x.yielded:
			t.x.how = DonePrompt
			return term.Exit{}, nil
		case <-t.x.ctx.Done():
			if t.s.ctx.Err() != nil { // the session, not the command's time, is over
				<-t.s.ended
				t.advance()
				return t.closed()
			}
			return t.stop(), nil
		}
	}
}

// marked is the outcome when the marker came: the shell is ready, whatever it shows.
func (t *typedRun) marked() term.Exit {
	t.x.how = DoneMarker
	t.s.mu.Lock()
	t.s.markedAt = t.s.count.tx.Load()
	t.s.mu.Unlock()
	return term.Exit{Known: true, Code: t.scan.status}
}

// quietTime is the silence that ends a command without marker.
func (t *typedRun) quietTime() time.Duration {
	if t.r.Idle > 0 {
		return t.r.Idle
	}
	return defaultQuiet
}

// advance takes what has arrived, and reports whether there was anything.
func (t *typedRun) advance() bool {
	sl := t.s.buf.At(t.off, 256<<10)
	if sl.Next == t.off {
		return false
	}
	for len(sl.Data) > 0 || sl.Dropped > 0 {
		t.x.lost += sl.Dropped
		t.off = sl.Next
		if t.scan != nil {
			t.emit(t.scan.feed(nil, sl.Data))
		} else {
			t.emit(t.withoutEcho(sl.Data))
		}
		if t.scan != nil && t.scan.done {
			break
		}
		sl = t.s.buf.At(t.off, 256<<10)
	}
	return true
}

// emit takes output of the command.
func (t *typedRun) emit(p []byte) {
	if t.stopping {
		t.held = append(t.held, p[:min(len(p), maxHead-min(len(t.held), maxHead))]...)
		return
	}
	_, _ = t.x.stdout.Write(p)
}

// release gives out what was held back, without its last line if that is the prompt.
func (t *typedRun) release(prompt bool) {
	if prompt {
		t.held = t.held[:bytes.LastIndexByte(t.held, '\n')+1]
	}
	_, _ = t.x.stdout.Write(t.held)
	t.held = nil
}

// withoutEcho removes the echo of the typed line from the start of the output, as far as it is there verbatim.
func (t *typedRun) withoutEcho(p []byte) []byte {
	for len(t.echo) > 0 && len(p) > 0 {
		if p[0] != t.echo[0] {
			t.echo = nil
			break
		}
		p, t.echo = p[1:], t.echo[1:]
		if len(t.echo) == 0 {
			p = []byte(strings.TrimPrefix(strings.TrimPrefix(string(p), "\r"), "\n"))
		}
	}
	return []byte(strings.ReplaceAll(string(p), "\r\n", "\n"))
}

// prompted reports whether the far side of a command without marker is ready again: the prompt that was given,
// or the line that stood there before, in the last line.
func (t *typedRun) prompted() bool {
	if t.scan != nil || len(t.echo) > 0 || t.off == 0 {
		return false
	}
	line := t.s.lastLine()
	switch {
	case line == "" || waitsFor(line, nil) != nil && !t.s.isLearned(line) && t.prompt == nil:
		return false
	case t.prompt != nil:
		return t.prompt.MatchString(line)
	}
	return line == t.before || sameStem(line, t.before)
}

// question says what the running command seems to wait for, or nil.
func (t *typedRun) question() *term.Waiting {
	if t.s.modes().AltScreen {
		return &term.Waiting{Kind: WaitEditor, Text: t.s.lastLine()}
	}
	if t.scan != nil && !t.scan.started {
		return nil
	}
	line := t.s.lastLine()
	if line != "" && (line == t.before || t.prompt != nil && t.prompt.MatchString(line)) {
		return &term.Waiting{Kind: WaitPrompt, Text: line}
	}
	return waitsFor(line, t.x.expect.Pagers)
}

// closed is the outcome of a command during which the terminal ended: it may have ended it itself.
func (t *typedRun) closed() (term.Exit, error) {
	<-t.s.ended
	t.s.mu.Lock()
	end := t.s.end
	t.s.mu.Unlock()
	t.x.how = DoneEOF
	if end.Exit.Known && end.Err == nil {
		return end.Exit, nil
	}
	return term.Exit{}, nil
}

// afterInterrupt waits for the prompt once somebody has pressed ctrl_c or ctrl_backslash: a shell that is
// interrupted gives up the whole line, and with it the marker.
func (t *typedRun) afterInterrupt() term.Exit {
	t.x.how = DonePrompt
	if e, ok := t.settled(interruptGrace * 3); ok {
		return e
	}
	return term.Exit{Killed: "unknown"}
}

// stop ends a command whose time is over, as a person would: ctrl_c, then ctrl_backslash.
func (t *typedRun) stop() term.Exit {
	for _, key := range []string{"\x03", "\x1c"} {
		t.s.press(key)
		if e, ok := t.settled(interruptGrace); ok {
			e.Killed = "yes"
			return e
		}
	}
	return term.Exit{Killed: "unknown"}
}

// settled waits, at most limit, until the marker or the prompt shows that the command is gone.
func (t *typedRun) settled(limit time.Duration) (e term.Exit, ok bool) {
	t.stopping = true
	defer func() { t.release(ok && !e.Known) }()
	timer := time.NewTimer(limit)
	defer timer.Stop()
	still := time.NewTimer(quietStop)
	defer still.Stop()
	for {
		changed := t.s.buf.Changed()
		t.advance()
		if t.scan != nil && t.scan.done {
			return t.marked(), true
		}
		select {
		case <-changed:
			still.Reset(quietStop)
		case <-still.C:
			if line := t.s.lastLine(); line == t.before || t.s.isLearned(line) || t.prompt != nil && t.prompt.MatchString(line) {
				return term.Exit{}, true
			}
		case <-timer.C:
			return term.Exit{}, false
		case <-t.s.ctx.Done():
			return term.Exit{}, false
		}
	}
}

// interrupted tells the command in the terminal that somebody has pressed ctrl_c or ctrl_backslash.
func (s *Session) interrupted() {
	s.mu.Lock()
	x := s.typing
	s.mu.Unlock()
	if x != nil {
		x.interrupt.Do(func() { close(x.interrupted) })
	}
}

// press sends a key past everything that waits to be written.
func (s *Session) press(key string) {
	s.mu.Lock()
	tr := s.transport
	s.mu.Unlock()
	s.spawn("exec", func() { _, _ = tr.Write([]byte(key)) })
}

// modes returns what the output has switched on.
func (s *Session) modes() vt.Modes {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.tracker.Modes()
}

// untouched reports whether nothing was typed since a marker last showed that the shell is ready.
func (s *Session) untouched() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.markedAt >= 0 && s.markedAt == s.count.tx.Load()
}

// typedResult completes the result of a command that has ended in the terminal.
func (s *Session) typedResult(x *run, res *ExecResult) {
	res.Done, res.Lost = x.how, x.lost
	seen := x.how == DonePrompt
	switch x.how {
	case DoneMarker:
	case DonePrompt, DoneIdle:
		res.Prompt = &seen
		res.ExitReason = "marker_not_seen"
		if !x.class.takesMarker() {
			res.ExitReason = "unsupported_shell"
		}
	default:
		res.Done = DoneEOF
		if !res.Exit.Known {
			res.ExitReason = "session_ended"
		}
	}
}
