//go:build unix

package ptyx

import (
	"context"
	"os"
	"sync"
	"time"

	"ptyctl/term"
)

// A Terminal is a program on a pseudo-terminal of its own.
type Terminal struct {
	pty     *pty
	process *process
	about   term.Process
	hangUp  sync.Once
	watcher sync.WaitGroup // the goroutine that tells the reader of the program's end
}

// startTerminal starts c on a new terminal.
func startTerminal(c command, size term.PTY) (*Terminal, error) {
	master, tty, err := openPTY(size.Cols, size.Rows)
	if err != nil {
		return nil, &term.Error{
			Op:   "open",
			Kind: term.IOError,
			Msg:  "no terminal could be had from the system: " + err.Error() + "; close one that is no longer needed",
			Err:  err,
		}
	}
	p, err := start(c, tty, tty, tty, true)
	if err != nil {
		_ = tty.Close()
		_ = master.close()
		return nil, err
	}
	t := &Terminal{pty: master, process: p, about: c.about(p.pid)}
	t.watcher.Go(func() { t.watch(tty) })
	return t, nil
}

// watch lets the reader come to an end when the program has. Until then the terminal is kept open on the program's side:
// one that closes it, as a daemon does, has not ended.
func (t *Terminal) watch(tty *os.File) {
	<-t.process.exited
	_ = tty.Close()
	t.pty.drain()
}

// Read reads what the program, and what it has started, write to the terminal.
func (t *Terminal) Read(p []byte) (int, error) { return t.pty.read(p) }

// Write types. It waits for a program that does not read, until Close.
func (t *Terminal) Write(p []byte) (int, error) { return t.pty.write(p) }

// Resize sets the size of the window, of which the system tells the programs (SIGWINCH).
func (t *Terminal) Resize(cols, rows int) error { return t.pty.resize(cols, rows) }

// Signal implements term.Signaler. INT and QUIT go where the keys would send them, to whatever has the terminal's
// foreground; TERM, HUP and KILL to the program as well.
func (t *Terminal) Signal(_ context.Context, name string) error {
	sig, ok := signals[name]
	if !ok {
		return unknownSignal(name)
	}
	front := t.pty.foreground()
	if (name == "INT" || name == "QUIT") && front > 1 {
		t.process.signalGroup(sig, front)
		return nil
	}
	t.process.signal(sig, front)
	return nil
}

// Wait implements term.Waiter. The reader is told of the end after the process has ended, so that its exit is known then;
// after Close it is known when the program has obeyed, or was killed.
func (t *Terminal) Wait() (term.Exit, error) {
	if !t.process.await(0) && !t.process.await(2*hangupGrace) {
		return term.Exit{}, nil
	}
	return t.process.exit, nil
}

// Describe implements term.Describer.
func (t *Terminal) Describe() term.Description {
	about := t.about
	return term.Description{
		PTY: true, Process: &about,
		Capabilities: term.Capabilities{
			SplitStdoutStderr: term.No,
			ExitCode:          term.BestEffort,
			Resize:            term.Yes,
			Signal:            term.Yes,
			ParallelExec:      term.No,
		},
	}
}

// Close takes the terminal away, which makes the system send HUP (tty_ioctl(4)), and ends the program and what it has
// started.
func (t *Terminal) Close() error {
	t.hangUp.Do(func() {
		_ = t.pty.close()
		t.process.signal(signals["HUP"], 0) // a program that has left its terminal gets none from the system
		if t.process.end(hangupGrace) {
			t.watcher.Wait()
		}
	})
	return nil
}

// drainLimit bounds what is read after the end of the program: more than a terminal ever holds (tty_buffer.c, 64 KiB) comes
// from somebody who could not be ended.
const drainLimit = 256 << 10

// past is a deadline that has passed.
var past = time.Unix(1, 0)

var (
	_ term.Transport = (*Terminal)(nil)
	_ term.Signaler  = (*Terminal)(nil)
	_ term.Waiter    = (*Terminal)(nil)
	_ term.Describer = (*Terminal)(nil)
)
