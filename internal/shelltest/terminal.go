//go:build unix

package shelltest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"

	"ptyctl/internal/ptypair"
)

// A Terminal is an interactive shell for typing. It expands history, so it must remember
// earlier lines.
type Terminal struct {
	w     *World
	cmd   *exec.Cmd
	tty   *os.File
	drain sync.WaitGroup

	mu  sync.Mutex // guards the following
	out beginning  // of the output since the last line
}

// errLost means that a shell did not return to its prompt.
var errLost = errors.New("the shell did not run the next line")

// Terminal starts an interactive shell. Close must be called.
func (w *World) Terminal(s Shell) (*Terminal, error) {
	t := &Terminal{w: w, cmd: exec.Command(s.typed[0], s.typed[1:]...)}
	// The shell must lead a session with a controlling terminal, or it has no job control.
	t.cmd.Env, t.cmd.Dir = w.env(), w.work
	t.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true, Credential: w.id}
	tty, slave, err := ptypair.Open()
	if err != nil {
		return nil, err
	}
	defer slave.Close()
	t.tty = tty
	if w.id != nil {
		_ = slave.Chown(nobody, nobody)
	}
	t.cmd.Stdin, t.cmd.Stdout, t.cmd.Stderr = slave, slave, slave
	if err := t.cmd.Start(); err != nil {
		_ = tty.Close()
		return nil, fmt.Errorf("start %s: %w", s.Name, err)
	}
	t.drain.Go(func() { _, _ = io.Copy(t, tty) })
	if err := t.settle(10 * time.Second); err != nil {
		t.Close()
		return nil, fmt.Errorf("%s: %w", s.Name, err)
	}
	if _, err := w.record(); err != nil {
		t.Close()
		return nil, err
	}
	return t, nil
}

// Close ends the shell and all processes that it has left.
func (t *Terminal) Close() {
	_ = t.tty.Close() // a hangup
	_ = syscall.Kill(-t.cmd.Process.Pid, syscall.SIGKILL)
	_ = t.cmd.Wait()
	t.drain.Wait()
}

// Write records the shell's output.
func (t *Terminal) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.out.Write(p)
}

// shown returns the output since the last call.
func (t *Terminal) shown() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	defer t.out.Reset()
	return t.out.String()
}

// Type types a line and waits until the shell is ready for the next one. If the shell
// does not become ready, Hung is set, and the Terminal must not be used any more.
func (t *Terminal) Type(ctx context.Context, line string) (Record, error) {
	t.shown()
	if _, err := t.tty.WriteString(line + "\r"); err != nil {
		return Record{}, err
	}
	// The shell has finished the line when it runs the sentinel.
	lost := t.settle(mostRun)
	r, err := t.w.record()
	r.Hung, r.Out = lost != nil, t.shown()
	return r, errors.Join(err, ctx.Err())
}

// settle types the name of a program that reports when it runs.
func (t *Terminal) settle(most time.Duration) error {
	if _, err := t.tty.WriteString("sentinel\r"); err != nil {
		return err
	}
	if err := t.w.sentinel.SetReadDeadline(time.Now().Add(most)); err != nil {
		return err
	}
	if n, err := t.w.sentinel.Read(make([]byte, 16)); n == 0 {
		return fmt.Errorf("%w: %w", errLost, err)
	}
	return nil
}
