package ptyx

import (
	"fmt"

	"ptyctl/term"
)

// about returns the description of the program for term.Description.
func (c command) about(pid int) term.Process {
	return term.Process{PID: pid, Argv: c.argv, Dir: c.dir, Title: c.title, Limits: c.limits}
}

// ofTerminal returns the description of a terminal of this machine with a program on it.
func ofTerminal(about term.Process, signal term.Support) term.Description {
	return term.Description{
		PTY: true, Process: &about,
		Capabilities: term.Capabilities{
			SplitStdoutStderr: term.No,
			ExitCode:          term.BestEffort,
			Resize:            term.Yes,
			Signal:            signal,
			ParallelExec:      term.No,
		},
	}
}

// Peer implements term.Peerer.
func (t *Terminal) Peer() term.Peer { return term.Peer{Protocol: "local"} }

// unknownSignal returns the error for a signal name that Signal does not accept.
func unknownSignal(name string) error {
	return &term.Error{
		Op:    "signal",
		Kind:  term.InvalidArgument,
		Msg:   fmt.Sprintf("signal %q does not exist; use INT, TERM, HUP, KILL or QUIT", name),
		Facts: term.Facts{term.ArgumentFault{Field: term.FieldSignal}},
	}
}
