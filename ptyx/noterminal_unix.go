//go:build unix

package ptyx

import (
	"context"
	"io"
	"os"
	"sync"
	"time"

	"ptyctl/term"
)

// running is a program that has started; nil before.
type running = *process

// programSignals is whether Program implements term.Signaler.
const programSignals = term.Yes

// Exec implements term.Execer for one call, which starts the program. It uses only
// Stdin, Input and Grace of r.
func (g *Program) Exec(ctx context.Context, r term.ExecRequest, stdout, stderr io.Writer) (term.Exit, error) {
	defer r.CloseInput()
	g.mu.Lock()
	if g.used {
		g.mu.Unlock()
		return term.Exit{}, &term.Error{
			Op:     "exec",
			Kind:   term.Unsupported,
			Reason: term.ReasonOneProgram,
			Msg:    "this session is one program without a terminal, which has already started",
			Advice: "start another one",
		}
	}
	g.used = true
	g.mu.Unlock()
	ctx, abandon := context.WithCancelCause(ctx) // if a writer of the caller panics
	defer abandon(nil)
	exit, err := g.run(ctx, r, term.SafeWriter(stdout, abandon), term.SafeWriter(stderr, abandon))
	if err != nil { // it never ran: the end of Read would hide the reason from a caller that waits for both
		return exit, err
	}
	defer g.over()
	err = term.WriterFailure(ctx)
	g.mu.Lock()
	g.exit = exit
	g.mu.Unlock()
	return exit, err
}

// run starts the program and copies its streams until it has ended.
func (g *Program) run(ctx context.Context, r term.ExecRequest, stdout, stderr io.Writer) (term.Exit, error) {
	c := g.command
	ours, theirs, err := openPipes(len(r.Stdin) > 0 || r.Input != nil)
	if err != nil {
		return term.Exit{}, failure("exec", "cannot create pipes for the program", err)
	}
	defer closeFiles(ours)
	p, err := start(c, theirs[0], theirs[1], theirs[2], false)
	closeFiles(theirs)
	if err != nil {
		return term.Exit{}, err
	}
	g.mu.Lock()
	g.running, g.about = p, c.about(p.pid)
	g.mu.Unlock()

	var input, output sync.WaitGroup
	if ours[0] != nil {
		input.Go(func() {
			r.WriteInput(ours[0])
			_ = ours[0].Close()
		})
	}
	output.Go(func() { _, _ = io.Copy(stdout, ours[1]) })
	output.Go(func() { _, _ = io.Copy(stderr, ours[2]) })
	killed := p.obey(ctx, r.Grace)
	if ours[0] != nil {
		_ = ours[0].Close()
	}
	r.CloseInput()
	input.Wait()
	awaitOutput(&output, ours)
	if killed == "unknown" {
		return term.Exit{Started: true, Killed: killed}, nil
	}
	exit := p.exit
	exit.Killed = killed
	if killed != "" {
		exit.Suspected = ""
	}
	return exit, nil
}

// obey waits for the end of the process, and ends it when ctx ends: TERM first, and
// KILL after the grace.
func (p *process) obey(ctx context.Context, grace time.Duration) (killed string) {
	select {
	case <-p.exited:
		return ""
	case <-ctx.Done():
	}
	if grace <= 0 {
		grace = defaultGrace
	}
	p.signal(signals["TERM"], 0)
	if p.end(grace) {
		return "yes"
	}
	return "unknown"
}

// awaitOutput waits until all output is copied. Only a process that could not be
// killed may still have the pipes open, so the wait is limited.
func awaitOutput(output *sync.WaitGroup, ours []*os.File) {
	stop := time.AfterFunc(time.Second, func() { closeFiles(ours) })
	defer stop.Stop()
	output.Wait()
}

// openPipes returns both ends of the pipes for standard output and error, and for
// input if there is any.
func openPipes(input bool) (ours, theirs []*os.File, err error) {
	defer func() {
		if err != nil {
			closeFiles(ours)
			closeFiles(theirs)
		}
	}()
	var r, w *os.File
	if input {
		r, w, err = os.Pipe()
	} else {
		r, err = os.Open(os.DevNull)
	}
	if err != nil {
		return nil, nil, err
	}
	ours, theirs = []*os.File{w}, []*os.File{r}
	for range 2 {
		if r, w, err = os.Pipe(); err != nil {
			return ours, theirs, err
		}
		ours, theirs = append(ours, r), append(theirs, w)
	}
	return ours, theirs, nil
}

// closeFiles closes the files that are not nil.
func closeFiles(files []*os.File) {
	for _, f := range files {
		if f != nil {
			_ = f.Close()
		}
	}
}

// Signal implements term.Signaler: it sends the signal to the program and its
// process group.
func (g *Program) Signal(_ context.Context, name string) error {
	sig, ok := signals[name]
	if !ok {
		return unknownSignal(name)
	}
	g.mu.Lock()
	p := g.running
	g.mu.Unlock()
	if p != nil {
		p.signal(sig, 0)
	}
	return nil
}

// Close ends the program, with TERM and then KILL. A program that has not started
// never will.
func (g *Program) Close() error {
	g.mu.Lock()
	p := g.running
	g.used = true
	g.mu.Unlock()
	if p == nil {
		g.over()
		return nil
	}
	if !p.await(0) { // else Exec says that it is over, once its output is copied
		p.signal(signals["TERM"], 0)
		p.end(hangupGrace)
	}
	return nil
}

var _ term.Signaler = (*Program)(nil)
