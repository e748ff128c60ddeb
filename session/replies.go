package session

import (
	"bytes"
	"context"
	"errors"
	"sync/atomic"

	"ptyctl/session/answer"
	"ptyctl/session/prompt"
	"ptyctl/session/shell"
	"ptyctl/term"
)

// answers are a session's answers to queries of its output. They take turns with the input of callers, regardless of
// the lock: they answer a program, and are no input of a caller.
type answers struct {
	s      *Session
	sender *answer.Sender
	seen   atomic.Bool // a caller reads the screen

	reading atomic.Bool // the login shell reads answers at its prompt; see shellReads

	theirs atomic.Int64 // see TakenAt
}

func newAnswers(s *Session) *answers {
	a := &answers{s: s}
	a.sender = answer.New(a, func(f func()) bool { return s.group.spawn("reply", f) })
	return a
}

// asked answers queries that have just come, unless an attached person's terminal does. It never blocks, and draws
// nothing for queries that get no answer.
func (a *answers) asked(queries int) {
	s := a.s
	if s.o.PTY.NoAnswers {
		return
	}
	if q := s.window.queries(); q.Primary > 0 && q.Others >= leastOthers && !s.prompts.Typed() {
		a.reading.Store(true)
	}
	l, ok := s.lock.Table.Get(s.id)
	if attached := ok && l.Holder.Attached(); attached || a.sender.Refuses(queries) || a.atPrompt() {
		s.display.Unanswered()
		return
	}
	a.sender.Take(s.display.Replies(), queries, a.lines())
}

// mostEcho is how much output is looked at for the end of the line that was entered last.
const mostEcho = 4 << 10

// lines returns how many lines callers have entered. The complement of that, a negative number, says that the last one
// may not have been read: no line end of output has followed it. The program that reads it may end, and another one
// would take an answer for typed text. In a terminal without echo it is negative until a program shows a line end.
func (a *answers) lines() int {
	n, at := a.s.prompts.Entered()
	if at < 0 {
		return n
	}
	if echo := a.s.buf.At(at, mostEcho).Data; len(echo) < mostEcho && !bytes.ContainsRune(echo, '\n') {
		return ^n
	}
	return n
}

// leastOthers is how many queries fish sends beside DA1 before its first prompt, at least: for its keyboard, version and
// colours.
const leastOthers = 2

// atPrompt reports whether a shell is at its prompt: a later answer would become part of the next line there.
func (a *answers) atPrompt() bool {
	line := a.s.lane.LastLine()
	return !a.s.window.modes().AltScreen && a.s.prompts.Known(line) && !a.shellReads(line, "")
}

// shellReads reports whether the shell at the prompt line reads answers and puts none into the line that is edited. fish
// 4.3 asks at each prompt, and takes no input before DA1 is answered, for ten seconds at most. Such a shell has asked
// before its first prompt, or marks its prompts, as older ones do not. front is the program in front of the terminal;
// empty: not known.
func (a *answers) shellReads(line, front string) bool {
	class := a.s.prompts.ShellAt(line, "").Class
	if front != "" {
		class = shell.Named(front).Class
	}
	switch class {
	case shell.Fish:
		return a.reading.Load() || front != "" && a.s.window.marks().AtPrompt
	case "", shell.Unknown:
		return a.reading.Load()
	}
	return false
}

// Context, Touches, MayAnswer, Reply, Record and Flooded implement answer.Terminal.
func (a *answers) Context() context.Context { return a.s.life.ctx }
func (a *answers) Touches() int             { return a.s.prompts.Touches() }

// MayAnswer reports whether a program reads the terminal that is no shell at its prompt, no login and no device; and,
// where that is not known for sure, whether no line was entered since the query, which may have ended that program.
func (a *answers) MayAnswer(entered int) bool {
	s, line, alt := a.s, a.s.lane.LastLine(), a.s.window.modes().AltScreen
	about := s.link.Load().about
	class := s.prompts.ShellAt(line, "").Class
	device := s.o.Origin.Device != "" || s.Expect().Class == shell.Device || class == shell.Device ||
		!class.TakesMarker() && s.prompts.BeganAtDevice()
	inBand := about.AuthMethod == "" && about.Process == nil // the login, if there is one, is in the terminal
	switch {
	case inBand && !s.prompts.LoggedIn(), device && !a.seen.Load():
		return false
	case !alt && prompt.IsLogin(line):
		return false
	}
	front := laneTerminal{s}.Front()
	reader := shell.Named(front.Program).Class
	waits := !s.prompts.Known(line) && a.lines() == entered
	switch {
	case front.Program == "":
		return alt || waits || a.shellReads(line, "")
	case reader == shell.Unknown:
		return true
	case front.First && reader != shell.Fish && shell.Interactive(about.Process): // fish itself asks, before its first prompt
		return false
	}
	return waits || a.shellReads(line, front.Program)
}

// errNotNow says that an answer has come too late: nothing that may read it has the terminal any more.
var errNotNow = errors.New("an answer may not go out now")

// Reply hands an answer to the transport, when its turn comes. The previous holder of the turn may have changed the
// program that reads it.
func (a *answers) Reply(ctx context.Context, p []byte, entered int) error {
	s := a.s
	select {
	case s.writer.token <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-s.writer.token }()
	if !a.MayAnswer(entered) {
		return errNotNow
	}
	if front := (laneTerminal{s}).Front().Program; front == "" || !a.shellReads(s.lane.LastLine(), front) {
		s.prompts.Answered(p)
	}
	n, err := s.link.Load().Write(p)
	s.count.tx.Add(int64(n))
	return err
}

// Record puts answers on record.
func (a *answers) Record(r answer.Record) bool {
	e := term.Event{Verb: term.VerbReply, Data: r.Data, Size: r.Size, Detail: r.String()}
	if a.s.auth.Record(e) != nil {
		return false
	}
	a.s.auth.Observe(e)
	return true
}

// Flooded warns once.
func (a *answers) Flooded() {
	a.s.o.Logger.Warn("the far side asks the terminal more than is answered", "session", a.s.id)
}
