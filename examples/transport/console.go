package main

import (
	"context"
	"net"

	"ptyctl/term"
)

// A console is the serial line of a virtual machine: a term.Transport, and a term.Describer. The connection brings
// Read, Write and Close, and its Close wakes a Read and a Write that wait, as a Transport must.
type console struct{ net.Conn }

// dial is the term.Dialer of consoles. The target's host is the path of a socket on this machine; no other machine is
// reached, so there is no plan to have approved.
func dial(ctx context.Context, t term.Target, _ term.Prompter, _ term.Approve) (term.Transport, error) {
	conn, err := new(net.Dialer).DialContext(ctx, "unix", t.Host)
	if err != nil {
		return nil, term.Errorf(term.ConnectFailed, "console %s not reached: %w; is the machine running?", t.Host, err)
	}
	return console{conn}, nil
}

// Resize implements term.Transport: a serial line has no size.
func (console) Resize(cols, rows int) error {
	return term.Errorf(term.Unsupported, "the size of a serial line cannot be set to %dx%d", cols, rows)
}

// Describe implements term.Describer.
func (console) Describe() term.Description {
	return term.Description{PTY: true, Capabilities: term.Capabilities{
		SplitStdoutStderr: term.No, ExitCode: term.No, Resize: term.No, Signal: term.No, ParallelExec: term.No,
	}}
}
