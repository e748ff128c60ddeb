package integration

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"ptyctl/internal/leaktest"
)

// A program is a running ptyctl mcp.
type program struct {
	t      testing.TB
	cmd    *exec.Cmd
	pid    int
	stdin  io.WriteCloser
	stdout io.Reader // what nobody has read yet
	seen   *capture  // all of stdout
	log    *capture
	audit  string        // its audit log, which other programs of the same home may write too
	ended  chan struct{} // closed when the process has ended
	status error         // of the process, once it has ended
	told   leaktest.Client
	killed bool // by the test: then its status is no concern

	mu      sync.Mutex // guards the following
	secrets []string   // that must not be seen in seen and log
}

// start starts ptyctl in h. When the test is over its input ends, and what package doc promises is checked.
func (h *home) start(tb testing.TB, args ...string) *program {
	tb.Helper()
	p := &program{t: tb, seen: newCapture(), log: newCapture(), ended: make(chan struct{}), secrets: h.secrets}
	p.cmd = h.command(
		append([]string{"mcp", "--transport", "stdio", "--config", h.config, "--log-level", "debug"}, args...)...)
	p.cmd.Env = append(p.cmd.Env, "PTYCTL_AUDIT_PATH="+h.audit)
	p.audit = h.audit
	p.cmd.Stderr = p.log
	p.cmd.WaitDelay = patience
	in, err := p.cmd.StdinPipe()
	if err != nil {
		tb.Fatal(err)
	}
	// Not StdoutPipe: Wait would close it under a reader who has not come to the end.
	read, write := io.Pipe()
	p.cmd.Stdout = io.MultiWriter(p.seen, write)
	p.stdin, p.stdout = in, read
	if err := p.cmd.Start(); err != nil {
		tb.Fatal(err)
	}
	p.pid = p.cmd.Process.Pid
	go func() {
		p.status = p.cmd.Wait()
		close(p.ended)
		write.Close()
	}()
	tb.Cleanup(func() {
		p.finish()
		leaktest.Output(tb, "stdout", p.seen.String())
		leaktest.Output(tb, "log", p.log.String())
		if tb.Failed() {
			tb.Logf("log of ptyctl, its end:\n%s", tail(p.log.String(), 8<<10))
		}
	})
	return p
}

// command is a call of ptyctl by the owner of h: no agent, and nothing of the tester's environment.
func (h *home) command(args ...string) *exec.Cmd {
	line := append(append(slices.Clip(h.wrap), h.program), args...)
	cmd := exec.Command(line[0], line[1:]...)
	cmd.Env = []string{"HOME=" + h.dir, "PATH=/usr/bin:/bin", "LANG=C.UTF-8", "GORACE=atexit_sleep_ms=0"}
	cmd.Env = append(cmd.Env, h.env...)
	cmd.Dir = h.dir
	if h.uid != 0 {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: h.uid, Gid: h.uid}}
	}
	return cmd
}

// hide names a secret that the program was given: it is looked for when the program has ended, and by leaktest.
func (p *program) hide(secrets ...string) {
	for _, s := range secrets {
		if strings.Contains(s, leaktest.Mark) { // the others are lines of keys, which newKey has registered
			leaktest.Secret(p.t, s)
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.secrets = append(slices.Clip(p.secrets), secrets...)
}

// finish ends the input and checks the end. It may be called again.
func (p *program) finish() {
	p.t.Helper()
	if children := below(p.t, p.pid); len(children) > 0 && p.running() {
		p.t.Errorf("ptyctl has started programs: %v", children)
	}
	p.stdin.Close()
	go io.Copy(io.Discard, p.stdout) // the program must not wait for a reader; ends with the process
	p.checkEnd()
}

// running reports whether the process has not ended.
func (p *program) running() bool {
	select {
	case <-p.ended:
		return false
	default:
		return true
	}
}

// kill ends the process without a chance to do anything, and waits for its end.
func (p *program) kill() {
	p.t.Helper()
	p.killed = true
	if err := p.cmd.Process.Kill(); err != nil {
		p.t.Fatal(err)
	}
	<-p.ended
}

// checkEnd waits for the end of the process and checks it.
func (p *program) checkEnd() {
	p.t.Helper()
	select {
	case <-p.ended:
	case <-time.After(patience):
		p.cmd.Process.Signal(syscall.SIGQUIT) // its goroutines, to the log
		<-p.ended
		p.t.Errorf("ptyctl still ran %v after its input had ended:\n%s", patience, tail(p.log.String(), 64<<10))
	}
	if p.status != nil && !p.killed {
		p.t.Errorf("ptyctl ended with %v, want status 0; its log:\n%s", p.status, tail(p.log.String(), 8<<10))
	}
	log := p.log.String()
	if strings.Contains(log, "DATA RACE") {
		p.t.Errorf("the race detector reports:\n%s", log)
	}
	checkJSONRPC(p.t, p.seen.String())
	trail := checkAudit(p.t, p.audit)
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, s := range p.secrets {
		if strings.Contains(p.seen.String(), s) {
			p.t.Errorf("stdout shows the secret %q", s)
		}
		if strings.Contains(log, s) {
			p.t.Errorf("the log shows the secret %q", s)
		}
		if strings.Contains(trail, s) {
			p.t.Errorf("the audit log shows the secret %q", s)
		}
	}
}

// checkJSONRPC checks that each line is one JSON-RPC 2.0 message.
func checkJSONRPC(tb testing.TB, stdout string) {
	tb.Helper()
	lines := bufio.NewReader(strings.NewReader(stdout))
	for {
		line, err := lines.ReadBytes('\n')
		if err == io.EOF && len(line) == 0 {
			return
		}
		var m struct{ JSONRPC string }
		if bad := json.Unmarshal(line, &m); bad != nil || m.JSONRPC != "2.0" || err != nil || bytes.ContainsRune(line, '\r') {
			tb.Errorf("stdout has the line %q, which is no line of JSON-RPC (%v)", line, bad)
		}
	}
}

// tail returns the last n bytes of text, at most.
func tail(text string, n int) string { return text[max(0, len(text)-n):] }
