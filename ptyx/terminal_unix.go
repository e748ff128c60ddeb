//go:build unix

package ptyx

import (
	"context"
	"os"
	"sync"
	"time"

	"ptyctl/internal/ptypair"
	"ptyctl/term"
)

// A Terminal is a program on a pseudo-terminal of its own.
type Terminal struct {
	pty     *pty
	process *process
	about   term.Process
	hangUp  sync.Once
	watcher sync.WaitGroup // the goroutine that ends the reader after the program
}

// startTerminal starts c on a new terminal.
func startTerminal(c command, size term.PTY) (*Terminal, error) {
	master, tty, err := openPTY(size.Cols, size.Rows)
	if err != nil {
		if ptypair.Exhausted(err) {
			return nil, &term.Error{
				Op: "open", Kind: term.LimitExceeded, Reason: term.ReasonTerminals, Err: err,
				Msg:    "the system has no pseudo-terminal left",
				Advice: "close one, or raise " + ptypair.Setting(),
				Facts:  term.Facts{term.LimitReached{Limit: term.LimitTerminals}},
			}
		}
		return nil, failure("open", "the system provided no terminal", err)
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

// watch ends the reader after the program. Until then it keeps the terminal open on
// the program's side, because a program that closes it, as a daemon does, has not
// ended.
func (t *Terminal) watch(tty *os.File) {
	<-t.process.exited
	_ = tty.Close()
	t.pty.drain()
}

// Read reads the output of the program and its children.
func (t *Terminal) Read(p []byte) (int, error) { return t.pty.read(p) }

// Write types p. If the program does not read, it waits until Close.
func (t *Terminal) Write(p []byte) (int, error) { return t.pty.write(p) }

// Resize sets the size of the window; the system sends SIGWINCH to the programs.
func (t *Terminal) Resize(cols, rows int) error { return t.pty.resize(cols, rows) }

// Signal implements term.Signaler. INT and QUIT reach the same processes as the
// keys: the terminal's foreground group. TERM, HUP and KILL reach the program as
// well.
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

// Wait implements term.Waiter. The reader's end comes after the program's, so the
// exit is known then. After Close it is known when the program has ended or was
// killed.
func (t *Terminal) Wait() (term.Exit, error) {
	if !t.process.await(0) && !t.process.await(2*hangupGrace) {
		return term.Exit{}, nil
	}
	return t.process.exit, nil
}

// Describe implements term.Describer.
func (t *Terminal) Describe() term.Description { return ofTerminal(t.about, term.Yes) }

// Close closes the terminal, for which the system sends HUP (tty_ioctl(4)), and
// ends the program and its children.
func (t *Terminal) Close() error {
	t.hangUp.Do(func() {
		_ = t.pty.close()
		t.process.signal(signals["HUP"], 0) // a program that has left its terminal gets no HUP from the system
		if t.process.end(hangupGrace) {
			t.watcher.Wait()
		}
	})
	return nil
}

// drainLimit is the most output read after the end of the program. A terminal holds
// at most 64 KiB (tty_buffer.c); more comes from a process that could not be ended.
const drainLimit = 256 << 10

// past is a deadline that has passed.
var past = time.Unix(1, 0)

var (
	_ term.Transport = (*Terminal)(nil)
	_ term.Signaler  = (*Terminal)(nil)
	_ term.Waiter    = (*Terminal)(nil)
	_ term.Describer = (*Terminal)(nil)
)
