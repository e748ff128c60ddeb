package lab

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/hinshun/vt10x"

	"ptyctl/internal/lab/system"
	"ptyctl/internal/ptypair"
)

// A Person is a simulated user at a terminal that runs a command of ptyctl.
type Person struct {
	TB     testing.TB
	Cmd    *exec.Cmd
	TTY    *os.File      // our side of the terminal
	ended  chan struct{} // closed when the command has ended and all that it has shown is here
	status int           // of the command, then

	mu      sync.Mutex // guards the following
	screen  vt10x.Terminal
	seen    bytes.Buffer  // all that the command has shown
	replies bytes.Buffer  // the answers that programs drew from the terminal
	changed chan struct{} // closed and replaced when there is more
	stopped chan struct{} // not nil: the terminal takes nothing until it is closed
}

// AtTerminal runs ptyctl in a terminal of its own. The person leaves at the end of the test.
func (h *Home) AtTerminal(tb testing.TB, args ...string) *Person {
	tb.Helper()
	return sit(tb, h.Command(args...))
}

// CommandAtTerminal runs another program there.
func (h *Home) CommandAtTerminal(tb testing.TB, command ...string) *Person {
	tb.Helper()
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Env, cmd.Dir = h.Command().Env, h.Dir
	return sit(tb, cmd)
}

// StartAtTerminal starts a command in a terminal of 80 columns and 24 rows, and returns our side of it.
func StartAtTerminal(cmd *exec.Cmd) (*os.File, error) {
	master, tty, err := ptypair.Open()
	if err != nil {
		return nil, err
	}
	defer tty.Close()
	cmd.Stdin, cmd.Stdout, cmd.Stderr = tty, tty, tty
	cmd.SysProcAttr = system.AtTerminal(cmd.SysProcAttr)
	if err = ptypair.Resize(master, 80, 24); err == nil {
		err = cmd.Start()
	}
	if err != nil {
		_ = master.Close()
		return nil, err
	}
	return master, nil
}

func sit(tb testing.TB, cmd *exec.Cmd) *Person {
	tb.Helper()
	p := &Person{TB: tb, Cmd: cmd, ended: make(chan struct{}), changed: make(chan struct{})}
	p.screen = vt10x.New(vt10x.WithSize(80, 24), vt10x.WithWriter(&p.replies))
	p.Cmd.Env = append(p.Cmd.Env, "TERM=xterm-256color")
	var err error
	if p.TTY, err = StartAtTerminal(p.Cmd); err != nil {
		tb.Fatal(err)
	}
	go p.look()
	tb.Cleanup(func() {
		p.Resume()
		select {
		case <-p.ended:
		default:
			_ = p.Cmd.Process.Signal(syscall.SIGTERM)
			select {
			case <-p.ended:
			case <-time.After(Patience):
				_ = p.Cmd.Process.Kill()
				tb.Errorf("%v did not end after its signal", p.Cmd.Args)
				<-p.ended
			}
		}
		_ = p.TTY.Close()
		if text := p.Text(); strings.Contains(text, "DATA RACE") {
			tb.Errorf("the race detector reports:\n%s", text)
		}
		if tb.Failed() {
			tb.Logf(
				"the terminal of %v shows:\n%s\nit was sent, at the end: %q",
				p.Cmd.Args[1:],
				p.Picture(),
				Tail(p.Text(), 4<<10),
			)
		}
	})
	return p
}

// look feeds the command's output to the screen until the command has ended.
func (p *Person) look() {
	buf := make([]byte, 4096)
	for {
		p.mu.Lock()
		stopped := p.stopped
		p.mu.Unlock()
		if stopped != nil {
			<-stopped
		}
		n, err := p.TTY.Read(buf)
		p.mu.Lock()
		p.seen.Write(buf[:n])
		_, _ = p.screen.Write(buf[:n])
		close(p.changed)
		p.changed = make(chan struct{})
		p.mu.Unlock()
		if err != nil { // EIO: the command's side is closed
			break
		}
	}
	err := p.Cmd.Wait()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		p.status = exit.ExitCode()
	} else if err != nil {
		p.status = -1
	}
	close(p.ended)
}

// Pause makes the terminal stop taking output, as ctrl-s does.
func (p *Person) Pause() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stopped = make(chan struct{})
}

// Resume lets a stopped terminal take output again.
func (p *Person) Resume() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.stopped != nil {
		close(p.stopped)
		p.stopped = nil
	}
}

// Text is all that the command has shown.
func (p *Person) Text() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.seen.String()
}

// Picture is the screen as it is now.
func (p *Person) Picture() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.screen.String()
}

// Types presses keys.
func (p *Person) Types(text string) {
	p.TB.Helper()
	if _, err := p.TTY.WriteString(text); err != nil {
		p.TB.Fatal(err)
	}
}

// Sees waits until the command's output matches.
func (p *Person) Sees(pattern string) {
	p.TB.Helper()
	p.awaits("has not shown", pattern, p.Text)
}

// Showing waits until the screen matches.
func (p *Person) Showing(pattern string) {
	p.TB.Helper()
	p.awaits("does not show", pattern, p.Picture)
}

func (p *Person) awaits(what, pattern string, text func() string) {
	p.TB.Helper()
	re := regexp.MustCompile(pattern)
	limit := time.After(Patience)
	for {
		p.mu.Lock()
		changed := p.changed
		p.mu.Unlock()
		if re.MatchString(text()) {
			return
		}
		select {
		case <-changed:
		case <-p.ended:
			if !re.MatchString(text()) {
				p.TB.Fatalf("the terminal %s %q, and the command has ended with status %d:\n%s", what, pattern, p.status, text())
			}
			return
		case <-limit:
			p.TB.Fatalf("the terminal %s %q after %v:\n%s", what, pattern, Patience, text())
		}
	}
}

// Leaves waits for the end of the command.
func (p *Person) Leaves(status int) {
	p.TB.Helper()
	select {
	case <-p.ended:
		if p.status != status {
			p.TB.Errorf("the command has ended with status %d, want %d:\n%s", p.status, status, p.Text())
		}
	case <-time.After(Patience):
		p.TB.Fatalf("the command has not ended after %v", Patience)
	}
}

// WantSane checks that the terminal is as it was before the command.
func (p *Person) WantSane() {
	p.TB.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	if mode := p.screen.Mode(); mode != vt10x.ModeWrap {
		p.TB.Errorf("the terminal is left in the mode %b, want %b", mode, vt10x.ModeWrap)
	}
	if !p.screen.CursorVisible() {
		p.TB.Error("the cursor is left hidden")
	}
	if title := p.screen.Title(); title != "" {
		p.TB.Errorf("the title is %q", title)
	}
	if p.replies.Len() > 0 {
		p.TB.Errorf("the terminal was made to say %q", p.replies.String())
	}
	_, _ = p.screen.Write([]byte("\r\nz"))
	at := p.screen.Cursor()
	if g := p.screen.Cell(at.X-1, at.Y); g.Char != 'z' || g.FG != vt10x.DefaultFG || g.BG != vt10x.DefaultBG ||
		g.Mode != 0 {
		p.TB.Errorf("new text is drawn as %+v", g)
	}
}

// Resize changes the size of the terminal, as a window manager does.
func (p *Person) Resize(cols, rows int) {
	p.TB.Helper()
	p.mu.Lock()
	p.screen.Resize(cols, rows)
	p.mu.Unlock()
	if err := ptypair.Resize(p.TTY, cols, rows); err != nil {
		p.TB.Fatal(err)
	}
}
