package sshserver

import (
	"context"
	"io"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/crypto/ssh"
)

// maxEnv is the most variables of one session, as in sshd.
const maxEnv = 128

// maxWaitingSignals is the most signals, and the most breaks, waiting for a Handler that
// does not receive them.
const maxWaitingSignals = 16

// session is one session channel (RFC 4254 section 6). Its fields belong to the goroutine
// of serve.
type session struct {
	conn    *connection
	channel ssh.Channel
	request *Request // filled in until started
	started bool

	windows chan Window
	signals chan ssh.Signal
	breaks  chan time.Duration
}

// newSession returns the session of a channel, with an empty Request.
func newSession(c *connection, channel ssh.Channel) *session {
	s := &session{
		conn:    c,
		channel: channel,
		windows: make(chan Window, 1),
		signals: make(chan ssh.Signal, maxWaitingSignals),
		breaks:  make(chan time.Duration, maxWaitingSignals),
	}
	s.request = &Request{
		User:    c.user,
		Stdin:   &countingReader{from: channel, stats: &c.server.stats},
		Stdout:  channel,
		Stderr:  channel.Stderr(),
		Windows: s.windows,
		Signals: s.signals,
		Breaks:  s.breaks,
	}
	var once sync.Once
	s.request.sendExit = func(e Exit) { once.Do(func() { s.sendExit(e) }) }
	return s
}

// serve answers requests until the channel is closed, and returns when the command has
// ended too.
func (s *session) serve(requests <-chan *ssh.Request) {
	// The end of the requests is the end of the channel, and must end the program.
	ctx, cancel := context.WithCancel(s.conn.ctx)
	var command sync.WaitGroup
	for r := range requests {
		faults := s.conn.server.faults.Load()
		var ok, start bool
		var deliver func() // to the Handler, which may end the channel on it
		switch r.Type {
		case "pty-req":
			ok = !faults.RefusePTY && s.requestPTY(r.Payload)
		case "env":
			ok = s.setEnv(r.Payload)
		case "shell":
			ok = s.requestShell()
			start = ok
		case "exec":
			if faults.HangExecReply || s.drop(faults) {
				continue
			}
			ok = !faults.RefuseExec && s.requestExec(r.Payload)
			start = ok
		case "subsystem":
			if s.drop(faults) {
				continue
			}
			ok = s.requestSubsystem(r.Payload)
			start = ok
		case "window-change":
			ok = s.changeWindow(r.Payload)
		case "signal":
			if !faults.RefuseSignals {
				deliver, ok = s.signal(r.Payload)
			}
		case "break":
			if !faults.RefuseBreak {
				deliver, ok = s.sendBreak(r.Payload)
			}
		}
		// The answer must come before the program's output.
		_ = r.Reply(ok, nil) // fails only on a closed channel
		if deliver != nil {
			deliver()
		}
		if start {
			command.Go(func() { s.run(ctx) })
		}
	}
	cancel()
	command.Wait()
}

// run calls the Handler and ends the channel.
func (s *session) run(ctx context.Context) {
	handler := s.conn.server.handler
	if s.request.program {
		handler = s.conn.server.runProcess
	}
	exit := handler(ctx, s.request)
	s.request.SendExit(exit)
	if s.conn.server.faults.Load().StatusWithoutClose {
		<-ctx.Done()
		return
	}
	// Both fail only on a channel that the client has closed.
	_ = s.channel.CloseWrite()
	_ = s.channel.Close()
}

// drop closes the channel if faults want that for this request.
func (s *session) drop(faults *Faults) bool {
	if int(s.conn.server.dropped.Load()) >= faults.DropCommands {
		return false
	}
	s.conn.server.dropped.Add(1)
	_ = s.channel.Close()
	return true
}

// sendExit sends exit-status or exit-signal (RFC 4254 section 6.10).
func (s *session) sendExit(e Exit) {
	if s.conn.server.faults.Load().NoExitStatus {
		return
	}
	name, payload := "exit-status", ssh.Marshal(struct{ Status uint32 }{e.Status})
	if e.Signal != "" {
		name, payload = "exit-signal", ssh.Marshal(struct {
			Signal     string
			CoreDumped bool
			Message    string
			Lang       string
		}{string(e.Signal), e.CoreDumped, e.Message, ""})
	}
	_, _ = s.channel.SendRequest(name, false, payload) // fails only on a closed channel
}

// requestPTY handles pty-req (RFC 4254 section 6.2).
func (s *session) requestPTY(payload []byte) bool {
	var msg struct {
		Term          string
		Cols, Rows    uint32
		Width, Height uint32
		Modes         string
	}
	if s.started || s.request.PTY != nil || ssh.Unmarshal(payload, &msg) != nil {
		return false
	}
	s.request.PTY = &PTY{Term: msg.Term, Window: Window{msg.Cols, msg.Rows}, Modes: decodeModes(msg.Modes)}
	s.request.Stderr = s.channel
	return true
}

// setEnv handles env (RFC 4254 section 6.4).
func (s *session) setEnv(payload []byte) bool {
	var msg struct{ Name, Value string }
	if s.started || len(s.request.Env) >= maxEnv || ssh.Unmarshal(payload, &msg) != nil {
		return false
	}
	// A variable cannot contain a NUL, and a name with "=" would be another name.
	if strings.ContainsAny(msg.Name, "=\x00") || strings.Contains(msg.Value, "\x00") {
		return false
	}
	if !slices.ContainsFunc(s.conn.server.config.AcceptEnv, func(pattern string) bool {
		ok, err := path.Match(pattern, msg.Name)
		return ok && err == nil
	}) {
		return false
	}
	s.request.Env = append(s.request.Env, msg.Name+"="+msg.Value)
	return true
}

// requestShell handles shell (RFC 4254 section 6.5); a channel can run only one program.
func (s *session) requestShell() bool {
	if s.started {
		return false
	}
	s.started, s.request.Shell = true, true
	return true
}

// requestExec handles exec (RFC 4254 section 6.5).
func (s *session) requestExec(payload []byte) bool {
	var msg struct{ Command string }
	if s.started || ssh.Unmarshal(payload, &msg) != nil {
		return false
	}
	s.started, s.request.Command = true, msg.Command
	return true
}

// requestSubsystem handles subsystem (RFC 4254 section 6.5).
func (s *session) requestSubsystem(payload []byte) bool {
	var msg struct{ Name string }
	if s.started || s.request.PTY != nil || ssh.Unmarshal(payload, &msg) != nil {
		return false
	}
	command, ok := s.conn.server.config.Subsystems[msg.Name]
	switch {
	case ok && command == "":
		s.started, s.request.Command = true, msg.Name
	case ok:
		s.started, s.request.Command, s.request.program = true, "exec "+command, true
	}
	return ok
}

// changeWindow handles window-change (RFC 4254 section 6.7).
func (s *session) changeWindow(payload []byte) bool {
	var msg struct{ Cols, Rows, Width, Height uint32 }
	if s.request.PTY == nil || ssh.Unmarshal(payload, &msg) != nil {
		return false
	}
	if !s.started {
		s.request.PTY.Window = Window{msg.Cols, msg.Rows}
		return true
	}
	// Only this goroutine sends, so without the old size there is room for the new one.
	select {
	case <-s.windows:
	default:
	}
	s.windows <- Window{msg.Cols, msg.Rows}
	return true
}

// signal handles signal (RFC 4254 section 6.9). Its function sends it, without waiting: serve alone sends.
func (s *session) signal(payload []byte) (send func(), ok bool) {
	var msg struct{ Name string }
	if !s.started || ssh.Unmarshal(payload, &msg) != nil || !slices.Contains(signalNames, ssh.Signal(msg.Name)) {
		return nil, false
	}
	if len(s.signals) == cap(s.signals) {
		return nil, false
	}
	return func() { s.signals <- ssh.Signal(msg.Name) }, true
}

// sendBreak handles break (RFC 4335), like sshd on a terminal only. Its function sends it, as that of signal does.
func (s *session) sendBreak(payload []byte) (send func(), ok bool) {
	var msg struct{ Milliseconds uint32 }
	if !s.started || s.request.PTY == nil || ssh.Unmarshal(payload, &msg) != nil || len(s.breaks) == cap(s.breaks) {
		return nil, false
	}
	return func() { s.breaks <- time.Duration(msg.Milliseconds) * time.Millisecond }, true
}

// signalNames are the signals of RFC 4254 section 6.10.
var signalNames = []ssh.Signal{
	ssh.SIGABRT, ssh.SIGALRM, ssh.SIGFPE, ssh.SIGHUP, ssh.SIGILL, ssh.SIGINT, ssh.SIGKILL,
	ssh.SIGPIPE, ssh.SIGQUIT, ssh.SIGSEGV, ssh.SIGTERM, ssh.SIGUSR1, ssh.SIGUSR2,
}

// countingReader adds the bytes read to Stats.StdinBytes.
type countingReader struct {
	from  io.Reader
	stats *counters
}

// Read implements io.Reader.
func (r *countingReader) Read(p []byte) (int, error) {
	n, err := r.from.Read(p)
	if n > 0 {
		r.stats.add(func(now *Stats) { now.StdinBytes += int64(n) })
	}
	return n, err
}
