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

	// Sandbox holds for every program.
	Sandbox Sandbox
}

// Open is the term.Dialer of this machine: it starts the program of t on a terminal. With the terminal disabled it returns
// a Program, which its Exec starts.
func (h Host) Open(ctx context.Context, t term.Target, _ term.Prompter, _ term.Approve) (term.Transport, error) {
	if err := ctx.Err(); err != nil {
		return nil, context.Cause(ctx)
	}
	pty := t.PTY.OrDefault()
	if pty.Disabled {
		pty.Term = "dumb"
	}
	c, err := h.command(t.Local, pty.Term)
	switch {
	case err != nil:
		return nil, err
	case pty.Disabled:
		return newProgram(c), nil
	}
	return startTerminal(c, pty)
}

var _ term.Dialer = Host{}.Open
