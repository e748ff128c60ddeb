package sshserver

import (
	"context"
	"io"
	"time"

	"golang.org/x/crypto/ssh"
)

// Handler runs one shell or command and returns its exit. The server then sends the exit
// status, EOF and close, in this order.
//
// ctx ends when the channel or the connection is closed, or the server closes; Stdin,
// Stdout and Stderr then fail too. The Handler must return soon after that, because
// Server.Close waits for it. It must not call Close itself.
type Handler func(ctx context.Context, r *Request) Exit

// Request is the client's request on one session channel (RFC 4254 section 6.5).
type Request struct {
	User    string
	Shell   bool     // a login shell rather than Command
	Command string   // as sent, for a shell to interpret
	Env     []string // NAME=value, as far as AcceptEnv allows
	PTY     *PTY     // nil without a pty-req

	program bool // Command comes from Config.Subsystems

	Stdin  io.Reader // io.EOF when the client has sent EOF
	Stdout io.Writer
	Stderr io.Writer // with a PTY the same as Stdout; each stream must have one writer at a time

	Windows <-chan Window        // the newest window-change not yet received
	Signals <-chan ssh.Signal    // as requested; up to 16 wait, more are refused
	Breaks  <-chan time.Duration // requested lengths, with a PTY only (RFC 4335); up to 16 wait

	sendExit func(Exit)
}

// SendExit reports the end of the command before the Handler returns. Output may still
// follow, as under sshd while a background process has the pipes open. Only the first
// report counts.
func (r *Request) SendExit(e Exit) { r.sendExit(e) }

// Exit is the end of a command: a status or a signal.
type Exit struct {
	Status     uint32
	Signal     ssh.Signal // without "SIG"; if set, exit-signal is sent instead of exit-status (RFC 4254 section 6.10)
	CoreDumped bool
	Message    string // for people; with Signal only
}

// PTY is the terminal of a pty-req (RFC 4254 section 6.2).
type PTY struct {
	Term   string // the TERM variable
	Window Window
	Modes  ssh.TerminalModes // by opcode (RFC 4254 section 8)
}

// Window is the size of a terminal in character cells (RFC 4254 section 6.7). Pixel sizes
// are ignored.
type Window struct{ Cols, Rows uint32 }
