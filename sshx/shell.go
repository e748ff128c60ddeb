package sshx

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"golang.org/x/crypto/ssh"

	"ptyctl/term"
)

// A Shell is a login shell on a pseudo-terminal: a term.Transport with every optional interface.
type Shell struct {
	c       *Client
	ch      ssh.Channel
	owns    bool // Close closes the connection too
	exited  chan struct{}
	closing sync.Once

	mu   sync.Mutex // guards the following
	exit term.Exit
}

// Shell starts a login shell on a pseudo-terminal (RFC 4254 sections 6.2 and 6.5).
func (c *Client) Shell(ctx context.Context, p term.PTY) (*Shell, error) {
	ctx, cancel := context.WithTimeout(ctx, requestLimit)
	defer cancel()
	c.ladder.begin(stepChannel)
	sh, err := c.shell(ctx, p.OrDefault())
	if err != nil {
		c.ladder.end(false, err.Error())
		var e *term.Error
		if errors.As(err, &e) {
			named := *e
			named.Op, named.Details = "open", &term.Details{Ladder: c.ladder.snapshot()}
			if named.Kind == term.ExecTimeout {
				named.Kind = term.ConnectTimeout
			}
			return nil, &named
		}
		return nil, err
	}
	c.ladder.end(true, "")
	return sh, nil
}

func (c *Client) shell(ctx context.Context, p term.PTY) (*Shell, error) {
	if p.Disabled {
		return nil, term.Errorf(term.Unsupported, "sessions without a pty are not built yet; leave pty.enabled at true, and run commands with ptyctl_session_exec")
	}
	ch, reqs, err := c.openSession(ctx)
	if err != nil {
		return nil, err
	}
	sh := &Shell{c: c, ch: ch, exited: make(chan struct{})}
	c.wg.Add(2)
	go sh.watch(reqs)
	go func() { // a server sends no stderr on a pty; if it does, unread it would block the channel
		defer c.wg.Done()
		_, _ = io.Copy(io.Discard, ch.Stderr())
	}()
	if err := sh.start(ctx, p); err != nil {
		_ = ch.Close()
		return nil, err
	}
	return sh, nil
}

// ttyModes are the encoded terminal modes of RFC 4254 section 8: the two speeds only, because some devices
// refuse modes they do not know.
var ttyModes = string(ssh.Marshal(struct {
	ISpeed  byte
	IValue  uint32
	OSpeed  byte
	OValue  uint32
	EndCode byte
}{128, 38400, 129, 38400, 0}))

// start asks for the pty and the shell.
func (sh *Shell) start(ctx context.Context, p term.PTY) error {
	ok, err := sh.c.request(ctx, sh.ch, "pty-req", ssh.Marshal(struct {
		Term                      string
		Cols, Rows, Width, Height uint32
		Modes                     string
	}{p.Term, uint32(p.Cols), uint32(p.Rows), 0, 0, ttyModes}))
	if err != nil {
		return err
	}
	if !ok {
		return term.Errorf(term.Unsupported, "%s refuses a pseudo-terminal (PermitTTY no, or the account is restricted)", sh.c.last().hop)
	}
	ok, err = sh.c.request(ctx, sh.ch, "shell", nil)
	if err != nil {
		return err
	}
	if !ok {
		return term.Errorf(term.Unsupported, "%s refuses to start a shell", sh.c.last().hop)
	}
	return nil
}

// watch takes the server's requests on the channel until it is closed.
func (sh *Shell) watch(reqs <-chan *ssh.Request) {
	defer sh.c.wg.Done()
	defer close(sh.exited)
	for r := range reqs {
		if e, ok := exitOf(r); ok {
			sh.mu.Lock()
			sh.exit = e
			sh.mu.Unlock()
		}
		if r.WantReply {
			_ = r.Reply(false, nil)
		}
	}
}

// Read implements term.Transport.
func (sh *Shell) Read(p []byte) (int, error) { return sh.ch.Read(p) }

// Write implements term.Transport.
func (sh *Shell) Write(p []byte) (int, error) { return sh.ch.Write(p) }

// Resize implements term.Transport (RFC 4254 section 6.7).
func (sh *Shell) Resize(cols, rows int) error {
	done := make(chan error, 1)
	sh.c.wg.Add(1)
	go func() { // the request wants no answer, but a frozen connection does not even take it
		defer sh.c.wg.Done()
		_, err := sh.ch.SendRequest("window-change", false, ssh.Marshal(struct{ Cols, Rows, Width, Height uint32 }{uint32(cols), uint32(rows), 0, 0}))
		done <- err
	}()
	timer := time.NewTimer(requestLimit)
	defer timer.Stop()
	select {
	case err := <-done:
		if err != nil {
			return sh.c.broken(err)
		}
		return nil
	case <-timer.C:
		return &term.Error{Op: "resize", Kind: term.IOError, Msg: fmt.Sprintf("%s takes no more data; the session may be frozen", sh.c.last().hop)}
	}
}

// Wait implements term.Waiter. The exit status may come a little after the end of the output, so it waits for
// the channel's end, two seconds at most.
func (sh *Shell) Wait() (term.Exit, error) {
	timer := time.NewTimer(drainLimit)
	defer timer.Stop()
	select {
	case <-sh.exited:
	case <-timer.C:
	}
	sh.mu.Lock()
	exit := sh.exit
	sh.mu.Unlock()
	if exit.Known {
		return exit, nil
	}
	select { // see execution.finished
	case <-sh.c.over:
		return exit, sh.c.Lost()
	case <-time.After(drainQuiet):
		return exit, nil
	}
}

// Exec implements term.Execer on the shell's connection.
func (sh *Shell) Exec(ctx context.Context, r term.ExecRequest, stdout, stderr io.Writer) (term.Exit, error) {
	return sh.c.Exec(ctx, r, stdout, stderr)
}

// Describe implements term.Describer.
func (sh *Shell) Describe() term.Description {
	d := sh.c.describe()
	d.PTY = true
	d.Capabilities = term.Capabilities{SplitStdoutStderr: term.Yes, ExitCode: term.Yes, Resize: term.Yes, Signal: term.No, ParallelExec: term.Yes}
	return d
}

// hangUpGrace is how long a closing shell waits for the server to confirm.
const hangUpGrace = 200 * time.Millisecond

// Close implements term.Transport: the server hangs up the terminal, which ends what runs in it.
func (sh *Shell) Close() error {
	sh.closing.Do(func() {
		sh.c.wg.Add(1)
		go func() {
			defer sh.c.wg.Done()
			_ = sh.ch.Close()
		}()
		timer := time.NewTimer(hangUpGrace)
		defer timer.Stop()
		select {
		case <-sh.exited:
		case <-timer.C:
		}
		if sh.owns {
			_ = sh.c.Close()
		}
	})
	return nil
}

var (
	_ term.Transport = (*Shell)(nil)
	_ term.Execer    = (*Shell)(nil)
	_ term.Waiter    = (*Shell)(nil)
	_ term.Describer = (*Shell)(nil)
)
