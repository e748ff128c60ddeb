package sshx

import (
	"errors"
	"fmt"

	"ptyctl/sshx/plan"
	"ptyctl/sshx/reach"
	"ptyctl/term"
)

// commandError converts the end of a ProxyCommand in a step of a login to one that the caller can act on, and records
// that the program failed. It returns nil for other errors, and for an end that the server caused.
func commandError(h *plan.Hop, l *steps, step string, failure term.ConnectFailure, err error) error {
	program, ok := errors.AsType[*reach.CommandEnded](err)
	if !ok || program.Quiet() || step == stepAuth {
		return nil
	}
	l.commandEnded(program.Status())
	return &term.Error{
		Kind: term.ConnectFailed, Err: err,
		Msg:    fmt.Sprintf("%s cannot be reached: %v (%s)", h, program, h.Command.Where),
		Advice: commandAdvice(program.Path, program.Code), Facts: term.Facts{failure},
	}
}

// commandAdvice is the advice for a ProxyCommand that ended with code, which a shell sets for a
// program that it cannot start. path is the PATH in which it looked.
func commandAdvice(path string, code int) string {
	switch code {
	case 126:
		return "the shell may not run the program: correct its permissions, or its path in ssh_config"
	case 127:
		return "the shell did not find the program: install it, or give its whole path in ssh_config; PATH is " + path
	}
	return "run the command in a shell to see why it ends"
}
