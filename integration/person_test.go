package integration

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

	"github.com/creack/pty"
	"github.com/hinshun/vt10x"
)

// A person is somebody at a terminal, in which a command of ptyctl runs.
type person struct {
	t      testing.TB
	cmd    *exec.Cmd
	tty    *os.File      // our side of the terminal
	ended  chan struct{} // closed when the command has ended and all that it has shown is here
	status int           // of the command, then

	mu      sync.Mutex // guards the following
	screen  vt10x.Terminal
	seen    bytes.Buffer  // all that the command has shown
	replies bytes.Buffer  // what the terminal was made to answer
	changed chan struct{} // closed and replaced when there is more
	stopped chan struct{} // not nil: the terminal takes nothing until it is closed
}

// sit runs ptyctl in a terminal of its own. The person leaves at the end of the test.
func (h *home) sit(tb testing.TB, args ...string) *person {
	tb.Helper()
	return sit(tb, h.command(args...))
}

// sitAt runs another program there.
func (h *home) sitAt(tb testing.TB, command ...string) *person {
	tb.Helper()
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Env, cmd.Dir = h.command().Env, h.dir
	return sit(tb, cmd)
}

func sit(tb testing.TB, cmd *exec.Cmd) *person {
	tb.Helper()
	p := &person{t: tb, cmd: cmd, ended: make(chan struct{}), changed: make(chan struct{})}
	p.screen = vt10x.New(vt10x.WithSize(80, 24), vt10x.WithWriter(&p.replies))
	p.cmd.Env = append(p.cmd.Env, "TERM=xterm-256color")
	var err error
	if p.tty, err = pty.StartWithSize(p.cmd, &pty.Winsize{Cols: 80, Rows: 24}); err != nil {
		tb.Fatal(err)
	}
	go p.look()
	tb.Cleanup(func() {
		p.goOn()
		select {
		case <-p.ended:
		default:
			_ = p.cmd.Process.Signal(syscall.SIGTERM)
			select {
			case <-p.ended:
			case <-time.After(patience):
				_ = p.cmd.Process.Kill()
				tb.Errorf("%v did not end when it was told to", p.cmd.Args)
				<-p.ended
			}
		}
		_ = p.tty.Close()
		if text := p.text(); strings.Contains(text, "DATA RACE") {
			tb.Errorf("the race detector reports:\n%s", text)
		}
		if tb.Failed() {
			tb.Logf(
				"the terminal of %v shows:\n%s\nit was sent, at the end: %q",
				p.cmd.Args[1:],
				p.picture(),
				tail(p.text(), 4<<10),
			)
		}
	})
	return p
}

// look shows what the command sends, until it has ended.
func (p *person) look() {
	buf := make([]byte, 4096)
	for {
		p.mu.Lock()
		stopped := p.stopped
		p.mu.Unlock()
		if stopped != nil {
			<-stopped
		}
		n, err := p.tty.Read(buf)
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
	err := p.cmd.Wait()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		p.status = exit.ExitCode()
	} else if err != nil {
		p.status = -1
	}
	close(p.ended)
}

// stop is a terminal that takes no more, as by ctrl-s.
func (p *person) stop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stopped = make(chan struct{})
}

func (p *person) goOn() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.stopped != nil {
		close(p.stopped)
		p.stopped = nil
	}
}

// text is all that the command has shown.
func (p *person) text() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.seen.String()
}

// picture is the screen as it is now.
func (p *person) picture() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.screen.String()
}

// types presses keys.
func (p *person) types(text string) {
	p.t.Helper()
	if _, err := p.tty.WriteString(text); err != nil {
		p.t.Fatal(err)
	}
}

// sees waits until what the command has shown matches.
func (p *person) sees(pattern string) {
	p.t.Helper()
	p.awaits("has not shown", pattern, p.text)
}

// showing waits until the screen matches.
func (p *person) showing(pattern string) {
	p.t.Helper()
	p.awaits("does not show", pattern, p.picture)
}

func (p *person) awaits(what, pattern string, text func() string) {
	p.t.Helper()
	re := regexp.MustCompile(pattern)
	limit := time.After(patience)
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
				p.t.Fatalf("the terminal %s %q, and the command has ended with status %d:\n%s", what, pattern, p.status, text())
			}
			return
		case <-limit:
			p.t.Fatalf("the terminal %s %q after %v:\n%s", what, pattern, patience, text())
		}
	}
}

// leaves waits for the end of the command.
func (p *person) leaves(status int) {
	p.t.Helper()
	select {
	case <-p.ended:
		if p.status != status {
			p.t.Errorf("the command has ended with status %d, want %d:\n%s", p.status, status, p.text())
		}
	case <-time.After(patience):
		p.t.Fatalf("the command has not ended after %v", patience)
	}
}

// sane checks that the terminal is as it was before the command.
func (p *person) sane() {
	p.t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	if mode := p.screen.Mode(); mode != vt10x.ModeWrap {
		p.t.Errorf("the terminal is left in the mode %b, want %b", mode, vt10x.ModeWrap)
	}
	if !p.screen.CursorVisible() {
		p.t.Error("the cursor is left hidden")
	}
	if title := p.screen.Title(); title != "" {
		p.t.Errorf("the title is %q", title)
	}
	if p.replies.Len() > 0 {
		p.t.Errorf("the terminal was made to say %q", p.replies.String())
	}
	_, _ = p.screen.Write([]byte("\r\nz"))
	at := p.screen.Cursor()
	if g := p.screen.Cell(at.X-1, at.Y); g.Char != 'z' || g.FG != vt10x.DefaultFG || g.BG != vt10x.DefaultBG ||
		g.Mode != 0 {
		p.t.Errorf("what is written now is drawn as %+v", g)
	}
}

func setSize(tty *os.File, cols, rows int) error {
	return pty.Setsize(tty, &pty.Winsize{Cols: uint16(cols), Rows: uint16(rows)})
}
