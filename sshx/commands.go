package sshx

import (
	"context"
	"fmt"
	"io"
	"slices"
	"sync"

	"ptyctl/term"
)

// commands is a connection without a terminal, for commands on channels of their own: the accounts of git and of
// deployment tools often allow nothing else, and an unasked-for shell would run their command. It is a term.Transport
// with a terminal that has already ended.
type commands struct {
	c        *Client
	why      string // why there is no terminal
	warnings []string
	closing  sync.Once
}

// Read implements term.Transport: there is no output.
func (m *commands) Read([]byte) (int, error) { return 0, io.EOF }

// Write implements term.Transport.
func (m *commands) Write([]byte) (int, error) { return 0, m.unsupported("write") }

// Resize implements term.Transport.
func (m *commands) Resize(int, int) error { return m.unsupported("resize") }

func (m *commands) unsupported(op string) error {
	return &term.Error{
		Op: op, Kind: term.Unsupported, Reason: term.ReasonCommandsOnly,
		Msg: fmt.Sprintf("this session has no terminal: %s", m.why), Advice: "run commands with Exec",
	}
}

// Exec implements term.Execer.
func (m *commands) Exec(ctx context.Context, r term.ExecRequest, stdout, stderr io.Writer) (term.Exit, error) {
	return m.c.Exec(ctx, r, stdout, stderr)
}

// Subsystem implements term.Subsystemer.
func (m *commands) Subsystem(ctx context.Context, name string) (io.ReadWriteCloser, error) {
	return m.c.Subsystem(ctx, name)
}

// Forward implements term.Forwarder.
func (m *commands) Forward(ctx context.Context, host string, port int) (term.Stream, error) {
	return m.c.Forward(ctx, host, port)
}

// Peer implements term.Peerer.
func (m *commands) Peer() term.Peer { return m.c.own.Peer }

// Connection implements term.Outliver.
func (m *commands) Connection() <-chan struct{} { return m.c.own.Context().Done() }

// Lost implements term.Outliver.
func (m *commands) Lost() error { return m.c.Lost() }

// Describe implements term.Describer.
func (m *commands) Describe() term.Description {
	d := m.c.Describe()
	d.NoTerminal = m.why
	d.Warnings = append(slices.Clip(d.Warnings), m.warnings...)
	d.Capabilities = term.Capabilities{
		SplitStdoutStderr: term.Yes, ExitCode: term.Yes, Resize: term.No, Signal: term.No, ParallelExec: term.Yes,
	}
	return d
}

// Close implements term.Transport.
func (m *commands) Close() error {
	m.closing.Do(func() { _ = m.c.Close() })
	return nil
}

var (
	_ term.Transport   = (*commands)(nil)
	_ term.Execer      = (*commands)(nil)
	_ term.Outliver    = (*commands)(nil)
	_ term.Describer   = (*commands)(nil)
	_ term.Subsystemer = (*commands)(nil)
	_ term.Forwarder   = (*commands)(nil)
)
