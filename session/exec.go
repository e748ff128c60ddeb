package session

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"ptyctl/buffer"
	"ptyctl/internal/inorder"
	"ptyctl/quote"
	"ptyctl/session/access"
	"ptyctl/session/output"
	"ptyctl/session/text"
	"ptyctl/term"
)

// A Lane is the way a command is run.
type Lane string

// The lanes.
const (
	LaneAuto     Lane = "auto"     // channel while the terminal is untouched, then terminal
	LaneChannel  Lane = "channel"  // beside the terminal, with a true exit status; see term.Execer
	LaneTerminal Lane = "terminal" // typed into the terminal
)

// An ExecRequest is a command to run.
//
// A zero field takes the default named beside it.
type ExecRequest struct {
	Command string   // a line for the far side's shell
	Argv    []string // instead of Command: a program and its arguments, quoted so that no shell changes them
	Lane    Lane     // empty: LaneAuto
	Dir     string
	Env     []term.EnvVar
	Stdin   []byte
	Timeout time.Duration // the command's deadline, after which it is stopped; 0: a minute
	// Unattended replaces Timeout once the first call has returned with the command running: from then on the command
	// is stopped only when no call has waited for it for this long. Set it if Timeout is a mere default. 0: Timeout
	// stays.
	Unattended time.Duration
	Wait       time.Duration // the longest this call waits; 0: as long as Timeout
	MaxOutput  int           // most bytes per stream in the result; 0: 16 KiB
	Match      *Filter       // return only the lines that match; nil: all output. Its Max is MaxOutput.
	Expect     Expect        // overrides the session's
	// Grace is the time between TERM and KILL for a command in the channel lane that is stopped, and the longest that
	// its result waits to learn that it is gone. 0: KILL follows after 2 s, and the result does not wait.
	Grace time.Duration
	Queue bool // terminal lane: wait for the commands before this one, instead of Busy

	Secret ExecSecret // for the command; the zero value: none

	StopOnCancel bool // canceling a call that waits for the command stops it; otherwise it goes on to its deadline

	// Terminal lane only:
	Class        Class         // of the far side; empty: found out
	NoMarker     bool          // do not ask for the exit code
	MarkerPrefix string        // in place of the default marker; both or none
	MarkerSuffix string        //
	Pace         *Pace         // type its lines one by one; nil: they are if a device reads them
	Idle         time.Duration // without marker: the silence that ends the wait; 0: 2 s, or none with Expect.Prompt

	line   lineForm      // of Command
	secret *secretInput  // of Secret, once the command is permitted; nil: none
	input  io.ReadCloser // see RunRequest.Input
}

// A lineForm says how the line of a command is judged and written.
type lineForm struct {
	asWrites   bool  // its lines are judged and recorded as writes, each for itself; else all are, as this command
	writtenFor Class // the shell that it is written for; empty: as the caller gave it
	judgedFor  Class // the shell for which the Gate has judged it; empty: the Gate has not asked for the shell
}

// DoneReason is the reason for the end of an exec, or of the wait for it.
type DoneReason string

// The done reasons.
const (
	DoneExitStatus DoneReason = "exit_status"  // the far side reported how the command ended
	DoneMarker     DoneReason = "marker_seen"  // the shell printed the exit status
	DonePrompt     DoneReason = "prompt_seen"  // the far side is ready for the next command
	DoneIdle       DoneReason = "idle_reached" // nothing came for a while: the command may or may not have ended
	DoneEOF        DoneReason = "eof"          // the channel closed without such a report
	DoneStopped    DoneReason = "stopped"      // not all of its lines were typed: see ExecResult.Lines
	DoneTimeout    DoneReason = "timeout"      // the command's deadline passed, or it was canceled
	DoneRunning    DoneReason = "running"      // the command goes on after the call: continue with ExecResult.ID
)

// An Output is a stream of a command, cut to a budget.
type Output = output.Excerpt

// An ExecResult is the outcome of a command so far.
type ExecResult struct {
	ID     string // to continue, cancel or read more; empty if there is nothing more to get
	Lane   Lane
	Stdout Output
	Stderr Output
	// The lines of the two that match ContinueRequest.Match, nil without it. A stderr of at most 2,000 bytes is not
	// filtered: it says why a command has failed.
	StdoutLines *Filtered
	StderrLines *Filtered
	Exit        term.Exit
	ExitReason  string // why Exit is not known: "timeout", "canceled", "no_status", "running", "connection_lost",
	// "marker_not_seen", "unsupported_shell", "session_ended". A device and an unknown far side have no status to
	// report; "unsupported_shell" is a known shell that takes no marker.
	// WaitingFor is the question that a command in the terminal seems to ask, or the unfinished line at which it has
	// stalled; see package prompt for the kinds. With kind prompt, it has started a shell that waits for commands.
	WaitingFor *term.Waiting
	Prompt     *bool        // terminal lane: whether a prompt was seen at the end; nil: not looked for
	Lost       int64        // terminal lane: bytes that came too fast to be kept
	Pages      int          // terminal lane: how many pages of a pager were turned; see AutoPage
	Lines      *PasteResult // of a command that is typed line by line; nil: it is typed at once, or beside the terminal
	Marked     bool         // terminal lane: a marker ends the command, and ExecRequest.Idle has no effect
	Done       DoneReason
	Remaining  time.Duration // with DoneRunning: until the command is stopped, if no call waits for it
	Moved      bool          // ContinueRequest.Timeout came in time to replace the deadline
	TimedOut   bool
	Canceled   bool
	ErrorHints []string
	Duration   time.Duration

	cols int // the terminal's width
}

const (
	defaultExecTimeout = time.Minute
	defaultOutput      = 16 << 10

	// settle is how long a result waits, beyond the command's deadline, for proof that the command is gone. Some links
	// take half a second there and back.
	settle = time.Second

	// letGo is how long it waits for that where the session has ended: no far side is asked.
	letGo = 150 * time.Millisecond
)

// execs runs the commands of a session, in either lane.
type execs struct {
	s         *Session
	*commands // of all connections of the session
}

// Exec runs a command and waits for its end, at most r.Wait.
//
// A command that fails is no error: its exit status is in ExecResult.Exit. If the command goes on after r.Wait, Done
// is DoneRunning, and ContinueExec, CancelExec and ReadExec take the result's ID. An error means that no result
// exists; it is a *term.Error, for example Busy if the terminal is not ready for a command.
func (s *Session) Exec(ctx context.Context, r ExecRequest) (ExecResult, error) {
	if r.Command == "" {
		r.Command = quote.Show(r.Argv)
	}
	if r.Secret.Sudo {
		r.underSudo()
	}
	began := time.Now()
	d := s.auth.Begin(ctx, term.VerbExec, term.Event{Command: r.Command})
	r.Timeout = cmp.Or(r.Timeout, defaultExecTimeout)
	// Longer than the deadline, so that the result of a command that was stopped says whether it is gone.
	r.Wait = cmp.Or(r.Wait, r.Timeout+settle)
	x, epoch, err := s.execs.startExec(ctx, d, &r)
	inorder.Pass(ctx)
	func() {
		if x != nil {
			defer close(x.recorded)
		}
		d.End(err) // its end is an event of its own, however long it takes
	}()
	if err != nil {
		return ExecResult{}, err
	}
	defer s.execs.letGo(x)
	if x.lane == LaneChannel && r.Lane != LaneChannel {
		return s.execs.collectOrType(ctx, x, r, epoch)
	}
	return s.execs.collect(ctx, x, ContinueRequest{
		Wait: r.Wait - time.Since(began), MaxOutput: r.MaxOutput, Match: r.Match,
	})
}

// startExec starts a command in the lane that is meant, if that is permitted.
func (e *execs) startExec(ctx context.Context, d *access.Call, r *ExecRequest) (x *run, epoch uint64, err error) {
	s := e.s
	const op = "exec"
	if strings.TrimSpace(r.Command) == "" {
		return nil, 0, sessionError(op, s.id, term.InvalidArgument, "the command is empty; pass the command to run")
	}
	if len(r.Argv) > 0 && r.Argv[0] == "" {
		return nil, 0, sessionError(op, s.id, term.InvalidArgument,
			"the first word is empty; it is the program to run")
	}
	if strings.IndexByte(r.Command, 0) >= 0 {
		return nil, 0, &term.Error{
			Op:      op,
			Session: s.id,
			Kind:    term.InvalidArgument,
			Reason:  term.ReasonNulByte,
			Msg:     "the command holds a NUL byte, which no shell can take",
			Advice:  "pass such data as ExecRequest.Stdin",
		}
	}
	// A command that cannot run is refused before the Gate is asked: a person should not be asked to consent to it.
	if err := s.life.alive(op); err != nil {
		return nil, 0, err
	}
	lane, err := s.execs.chooseLane(*r)
	if err != nil {
		return nil, 0, err
	}
	d.Event.Detail, d.Types = string(lane), lane == LaneTerminal
	dir := r.Dir
	if dir == "" && lane == LaneChannel { // the folder of a shell in a terminal is not known
		dir = s.o.managed.dir
	}
	a := term.Action{
		Command: r.Command,
		Argv:    r.Argv,
		Dir:     dir,
		Env:     r.Env,
		Input:   inputOf(r),
	}
	if reads := s.shells.reads(lane, *r); reads != nil {
		a.FarSide = func(ctx context.Context) string {
			r.line.judgedFor = Class(reads(ctx))
			return string(r.line.judgedFor)
		}
	}
	var wanted term.SecretRequest
	if r.Secret.Name != "" {
		if wanted, err = e.mayHave(ctx, lane, r, a); err != nil {
			return nil, 0, err
		}
	}
	if epoch, err = d.Permit(ctx, a); err != nil {
		return nil, 0, err
	}
	// From here on the line is the one that was judged, in the syntax of the shell that it was judged for.
	if err := s.shells.asRuled(ctx, a, d.Ruling, lane, r); err != nil {
		return nil, 0, err
	}
	if r.Secret.Name != "" || lane != LaneTerminal { // no later call waits for a vault or a person, or for a channel
		inorder.Pass(ctx)
	}
	if r.Secret.Name != "" {
		if err := e.equip(ctx, lane, r, wanted, d.Ruling.Command); err != nil {
			return nil, 0, err
		}
	}
	if lane == LaneTerminal {
		x, err = s.execs.startTyped(ctx, *r, epoch)
	} else {
		var request term.ExecRequest
		if request, err = s.shells.forPowerShell(ctx, a, *r); err == nil {
			x, err = s.execs.start(*r, request, d.Event.Actor)
		}
	}
	if err != nil {
		r.secret.drop()
		return nil, 0, err
	}
	d.Event.Exec, d.Event.Size = x.id, x.sentBytes
	return x, epoch, nil
}

// inputOf returns the number of input bytes for the Gate. It is at least one for an input that comes later.
func inputOf(r *ExecRequest) int {
	if r.input != nil {
		return max(1, len(r.Stdin))
	}
	return len(r.Stdin)
}

// A ContinueRequest asks for more of a command.
type ContinueRequest struct {
	Wait      time.Duration // the longest this call waits; 0: not at all
	MaxOutput int           // most bytes per stream in the result; 0: as in ExecRequest
	New       bool          // return only the output that this caller's earlier results have not had
	From      *int64        // return stdout from this offset on, regardless of New; nil: according to New
	// Match makes the result hold only the lines that match. Its Max is MaxOutput. While the command runs, the result is
	// about whole lines: an unfinished last line is left for the next. Lines without room are, too. nil: the one that
	// this caller has given last, else that of the ExecRequest; Session.ReadExec has all lines.
	Match   *Filter
	Timeout time.Duration // stop the command that long from now, in place of its deadline; 0: as it is
	Look    bool          // the result does not count as the one that informs the command's own caller of its end
}

// ContinueExec waits on, at most r.Wait, for an exec that Exec left running, or returns its output again.
//
// Callers are identified by their Principal. To move the deadline, the caller must hold the lock if the session is
// locked; a command that is over, or is being stopped, has none to move, and ExecResult.Moved says so.
func (s *Session) ContinueExec(ctx context.Context, id string, r ContinueRequest) (ExecResult, error) {
	x, err := s.execs.find("exec", id)
	if err != nil {
		return ExecResult{}, err
	}
	defer s.execs.letGo(x)
	defer s.execs.used()()
	moved := false
	if r.Timeout > 0 && x.ctx.Err() == nil {
		d := s.auth.Begin(ctx, term.VerbSignal, term.Event{Detail: "exec deadline " + r.Timeout.String(), Exec: id})
		if _, err = d.Permit(ctx, term.Action{}); err == nil {
			moved = x.ctx.Err() == nil && x.deadline.Set(r.Timeout)
		}
		d.End(err)
		if err != nil {
			return ExecResult{}, err
		}
	}
	res, err := s.execs.collect(ctx, x, r)
	res.Moved = moved
	return res, err
}

// CancelExec stops a running exec and returns its output.
//
// The caller must hold the lock if the session is locked. A result with DoneRunning means that the command did not
// stop in time; it may still end later. Wait 0 is four seconds.
func (s *Session) CancelExec(ctx context.Context, id string, r ContinueRequest) (ExecResult, error) {
	d := s.auth.Begin(ctx, term.VerbSignal, term.Event{Detail: "cancel exec", Exec: id})
	x, err := s.execs.find("exec", id)
	if err == nil {
		defer s.execs.letGo(x)
		_, err = d.Permit(ctx, term.Action{})
	}
	if err == nil {
		x.cancel(errExecCanceled)
	}
	d.End(err)
	if err != nil {
		return ExecResult{}, err
	}
	r.Wait = cmp.Or(r.Wait, stopGrace+settle)
	return s.execs.collect(ctx, x, r)
}

// used says, at the beginning and at the end of a call that looks at a command, that an automatic session is in use.
func (e *execs) used() (done func()) {
	if !e.s.o.Origin.Auto {
		return func() {}
	}
	e.s.timeouts.touch()
	return e.s.timeouts.touch
}

// view returns a stream of a command as text.
func (e *execs) view(x *run, st *output.Stream) text.View {
	if x.typed == nil {
		return text.View{Buffer: st.Buffer, NoTerminal: true}
	}
	return text.View{Buffer: st.Buffer, Cols: e.s.window.cols()}
}

// stream returns a stream of the command by its name.
func (x *run) stream(op, session, name string) (*output.Stream, error) {
	switch name {
	case "stdout":
		return x.stdout, nil
	case "stderr":
		return x.stderr, nil
	}
	return nil, &term.Error{
		Op:      op,
		Session: session,
		Kind:    term.InvalidArgument,
		Msg:     fmt.Sprintf("stream %q does not exist; use stdout or stderr", name),
		Facts:   term.Facts{term.ArgumentFault{Field: term.FieldStream, Allowed: []string{"stdout", "stderr"}}},
	}
}

// ReadExec reads one stream ("stdout" or "stderr") of an exec, exactly as Read reads the terminal.
//
// Where the middle of the stream is no longer held, a read from a cursor in its start ends where that does, at the latest.
// Offsets count from the start of the stream. The output can be read while the command runs and, after its end, for
// Options.Retention.
func (s *Session) ReadExec(ctx context.Context, id, stream string, r ReadRequest) (Chunk, error) {
	x, err := s.execs.find("read", id)
	if err != nil {
		return Chunk{}, err
	}
	defer s.execs.letGo(x)
	defer s.execs.used()()
	x.deadline.Attend()
	defer x.deadline.Leave(false)
	st, err := x.stream("read", s.id, stream)
	if err != nil {
		return Chunk{}, err
	}
	in := source{view: s.execs.view(x, st), newest: &st.Newest, waiting: s.o.managed.limits.reads}
	if c, ok := in.readHead(st, r); ok {
		return c, nil
	}
	c := in.read(ctx, r)
	if c.Dropped > 0 && r.Cursor >= 0 { // the start is left out, and can be read
		c.Dropped -= min(c.Dropped, max(int64(len(st.Head(r.Cursor)))-r.Cursor, 0))
	}
	return c, nil
}

// readHead is read for a cursor in the start of a stream that its Buffer no longer has, though st has it. It stops at
// the end of that with ReasonFull: more is there. ok is false for other reads, and for one with ReadRequest.Last that
// goes on behind the start.
func (in source) readHead(st *output.Stream, r ReadRequest) (c Chunk, ok bool) {
	var head []byte
	if !r.Tail {
		head = st.Head(r.Cursor)
	}
	if head == nil {
		return Chunk{}, false
	}
	b := buffer.New(buffer.Options{MaxBytes: len(head)})
	_, _ = b.Write(head)
	in.view.Buffer = b
	r.WaitFor = nil // a question is at the end of the stream
	w := waiter{source: in, r: r, from: r.Cursor, conditions: true}
	w.follow()
	reason, end, next, stopped := w.look(b.Stat())
	if !stopped {
		if r.Last {
			return Chunk{}, false
		}
		reason, end, next = ReasonFull, int64(len(head)), int64(len(head))
	}
	if r.Last {
		c = last(b, r.Cursor, end, next, r.MaxBytes, reason)
	} else {
		c = extract(b, r.Cursor, end, next, reason)
	}
	c.view, c.Buffer = in.view, st.Buffer.Stat()
	if reason == ReasonFull {
		c.holdBackPartialRune(true)
		if c.EOF = c.Buffer.Closed && c.Next >= c.Buffer.End; c.EOF {
			c.Reason = ReasonEOF
		}
	}
	return c, true
}

// SearchExec is Search in one stream of an exec, as far as it is held: its start and its end.
func (s *Session) SearchExec(ctx context.Context, id, stream string, r SearchRequest) (SearchResult, error) {
	x, err := s.execs.find("search", id)
	if err != nil {
		return SearchResult{}, err
	}
	defer s.execs.letGo(x)
	defer s.execs.used()()
	st, err := x.stream("search", s.id, stream)
	if err != nil {
		return SearchResult{}, err
	}
	return s.execs.view(x, st).SearchIn(ctx, r, st.Held(0)), nil
}
