package ptyx

import (
	"context"
	"time"

	"ptyctl/term"
)

// defaultGrace is how long a program may take to end when it is told to, before it is killed. A terminal's Close has less.
const defaultGrace = 2 * time.Second

// A Host starts programs on this machine. The zero value works.
type Host struct {
	// Inherit are the names of variables that programs get from this process's environment, besides PATH, HOME, USER and
	// LANG. A * at the end of a name stands for any rest.
	Inherit []string

	// Limits hold for every program; a call may ask for less.
	Limits term.Limits
}

// Open is the term.Dialer of this machine: it starts the program of t on a terminal. Without a program, and with the
// terminal disabled, it returns a Program, whose Exec says what to run.
func (h Host) Open(ctx context.Context, t term.Target, _ term.Prompter) (term.Transport, error) {
	if err := ctx.Err(); err != nil {
		return nil, context.Cause(ctx)
	}
	switch {
	case t.PTY.Disabled && len(t.Local.Argv) == 0:
		return newProgram(h, t.Local.Title), nil
	case t.PTY.Disabled:
		return nil, &term.Error{Op: "open", Kind: term.Unsupported, Msg: "a local session has a terminal; run a program without one with ptyctl_run"}
	}
	pty := t.PTY.OrDefault()
	c, err := h.command(t.Local, pty.Term)
	if err != nil {
		return nil, err
	}
	return startTerminal(c, pty)
}

var _ term.Dialer = Host{}.Open
