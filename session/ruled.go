package session

import (
	"context"
	"sync"

	"ptyctl/quote"
	"ptyctl/session/shell"
	"ptyctl/term"
)

// reads says what reads the line of a command, for the Gate. It answers with what was found out; what the caller claims
// counts only where nothing is known, and only if it claims a class without quoting. Nil: no shell reads the command.
func (k *shells) reads(lane Lane, r ExecRequest) func(context.Context) string {
	s := k.s
	if lane == LaneChannel && s.o.managed.program {
		return nil
	}
	var once sync.Once // what is judged for one shell is not to be typed to another that came meanwhile
	var class Class
	return func(ctx context.Context) string {
		once.Do(func() {
			claimed := r.Class
			if expected := s.Expect().with(r.Expect).Class; claimed == "" {
				claimed = expected
			}
			class = s.shells.found(ctx, lane, claimed).Class
		})
		return string(class)
	}
}

// found returns the class of what reads a line in a lane. A device is never asked: if one is expected and nothing else is
// known, that is the answer.
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

// asRuled makes the request what is run: what the Gate says, or else the words that the caller gave, quoted.
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
	r.writtenFor = class
	if lane == LaneTerminal && quote.Known(string(class)) { // whatever the caller says of it
		r.Class = class
	}
	return nil
}
