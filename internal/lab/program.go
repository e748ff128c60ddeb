package lab

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"ptyctl/internal/lab/system"
	"ptyctl/internal/leaktest"
)

// A Program is a running ptyctl mcp.
type Program struct {
	TB         testing.TB
	Cmd        *exec.Cmd
	home       *Home
	own        int      // the process
	PID        int      // the process that has the sessions: itself, its daemon, or far
	far        *Program // the node that has the sessions, if ThroughCluster; nil: itself
	Stdin      *Input
	stdout     io.Reader // the output not yet read
	Seen       *Capture  // all of stdout
	Log        *Capture
	Audit      string        // its audit log, which other programs of the same home may write too
	recordings string        // its folder of recordings, as Audit; empty: no recordings
	Ended      chan struct{} // closed when the process has ended
	status     error         // of the process, once it has ended
	sent       leaktest.Client
	isFar      bool // it is the far of another
	Killed     bool // by the test: then its status does not matter

	mu      sync.Mutex // guards the following
	secrets []string   // that must not be seen in seen and log
}

// An Input is the standard input of a program.
type Input struct {
	io.WriteCloser
	closed atomic.Bool
}

// Close tells the program to end.
func (i *Input) Close() error {
	i.closed.Store(true)
	return i.WriteCloser.Close()
}

// Start starts ptyctl in h. At the end of the test it closes the input, and checks the promises of package doc.
func (h *Home) Start(tb testing.TB, args ...string) *Program {
	tb.Helper()
	p := h.prepare(tb, args)
	p.inCluster(args)
	p.begin()
	if p.far != nil {
		p.PID = p.far.PID
	}
	return p
}

// prepare returns a program that begin starts, with more variables in its environment.
func (h *Home) prepare(tb testing.TB, args []string, env ...string) *Program {
	tb.Helper()
	p := &Program{TB: tb, Seen: NewCapture(), Log: NewCapture(), Ended: make(chan struct{}), secrets: h.Secrets}
	p.Cmd = h.Command(
		append([]string{"mcp", "--transport", "stdio", "--config", h.Config, "--log-level", "debug"}, args...)...)
	p.home = h
	p.Cmd.Env = append(append(p.Cmd.Env, "PTYCTL_AUDIT_PATH="+h.Audit), env...)
	if h.Recordings != "" {
		p.Cmd.Env = append(p.Cmd.Env, "PTYCTL_RECORD_DIR="+h.Recordings, "PTYCTL_RECORD_MAX_BYTES=1048576")
	}
	p.recordings = h.Recordings
	p.Audit = h.Audit
	p.Cmd.Stderr = p.Log
	p.Cmd.WaitDelay = Patience
	return p
}

// begin starts p.
func (p *Program) begin() {
	tb := p.TB
	tb.Helper()
	in, err := p.Cmd.StdinPipe()
	if err != nil {
		tb.Fatal(err)
	}
	// Not StdoutPipe: Wait would close it before a reader has come to the end.
	read, write := io.Pipe()
	p.Cmd.Stdout = io.MultiWriter(p.Seen, write)
	p.Stdin, p.stdout = &Input{WriteCloser: in}, read
	if err := p.Cmd.Start(); err != nil {
		tb.Fatal(err)
	}
	p.own = p.Cmd.Process.Pid
	p.PID = p.own
	go func() {
		p.status = p.Cmd.Wait()
		close(p.Ended)
		write.Close()
	}()
	if slices.Contains(p.Cmd.Args, "--daemon") {
		p.findDaemon()
	}
	tb.Cleanup(func() {
		p.Finish()
		leaktest.Output(tb, "stdout", p.Seen.String())
		leaktest.Output(tb, "log", p.Log.String())
		if tb.Failed() {
			tb.Logf("log of ptyctl, its end:\n%s", Tail(p.Log.String(), 8<<10))
		}
	})
}

// Command is a call of ptyctl by the owner of h: no agent, and nothing of the tester's environment.
func (h *Home) Command(args ...string) *exec.Cmd {
	line := append(append(slices.Clip(h.Wrap), h.Program), throughDaemon(args)...)
	cmd := exec.Command(line[0], line[1:]...)
	cmd.Env = []string{
		"HOME=" + h.Dir, "XDG_RUNTIME_DIR=" + h.RuntimeDir, "PATH=/usr/bin:/bin", "LANG=C.UTF-8", "GORACE=atexit_sleep_ms=0",
		"PTYCTL_SERVER_RESULTS=full", // the tests read full results
	}
	cmd.Env = append(cmd.Env, h.Env...)
	cmd.Dir = h.Dir
	if h.UID != 0 {
		cmd.SysProcAttr = system.As(h.UID, h.UID)
	}
	return cmd
}

// Answers is ptyctl's output, for a test that reads the lines itself.
func (p *Program) Answers() io.Reader { return p.stdout }

// Hide names a secret that the program was given: it is looked for when the program has ended, and by leaktest.
func (p *Program) Hide(secrets ...string) {
	for _, s := range secrets {
		if strings.Contains(s, leaktest.Mark) { // the others are lines of keys, which NewKey has registered
			leaktest.Secret(p.TB, s)
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.secrets = append(slices.Clip(p.secrets), secrets...)
}

// Finish ends the input and checks the end. It may be called again.
func (p *Program) Finish() {
	p.TB.Helper()
	asked := p.Stdin.closed.Load() // to end: then it may be about to end its programs
	left := Descendants(p.TB, p.own)
	// One that has just been killed may still wait to be reaped.
	for end := time.Now().Add(Patience); len(left) > 0 && (asked || Ended(left)) && time.Now().Before(end); {
		time.Sleep(10 * time.Millisecond)
		left = Descendants(p.TB, p.own)
	}
	if len(left) > 0 && p.running() && !p.isFar {
		p.TB.Errorf("ptyctl has started programs: %v", left)
	}
	if p.far != nil {
		p.far.Killed = p.far.Killed || p.Killed
	}
	p.Stdin.Close()
	go func() { _, _ = io.Copy(io.Discard, p.stdout) }() // the program must not wait for a reader; ends with the process
	p.CheckEnd()
}

// running reports whether the process has not ended.
func (p *Program) running() bool {
	select {
	case <-p.Ended:
		return false
	default:
		return true
	}
}

// Kill ends the process without a chance to do anything, and waits for its end.
func (p *Program) Kill() {
	p.TB.Helper()
	p.Killed = true
	if err := p.Cmd.Process.Kill(); err != nil {
		p.TB.Fatal(err)
	}
	<-p.Ended
}

// CheckEnd waits for the end of the process and checks it.
func (p *Program) CheckEnd() {
	p.TB.Helper()
	select {
	case <-p.Ended:
	case <-time.After(Patience):
		_ = p.Cmd.Process.Signal(syscall.SIGQUIT) // its goroutines, to the log
		<-p.Ended
		p.TB.Errorf("ptyctl still ran %v after its input had ended:\n%s", Patience, Tail(p.Log.String(), 64<<10))
	}
	if p.status != nil && !p.Killed {
		p.TB.Errorf("ptyctl ended with %v, want status 0; its log:\n%s", p.status, Tail(p.Log.String(), 8<<10))
	}
	log := p.Log.String()
	if strings.Contains(log, "DATA RACE") {
		p.TB.Errorf("the race detector reports:\n%s", log)
	}
	CheckJSONRPC(p.TB, p.Seen.String())
	trail := CheckAudit(p.TB, p.Audit)
	recorded := checkRecordings(p.TB, p.recordings, func(pid int) bool { return pid == p.PID }, !p.Killed && p.PID == p.own)
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, s := range p.secrets {
		if strings.Contains(p.Seen.String(), s) {
			p.TB.Errorf("stdout shows the secret %q", s)
		}
		if strings.Contains(log, s) {
			p.TB.Errorf("the log shows the secret %q", s)
		}
		if strings.Contains(trail, s) {
			p.TB.Errorf("the audit log shows the secret %q", s)
		}
		if strings.Contains(recorded, s) {
			p.TB.Errorf("a recording shows the secret %q", s)
		}
	}
}

// CheckJSONRPC checks that each line is one JSON-RPC 2.0 message, or a batch of them.
func CheckJSONRPC(tb testing.TB, stdout string) {
	tb.Helper()
	lines := bufio.NewReader(strings.NewReader(stdout))
	for {
		line, err := lines.ReadBytes('\n')
		if err == io.EOF && len(line) == 0 {
			return
		}
		type message struct{ JSONRPC string }
		messages := make([]message, 1)
		var into any = &messages[0]
		if bytes.HasPrefix(line, []byte("[")) {
			into = &messages
		}
		bad := json.Unmarshal(line, into)
		if bad != nil || len(messages) == 0 || err != nil || bytes.ContainsRune(line, '\r') ||
			slices.ContainsFunc(messages, func(m message) bool { return m.JSONRPC != "2.0" }) {
			tb.Errorf("stdout has the line %q, which is not JSON-RPC (%v)", line, bad)
		}
	}
}

// Tail returns the last n bytes of text, at most.
func Tail(text string, n int) string { return text[max(0, len(text)-n):] }

// Run calls ptyctl without input and returns its output and exit status.
func (h *Home) Run(tb testing.TB, args ...string) (stdout, stderr string, status int) {
	tb.Helper()
	cmd := h.Command(args...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		tb.Fatal(err)
	}
	leaktest.Output(tb, "stdout", out.Bytes())
	leaktest.Output(tb, "stderr", errs.Bytes())
	return out.String(), errs.String(), cmd.ProcessState.ExitCode()
}
