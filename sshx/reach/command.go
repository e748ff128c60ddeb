package reach

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"

	"ptyctl/internal/exhausted"
	"ptyctl/term"
)

// A Command is the operator's program that carries the connection to a server on its standard input and
// output (ssh_config(5) ProxyCommand).
type Command struct {
	Line  string // expanded; for the shell. Empty: none
	Where string // the file and line that names it
}

// endGrace is how long a program may run after the end of its output, or after a request to end, before it is killed.
const endGrace = 300 * time.Millisecond

// maxSaid is the most bytes kept of a program's standard error: the last ones.
const maxSaid = 2 << 10

// CommandEnded is the error of a connection after the end of its program.
type CommandEnded struct {
	Code  int    // exit status; -1 if a signal ended it
	Path  string // the PATH of the program
	State string // "exit status 1", "signal: killed"
	Said  string // the end of its standard error, safe to show
}

// Error says how the program ended, with the end of its standard error.
func (e *CommandEnded) Error() string { return "the ProxyCommand ended with " + e.Status() }

// Status is how the program ended, and the end of its standard error.
func (e *CommandEnded) Status() string {
	if e.Said == "" {
		return e.State
	}
	return e.State + ": " + e.Said
}

// Quiet reports whether the program has ended as it does when the server closes the connection.
func (e *CommandEnded) Quiet() bool { return e.Code == 0 && e.Said == "" }

// A commandConn is the connection that a program carries.
type commandConn struct {
	cmd    *exec.Cmd
	path   string // its PATH
	group  group  // the program and those that it starts
	stdin  io.WriteCloser
	stdout io.ReadCloser
	stderr io.ReadCloser
	said   tail          // of stderr
	read   chan struct{} // closed when stderr has ended

	closed  chan struct{} // closed by Close
	closing sync.Once
	ending  sync.Once
	ended   *CommandEnded // valid after ending
}

// startCommand starts the program. It is not asked for anything: a program that
// does not run is noticed when its output ends.
func startCommand(ctx context.Context, h *Endpoint, l Progress) (net.Conn, error) {
	if term.HoldFrom(ctx) != nil {
		return nil, term.NoSocket("a ProxyCommand")
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	l.Begin(StepProxy)
	env := term.EnvironmentFrom(ctx)
	cmd, err := commandOf(env, h.Command.Line)
	if err != nil {
		return nil, h.Command.failed(err)
	}
	cmd.Env = env.List()     // as ssh(1) does
	cmd.Dir, _ = env.Abs("") // an unknown folder leaves that of this process
	c := &commandConn{cmd: cmd, path: env.Get("PATH"), read: make(chan struct{}), closed: make(chan struct{})}
	if err = c.pipes(); err == nil {
		err = c.group.start(cmd)
	}
	if err != nil {
		return nil, h.Command.failed(err)
	}
	go func() {
		defer close(c.read)
		_, _ = io.Copy(&c.said, c.stderr)
	}()
	l.Address("via ProxyCommand")
	return c, nil
}

// pipes makes the three pipes of the program.
func (c *commandConn) pipes() (err error) {
	if c.stdin, err = c.cmd.StdinPipe(); err != nil {
		return err
	}
	if c.stdout, err = c.cmd.StdoutPipe(); err != nil {
		return err
	}
	c.stderr, err = c.cmd.StderrPipe()
	return err
}

// failed is the error of a program that was not started.
func (c Command) failed(err error) error {
	if exhausted.Descriptors(err) {
		return exhausted.NoDescriptors("the ProxyCommand was not started", err)
	}
	return &term.Error{
		Kind: term.ConnectFailed, Err: err,
		Msg:    fmt.Sprintf("%s: the ProxyCommand was not started: %v", c.Where, err),
		Advice: "correct it, or the variable SHELL of ptyctl's environment",
	}
}

// Read reads the server's bytes. Its error says how the program ended.
func (c *commandConn) Read(p []byte) (int, error) {
	n, err := c.stdout.Read(p)
	if n > 0 || err == nil {
		return n, nil
	}
	return 0, c.end(err)
}

// Write writes to the server. Its error says how the program ended.
func (c *commandConn) Write(p []byte) (int, error) {
	n, err := c.stdin.Write(p)
	if err != nil {
		err = c.end(err)
	}
	return n, err
}

// end returns the error of a Read or Write that failed with err.
func (c *commandConn) end(err error) error {
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return err
	}
	select {
	case <-c.closed:
		return net.ErrClosed
	default:
	}
	c.finish()
	return c.ended
}

// Close ends the program and all of its group. It returns when they have ended.
func (c *commandConn) Close() error {
	c.closing.Do(func() { close(c.closed) })
	c.finish()
	return nil
}

// finish waits for the program, which has ended or loses its connection now, and kills the rest of
// its group.
func (c *commandConn) finish() {
	c.ending.Do(func() {
		_ = c.stdin.Close()
		exited := make(chan struct{})
		go func() {
			defer close(exited)
			c.group.await(c.cmd)
		}()
		grace := time.NewTimer(endGrace)
		defer grace.Stop()
		select { // after the end of its output, a program is about to end
		case <-exited:
		case <-grace.C:
		case <-c.closed:
			c.group.hangUp()
			select {
			case <-exited:
			case <-grace.C:
			}
		}
		c.group.kill()
		<-exited
		// Before the leader is waited for, which closes the pipes.
		last := time.NewTimer(endGrace)
		defer last.Stop()
		select { // a program that has left the group may keep the pipe
		case <-c.read:
		case <-last.C:
		}
		c.group.reap(c.cmd)
		_ = c.stdout.Close()
		_ = c.stderr.Close()
		c.ended = &CommandEnded{Code: -1, Path: c.path, State: "an unknown status", Said: c.Said()}
		if state := c.cmd.ProcessState; state != nil {
			c.ended.Code, c.ended.State = state.ExitCode(), state.String()
		}
	})
}

// Said returns the end of the program's standard error, on one line.
func (c *commandConn) Said() string { return c.said.line() }

// LocalAddr implements net.Conn.
func (c *commandConn) LocalAddr() net.Addr { return commandAddr{} }

// RemoteAddr implements net.Conn. The address of the server is not known here.
func (c *commandConn) RemoteAddr() net.Addr { return commandAddr{} }

// SetDeadline implements net.Conn.
func (c *commandConn) SetDeadline(t time.Time) error {
	return errors.Join(c.SetReadDeadline(t), c.SetWriteDeadline(t))
}

// SetReadDeadline implements net.Conn.
func (c *commandConn) SetReadDeadline(t time.Time) error {
	if f, ok := c.stdout.(interface{ SetReadDeadline(t time.Time) error }); ok {
		return f.SetReadDeadline(t)
	}
	return os.ErrNoDeadline
}

// SetWriteDeadline implements net.Conn.
func (c *commandConn) SetWriteDeadline(t time.Time) error {
	if f, ok := c.stdin.(interface{ SetWriteDeadline(t time.Time) error }); ok {
		return f.SetWriteDeadline(t)
	}
	return os.ErrNoDeadline
}

// A commandAddr is the address of a server behind a program.
type commandAddr struct{}

func (commandAddr) Network() string { return "command" }
func (commandAddr) String() string  { return "ProxyCommand" }

// A tail keeps the last bytes written to it.
type tail struct {
	mu    sync.Mutex // guards the following
	bytes []byte
	lost  bool
}

// Write implements io.Writer.
func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.bytes = append(t.bytes, p...)
	if more := len(t.bytes) - maxSaid; more > 0 {
		t.bytes, t.lost = append(t.bytes[:0], t.bytes[more:]...), true
	}
	return len(p), nil
}

// line returns the bytes on one line, safe to show.
func (t *tail) line() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	text := string(t.bytes)
	if _, rest, ok := strings.Cut(text, "\n"); t.lost && ok {
		text = "...\n" + rest // the first line has lost its beginning
	}
	return term.ForeignLine(text, maxSaid)
}

// Program returns the program that a command line names, found as the shell would find it, for people who look for a
// problem. It is "" where only the shell can tell.
func (c Command) Program() (path string, err error) {
	words := strings.Fields(c.Line)
	if len(words) > 0 && words[0] == "exec" {
		words = words[1:]
	}
	if len(words) == 0 || strings.ContainsAny(words[0], "'\"`$\\;&|<>(){}*?[]~=#!") {
		return "", nil
	}
	if path, err = exec.LookPath(words[0]); err != nil {
		return "", fmt.Errorf("%s: %w", words[0], err)
	}
	return path, nil
}
