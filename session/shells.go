package session

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"sync"
	"time"

	"ptyctl/quote"
	"ptyctl/session/marker"
	"ptyctl/session/shell"
	"ptyctl/term"
)

// A Class is the kind of shell that reads the lines typed into a terminal; see package shell.
type Class = shell.Class

// The classes.
const (
	ClassPosix      = shell.Posix
	ClassFish       = shell.Fish
	ClassCsh        = shell.Csh
	ClassPowerShell = shell.PowerShell
	ClassCmd        = shell.Cmd
	ClassDevice     = shell.Device  // the command line of a network device
	ClassUnknown    = shell.Unknown // nothing is known; nothing is assumed
)

// shells finds the shell that reads the lines of a session's commands.
type shells struct{ s *Session }

// farSide returns the shell that reads the lines of a command. A class in the call wins, then a shell that a marker has
// shown at this prompt, then the class that the session expects, then the login shell. Only the shell has a name, which
// limits the length of a line, so the login shell is asked for it even if a class is expected. A device is never asked.
func (k *shells) farSide(ctx context.Context, asked, expected Class) shell.Shell {
	s := k.s
	if asked == "" && expected == ClassDevice {
		asked = expected
	}
	sh := s.shells.shellOf(ctx, asked)
	shown := sh.Name == "" && sh.Class.TakesMarker()
	if asked == "" && expected != "" && sh.Class != expected && !shown {
		sh = shell.Shell{Class: expected}
	}
	return sh
}

// classLimit is how long the question for the shell may take.
const classLimit = 5 * time.Second

// shellOf returns the shell at the terminal's far side: the class that the caller gives, else the shell known for
// this prompt, else the login shell. The login shell is asked over a channel of its own. A terminal without such a
// channel is never asked, because a device might take the question for a command.
func (k *shells) shellOf(ctx context.Context, asked Class) shell.Shell {
	s := k.s
	if sh := s.prompts.ShellAt(s.lane.LastLine(), asked); sh.Class != "" {
		return sh
	}
	return s.shells.loginShell(ctx)
}

// loginShell returns the shell that runs commands beside the terminal: the one found before, or the far side's answer
// over a channel of its own.
func (k *shells) loginShell(ctx context.Context) shell.Shell {
	s := k.s
	if known := s.prompts.Login(); known.Class != "" {
		return known
	}
	l := s.link.Load()
	found := shell.Shell{Class: ClassUnknown}
	if l == nil || l.execer == nil {
		return found
	}
	ctx, cancel := context.WithTimeout(ctx, classLimit)
	defer cancel()
	var out bytes.Buffer
	exit, err := l.execer.Exec(
		ctx,
		term.ExecRequest{Command: "echo $SHELL"},
		&limitedWriter{w: &out, left: 512},
		&limitedWriter{},
	)
	if err != nil || ctx.Err() != nil {
		return found // not an answer: ask again next time
	}
	if exit.OK() {
		found = shell.FromAnswer(out.Bytes())
	}
	s.prompts.SetLogin(found)
	return found
}

// A limitedWriter keeps the first bytes and drops the rest.
type limitedWriter struct {
	w    *bytes.Buffer
	left int
}

// Write keeps the first bytes up to the limit and accepts the rest without keeping it, so that the far side is never
// blocked.
func (l *limitedWriter) Write(p []byte) (int, error) {
	if n := min(l.left, len(p)); n > 0 {
		l.w.Write(p[:n])
		l.left -= n
	}
	return len(p), nil
}

// reads returns a function that names the shell of a command for the Gate. It answers with the shell found; the
// caller's claim counts only if none is known, and only if it claims a class without quoting. Nil: no shell reads the
// command.
func (k *shells) reads(lane Lane, r ExecRequest) func(context.Context) string {
	s := k.s
	if lane == LaneChannel && s.o.managed.program {
		return nil
	}
	var once sync.Once // a command judged for one shell must not be typed to another that came meanwhile
	var class Class
	return func(ctx context.Context) string {
		once.Do(func() {
			claimed := r.Class
			if expected := s.Expect().with(r.Expect).Class; claimed == "" {
				claimed = expected
			}
			class = s.shells.found(ctx, lane, claimed).Class
			if lane == LaneChannel && k.encodes(r, claimed) && !quote.Known(string(class)) {
				class = ClassPowerShell
			}
		})
		return string(class)
	}
}

// encodes reports whether a command in the channel lane is passed to PowerShell, as far as its caller decides: it names
// that class. A far side that is known to have another shell of Unix gets the command as it is.
func (k *shells) encodes(r ExecRequest, claimed Class) bool {
	return claimed == ClassPowerShell && r.Secret.Name == ""
}

// forPowerShell returns the request with a line that has PowerShell run the command, if the Gate judged it as that.
func (k *shells) forPowerShell(ctx context.Context, a term.Action, r ExecRequest) (term.ExecRequest, error) {
	s := k.s
	request := term.ExecRequest{Command: r.Command, Dir: r.Dir, Env: r.Env, Stdin: r.Stdin, Input: r.input, Grace: r.Grace}
	claimed := cmp.Or(r.Class, s.Expect().with(r.Expect).Class)
	if a.FarSide == nil || !k.encodes(r, claimed) || Class(a.FarSide(ctx)) != ClassPowerShell {
		return request, nil
	}
	program := "powershell.exe"
	if s.prompts.Login().Name == "pwsh" {
		program = "pwsh"
	}
	env := make([]string, len(r.Env))
	for i, e := range r.Env {
		env[i] = e.Name + "=" + e.Value
	}
	line, err := marker.PowerShell(program, r.Command, r.Dir, env)
	if err != nil {
		return request, &term.Error{Op: "exec", Session: s.id, Kind: term.InvalidArgument, Msg: err.Error(), Err: err}
	}
	request.Command, request.Dir, request.Env = line, "", nil
	return request, nil
}

// found returns the shell that reads a line in a lane. A device is never asked: if the session expects one and no
// other shell is known, that is the answer.
func (k *shells) found(ctx context.Context, lane Lane, claimed Class) shell.Shell {
	s := k.s
	known := s.prompts.Login()
	switch {
	case (known.Class == "" || known.Class == ClassUnknown) && (claimed == ClassDevice || claimed == ClassUnknown):
		return shell.Shell{Class: claimed}
	case lane == LaneChannel:
		return s.shells.loginShell(ctx)
	}
	return s.shells.shellOf(ctx, "")
}

// asRuled changes the request to the command to run: the Gate's, or else the words that the caller gave, quoted.
func (k *shells) asRuled(ctx context.Context, a term.Action, ruling term.Ruling, lane Lane, r *ExecRequest) error {
	s := k.s
	if a.FarSide == nil || ruling.Command == "" && r.Argv == nil {
		return nil
	}
	class := Class(a.FarSide(ctx))
	if r.Command = ruling.Command; r.Command == "" {
		line, err := quote.Line(string(class), r.Argv)
		if err != nil {
			return &term.Error{
				Op:      "exec",
				Session: s.id,
				Kind:    term.Unsupported,
				Msg: "these words cannot be run one by one here: " + err.Error() + " (the far side is of class " + string(
					class,
				) + "); give a command line instead",
				Err: err,
			}
		}
		r.Command = line
	}
	r.line.writtenFor = class
	if lane == LaneTerminal && quote.Known(string(class)) { // regardless of the caller's claim
		r.Class = class
	}
	return nil
}

// beside returns an advice that is about the channel lane; empty if the session has none.
func (e *execs) beside(advice string) string {
	s := e.s
	if !s.execs.hasChannel() {
		return ""
	}
	return advice
}

// hasChannel reports whether the session has a channel lane.
func (e *execs) hasChannel() bool {
	s := e.s
	l := s.link.Load()
	return l != nil && l.execer != nil
}

// chooseLane says how a command is run: in the terminal once something was typed there, because the caller then
// means there, with its directory and environment; until then beside it. A device that is expected to have prompts and
// pagers is typed to: many have one channel alone, and end the connection with the first command on another.
func (e *execs) chooseLane(r ExecRequest) (Lane, error) {
	s := e.s
	typed := s.writer.typed()
	can, class := e.hasChannel(), s.Expect().with(r.Expect).Class
	switch r.Lane {
	case LaneTerminal:
		return LaneTerminal, nil
	case LaneChannel:
		if !can {
			return "", &term.Error{
				Op:      "exec",
				Session: s.id,
				Kind:    term.Unsupported,
				Reason:  term.ReasonNoChannelLane,
				Msg:     "this session cannot run commands beside its terminal",
				Advice:  "use LaneTerminal",
			}
		}
		return LaneChannel, nil
	case "", LaneAuto:
		// A prefix and a suffix are for the marker of a typed line, so they ask for the terminal.
		if s.life.typeless() {
			return LaneChannel, nil
		}
		if typed || !can || r.MarkerPrefix != "" || r.MarkerSuffix != "" || class == ClassDevice {
			return LaneTerminal, nil
		}
		return LaneChannel, nil
	}
	return "", &term.Error{
		Op:      "exec",
		Session: s.id,
		Kind:    term.InvalidArgument,
		Msg:     fmt.Sprintf("lane %q does not exist; use auto, channel or terminal", r.Lane),
		Facts: term.Facts{term.ArgumentFault{
			Field: term.FieldLane, Allowed: []string{string(LaneAuto), string(LaneChannel), string(LaneTerminal)},
		}},
	}
}
