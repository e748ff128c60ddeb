package sshx

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"

	"golang.org/x/crypto/ssh"

	"ptyctl/sshx/mux"
	"ptyctl/term"
)

// A Shell is a login shell, on a pseudo-terminal unless that is disabled: a
// term.Transport with every optional interface. Close ends the channel, not the
// Client's connection. A call that a frozen server blocks is woken by closing the
// Client.
type Shell struct {
	c       *Client
	ch      *mux.Channel
	pty     bool
	merged  io.Reader // both output streams in order of arrival; nil with a pty
	owns    bool      // Close closes the connection too
	closing sync.Once

	life     context.Context // ends with Close
	end      context.CancelFunc
	warnings []string
}

// Shell starts a login shell, or the configuration's RemoteCommand (RFC 4254
// sections 6.2 and 6.5). The shell has requestLimit to start.
func (c *Client) Shell(ctx context.Context, p term.PTY) (*Shell, error) {
	ctx, cancel := context.WithTimeout(ctx, mux.RequestLimit)
	defer cancel()
	c.steps.Begin(stepChannel)
	sh, err := c.shell(ctx, p.OrDefault())
	if err == nil {
		c.steps.end(true, "")
		return sh, nil
	}
	if refused, ok := errors.AsType[mux.RefusedError](err); ok {
		err = &term.Error{
			Kind: term.LimitExceeded,
			Err:  err,
			Msg:  fmt.Sprintf("%s opened no session: %s (%s)", c.own.Name, refused.Message, refused.Reason),
		}
	}
	c.steps.end(false, stepDetail(err))
	if e, ok := errors.AsType[*term.Error](err); ok {
		named := *e
		named.Op, named.Facts = "open", term.Facts{term.ConnectFailure{Hop: c.own.Name, Ladder: c.steps.snapshot()}}
		if named.Kind == term.ExecTimeout {
			named.Kind = term.ConnectTimeout
		}
		return nil, &named
	}
	return nil, err
}

// shell opens a channel for the shell, or uses the one opened ahead if the server
// allows no other.
func (c *Client) shell(ctx context.Context, p term.PTY) (*Shell, error) {
	ch, err := c.own.OpenSession(ctx, nil)
	// With MaxSessions 1 the channel opened ahead may be the only one.
	if errors.As(err, new(mux.RefusedError)) {
		if ahead := c.slots.TakeAhead(); ahead != nil {
			ch, err = ahead, nil
		}
	}
	if err != nil {
		return nil, err
	}
	sh := &Shell{c: c, ch: ch, pty: !p.Disabled && !c.r.NoTTY}
	sh.life, sh.end = context.WithCancel(c.life)
	if sh.pty {
		// A server should send no stderr on a pty, but unread data would block
		// the channel.
		ch.DiscardStderr()
	} else {
		sh.merged = ch.Merge(sh.life.Done())
	}
	if err := sh.start(ctx, p); err != nil {
		sh.end()
		ch.Drop()
		return nil, err
	}
	return sh, nil
}

// ttyModes are the encoded terminal modes (RFC 4254 section 8): only the two
// speeds, because some devices refuse unknown modes.
var ttyModes = string(ssh.Marshal(struct {
	ISpeed  byte
	IValue  uint32
	OSpeed  byte
	OValue  uint32
	EndCode byte
}{128, 38400, 129, 38400, 0}))

// start sends the requests for agent, pty, environment and shell, in this order.
func (sh *Shell) start(ctx context.Context, p term.PTY) error {
	r := sh.c.r
	if sh.ch.Link().DialAgent != nil {
		ok, err := sh.ch.Request(ctx, mux.AgentRequest, nil)
		if err != nil {
			return err
		}
		if !ok {
			sh.warnings = append(sh.warnings, "the server refuses to forward the agent")
		}
	}
	if sh.pty {
		ok, err := sh.ch.Request(ctx, "pty-req", ssh.Marshal(struct {
			Term                      string
			Cols, Rows, Width, Height uint32
			Modes                     string
		}{p.Term, uint32(p.Cols), uint32(p.Rows), 0, 0, ttyModes}))
		if err != nil {
			return err
		}
		if !ok {
			return &term.Error{
				Kind:   term.Unsupported,
				Reason: term.ReasonPTYRefused,
				Msg:    sh.c.own.Name + " refuses a pseudo-terminal (PermitTTY no, or the account is restricted)",
				Advice: "set PTY.Disabled for a session without one",
			}
		}
	}
	for _, v := range r.Env { // like ssh(1), continue without a refused variable
		if err := sh.ch.Tell(ctx, "env", ssh.Marshal(struct{ Name, Value string }{v.Name, v.Value})); err != nil {
			return err
		}
	}
	name, payload := "shell", []byte(nil)
	if r.RemoteCommand != "" {
		name, payload = "exec", ssh.Marshal(struct{ Command string }{r.RemoteCommand})
	}
	ok, err := sh.ch.Request(ctx, name, payload)
	if err != nil {
		return err
	}
	if !ok {
		return term.Errorf(
			term.Unsupported,
			"%s refuses to start a shell for this account; check what it is allowed to do there",
			sh.c.own.Name,
		)
	}
	return nil
}

// Read implements term.Transport.
func (sh *Shell) Read(p []byte) (int, error) {
	if sh.merged != nil {
		return sh.merged.Read(p)
	}
	return sh.ch.Read(p)
}

// Write implements term.Transport.
func (sh *Shell) Write(p []byte) (int, error) { return sh.ch.Write(p) }

// Resize implements term.Transport (RFC 4254 section 6.7).
func (sh *Shell) Resize(cols, rows int) error {
	if !sh.pty {
		return &term.Error{
			Op:   "resize",
			Kind: term.Unsupported,
			Msg:  "this session was opened without a pseudo-terminal, so it has no size",
		}
	}
	ctx, cancel := context.WithTimeout(sh.ch.Link().Context(), mux.RequestLimit)
	defer cancel()
	return sh.ch.Tell(
		ctx,
		"window-change",
		ssh.Marshal(struct{ Cols, Rows, Width, Height uint32 }{uint32(cols), uint32(rows), 0, 0}),
	)
}

// Signal implements term.Signaler (RFC 4254 section 6.9). The signal reaches the
// shell; a foreground job on a pseudo-terminal must be reached by its key, for
// example ctrl_c.
func (sh *Shell) Signal(ctx context.Context, name string) error {
	ctx, cancel := context.WithTimeout(ctx, mux.RequestLimit)
	defer cancel()
	ok, err := sh.ch.Request(ctx, "signal", ssh.Marshal(struct{ Name string }{name}))
	if err != nil {
		return err
	}
	if !ok {
		return &term.Error{
			Op:   "signal",
			Kind: term.Unsupported,
			Msg: fmt.Sprintf(
				"%s refuses to deliver signal %s; press ctrl_c, ctrl_z or ctrl_backslash, or close the session",
				sh.c.own.Name,
				name,
			),
		}
	}
	return nil
}

// Wait implements term.Waiter. The exit status may come shortly after the end of
// the output, so Wait waits for the end of the channel, at most two seconds.
func (sh *Shell) Wait() (term.Exit, error) {
	return sh.ch.Wait()
}

// Exec implements term.Execer on the shell's connection.
func (sh *Shell) Exec(ctx context.Context, r term.ExecRequest, stdout, stderr io.Writer) (term.Exit, error) {
	return sh.c.Exec(ctx, r, stdout, stderr)
}

// Connection implements term.Outliver. A RemoteCommand is all that its connection is for.
func (sh *Shell) Connection() <-chan struct{} {
	if sh.c.r.RemoteCommand != "" || sh.c.Lost() != nil {
		return nil
	}
	ctx, end := context.WithCancel(sh.life)
	context.AfterFunc(sh.c.own.Context(), end)
	return ctx.Done()
}

// Lost implements term.Outliver.
func (sh *Shell) Lost() error { return sh.c.Lost() }

// Subsystem implements term.Subsystemer on the shell's connection.
func (sh *Shell) Subsystem(ctx context.Context, name string) (io.ReadWriteCloser, error) {
	return sh.c.Subsystem(ctx, name)
}

// Forward implements term.Forwarder on the shell's connection.
func (sh *Shell) Forward(ctx context.Context, host string, port int) (term.Stream, error) {
	return sh.c.Forward(ctx, host, port)
}

// Peer implements term.Peerer.
func (sh *Shell) Peer() term.Peer { return sh.ch.Link().Peer }

// Describe implements term.Describer.
func (sh *Shell) Describe() term.Description {
	d := sh.c.Describe()
	d.PTY = sh.pty
	d.Warnings = slices.Concat(d.Warnings, sh.warnings)
	d.Capabilities = term.Capabilities{
		SplitStdoutStderr: term.Yes,
		ExitCode:          term.Yes,
		Resize:            term.Yes,
		Signal:            term.Maybe,
		ParallelExec:      term.Yes,
	}
	if !sh.pty {
		d.Capabilities.Resize = term.No
	}
	return d
}

// Close implements term.Transport: the server hangs up the terminal, which ends
// its programs.
func (sh *Shell) Close() error {
	sh.closing.Do(func() {
		// Without waiting, the server might see the end of the connection before
		// the hangup.
		sh.ch.HangUp()
		sh.end()
		if sh.owns {
			_ = sh.c.Close()
		}
	})
	return nil
}

var (
	_ term.Transport   = (*Shell)(nil)
	_ term.Execer      = (*Shell)(nil)
	_ term.Signaler    = (*Shell)(nil)
	_ term.Waiter      = (*Shell)(nil)
	_ term.Outliver    = (*Shell)(nil)
	_ term.Describer   = (*Shell)(nil)
	_ term.Subsystemer = (*Shell)(nil)
	_ term.Forwarder   = (*Shell)(nil)
	_ term.Peerer      = (*Shell)(nil)
)
