package ptyx

import (
	"context"
	"time"

	"ptyctl/term"
)

// defaultGrace is the time between TERM and KILL for a program. Close of a terminal
// allows less.
const defaultGrace = 2 * time.Second

// A Host starts programs on this machine. The zero value is ready to use.
type Host struct {
	// Inherit lists variables that programs get from this process's environment, in
	// addition to PATH, HOME, USER and LANG. A * at the end matches any rest, for
	// example "LC_*".
	Inherit []string

	// Limits apply to every program; a call may only lower them.
	Limits term.Limits

	// Sandbox applies to every program.
	Sandbox Sandbox

	// EndFirst has the system end programs, and not this process, when it runs out of memory (Linux).
	EndFirst bool
}

// Open is the term.Dialer of this machine: it starts the program of t on a
// terminal. If the terminal is disabled it returns a Program, which starts at its
// Exec.
func (h Host) Open(ctx context.Context, t term.Target, _ term.Prompter, _ term.Approve) (term.Transport, error) {
	if err := ctx.Err(); err != nil {
		return nil, context.Cause(ctx)
	}
	pty := t.PTY.OrDefault()
	if pty.Disabled {
		pty.Term = "dumb"
	}
	c, err := h.command(term.EnvironmentFrom(ctx), t.Local, pty.Term)
	switch {
	case err != nil:
		return nil, err
	case pty.Disabled:
		return newProgram(c), nil
	}
	return startTerminal(c, pty)
}

var _ term.Dialer = Host{}.Open
