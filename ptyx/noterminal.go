//go:build unix || windows

package ptyx

import (
	"io"
	"sync"

	"ptyctl/term"
)

// A Program is a program without a terminal. Exec runs it once; afterwards there is
// no output left to read.
type Program struct {
	command command
	done    chan struct{} // closed when the program has ended, or cannot start any more
	over    func()        // closes done, once

	mu      sync.Mutex // guards the following
	used    bool       // Exec or Close was called
	running running
	about   term.Process
	exit    term.Exit
}

// newProgram returns a Program that has not started yet.
func newProgram(c command) *Program {
	done := make(chan struct{})
	return &Program{command: c, about: c.about(0), done: done, over: sync.OnceFunc(func() { close(done) })}
}

// Peer implements term.Peerer.
func (*Program) Peer() term.Peer { return term.Peer{Protocol: "local"} }

// Read waits for the end of the program, because there is no terminal to read from.
func (g *Program) Read([]byte) (int, error) {
	<-g.done
	return 0, io.EOF
}

// Write always fails: the input is passed at the start.
func (g *Program) Write([]byte) (int, error) {
	return 0, &term.Error{
		Op:     "write",
		Kind:   term.Unsupported,
		Reason: term.ReasonNoTerminal,
		Msg:    "this program has no terminal to type into",
		Advice: "pass its input as ExecRequest.Stdin",
	}
}

// Resize always fails: there is no window.
func (g *Program) Resize(int, int) error {
	return &term.Error{Op: "resize", Kind: term.Unsupported, Msg: "this program has no terminal"}
}

// Wait implements term.Waiter.
func (g *Program) Wait() (term.Exit, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.exit, nil
}

// Describe implements term.Describer.
func (g *Program) Describe() term.Description {
	g.mu.Lock()
	defer g.mu.Unlock()
	about := g.about
	return term.Description{
		Process: &about,
		Capabilities: term.Capabilities{
			SplitStdoutStderr: term.Yes,
			ExitCode:          term.Yes,
			Resize:            term.No,
			Signal:            programSignals,
			ParallelExec:      term.No,
		},
	}
}

var (
	_ term.Transport = (*Program)(nil)
	_ term.Execer    = (*Program)(nil)
	_ term.Waiter    = (*Program)(nil)
	_ term.Describer = (*Program)(nil)
)
