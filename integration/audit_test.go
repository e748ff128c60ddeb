package integration

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/crypto/ssh"

	"ptyctl/audit"
	"ptyctl/internal/sshserver"
)

// checkAudit checks the chain of an audit log, its rotated files included, and returns all of its text. A program that
// was never started well has none.
func checkAudit(tb testing.TB, path string) string {
	tb.Helper()
	names, err := filepath.Glob(path + "*")
	if err != nil {
		tb.Fatal(err)
	}
	if len(names) == 0 {
		return ""
	}
	r, err := audit.Verify("", names...)
	if err != nil {
		tb.Errorf("the audit log is broken: %v", err)
	}
	if r.Lost > 0 {
		tb.Errorf("the audit log has lost %d lines", r.Lost)
	}
	var all strings.Builder
	for _, name := range names {
		p, err := os.ReadFile(name)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			tb.Fatal(err)
		}
		all.Write(p)
	}
	return all.String()
}

// auditLines returns the lines of an audit log that are of one event.
func auditLines(tb testing.TB, path, event string) []audit.Entry {
	tb.Helper()
	p, err := os.ReadFile(path)
	if err != nil {
		tb.Fatal(err)
	}
	var found []audit.Entry
	for line := range strings.Lines(string(p)) {
		var n audit.Entry
		if err := json.Unmarshal([]byte(line), &n); err != nil {
			tb.Fatalf("%v: %s", err, line)
		}
		if n.Event == event {
			found = append(found, n)
		}
	}
	return found
}

// A session with a login that asks, typed secrets and a secret on a command line: the audit log says who did what, and
// none of them.
func TestAudit(t *testing.T) {
	const login, typed, argument = "audit-login-1138", "audit-typed-1138", "audit-argument-1138"
	s := serve(t, sshserver.Config{KeyboardInteractive: func(_ string, ask ssh.KeyboardInteractiveChallenge) error {
		if answers, err := ask("", "", []string{"Password: "}, []bool{false}); err != nil || len(answers) != 1 ||
			answers[0] != login {
			return errors.New("wrong answer")
		}
		return nil
	}})
	h := newHome(t, "[audit]\nfail_closed = true\nfsync = 'always'")
	h.trust(t, s.KnownHostsLine())
	c := h.connect(t)
	c.hide(login, typed, argument)
	id := c.call(
		t,
		toolSession,
		`{"action":"open","protocol":"ssh","host":"127.0.0.1","port":%s,"username":"alice","task_id":"task-1"}`,
		s.Port(),
	).SessionID
	c.call(t, toolIO, `{"action":"write","session_id":%s,"task_id":"task-1","data":%s,"timeout_ms":10000}`, id, login+"\r")
	c.call(t, toolExec, `{"session_id":%s,"task_id":"task-1","cmd":%s}`, id, ": --password="+argument)
	c.call(t, toolIO, `{"action":"write","session_id":%s,"task_id":"task-1","data":"read -r x\r"}`, id)
	c.call(t, toolIO, `{"action":"write","session_id":%s,"task_id":"task-1","data":%s,"sensitive":true}`, id, typed+"\r")
	c.call(t, toolSession, `{"action":"lock","session_id":%s,"task_id":"task-1"}`, id)
	c.refused(t, "LOCKED", toolExec, `{"session_id":%s,"task_id":"task-2","cmd":"id"}`, id)
	c.call(t, toolSession, `{"action":"close","session_id":%s,"task_id":"task-1"}`, id)
	c.session.Close()
	c.finish()

	intents := 0
	for _, want := range []struct {
		event, outcome, task, detail, command string
		bytes, lines                          int // lines: with the intents
	}{
		{"open", "ok", "task-1", "alice@127.0.0.1:", "", 0, 2},
		{"answer", "ok", "task-1", "challenge", "", len(login) + 1, 2},
		{"exec", "LOCKED", "task-2", "terminal", "id", 0, 3},
		{"write", "ok", "task-1", "", "", len(typed) + 1, 4},
		{"lock", "ok", "task-1", "", "", 0, 1},
		{"close", "ok", "task-1", "", "", 0, 2},
	} {
		lines := auditLines(t, h.audit, want.event)
		if len(lines) != want.lines {
			t.Errorf("%s: %d lines, want %d", want.event, len(lines), want.lines)
			continue
		}
		for _, n := range lines {
			if n.Intent {
				intents++
			}
		}
		n := lines[len(lines)-1]
		if n.Outcome != want.outcome || n.Session != id || n.Proto != "ssh" || n.Host != "127.0.0.1" || n.Bytes != want.bytes || !strings.Contains(n.Command, want.command) || !strings.Contains(n.Detail, want.detail) ||
			n.Actor == nil || n.Actor.Task != want.task || n.Actor.Client != "integration" ||
			n.Actor.Transport != "stdio" {
			t.Errorf("%s: %+v, by %+v", want.event, n, n.Actor)
		}
	}
	if intents != 6 { // open, answer, exec, two writes, close
		t.Errorf("%d intents", intents)
	}
	if first := auditLines(t, h.audit, "exec")[0]; first.Command != ": --password=[redacted]" {
		t.Errorf("command %q", first.Command)
	}
	if ends := auditLines(t, h.audit, "exec_end"); len(ends) != 1 || ends[0].Exit == nil || *ends[0].Exit != 0 ||
		ends[0].Actor.Task != "task-1" {
		t.Errorf("%+v", ends)
	}
	if info, err := os.Stat(h.audit); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}

	out, _, status := h.run(t, "audit", "verify", h.audit)
	_, head, ok := strings.Cut(strings.TrimSpace(out), "head: ")
	if status != 0 || !ok || !strings.HasPrefix(out, "ok: ") {
		t.Fatalf("verify: status %d: %s", status, out)
	}
	if !strings.Contains(c.log.String(), head) {
		t.Error("ptyctl's own log does not name the head")
	}
	if _, errs, status := h.run(t, "audit", "verify", "--head", head, h.audit); status != 0 {
		t.Errorf("verify --head: status %d: %s", status, errs)
	}
	whole, err := os.ReadFile(h.audit)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.SplitAfter(string(whole), "\n")
	for name, c := range map[string]struct{ text, head, says string }{
		"edited":  {strings.Replace(string(whole), "task-1", "task-9", 1), "", "audit.jsonl:"},
		"removed": {strings.Join(append(append([]string(nil), lines[:4]...), lines[5:]...), ""), "", "audit.jsonl:5"},
		"cut":     {strings.Join(lines[:len(lines)-2], ""), head, "no line has the hash"},
	} {
		h.write(t, h.audit, c.text)
		args := []string{"audit", "verify", h.audit}
		if c.head != "" {
			args = []string{"audit", "verify", "--head", c.head, h.audit}
		}
		if out, errs, status := h.run(t, args...); status != 1 || !strings.Contains(errs, c.says) || out != "" {
			t.Errorf("%s: status %d: %s%s", name, status, out, errs)
		}
	}
	h.write(t, h.audit, string(whole))
}

// An audit log that anybody could replace is none: ptyctl does not start.
func TestAuditMustBeSafe(t *testing.T) {
	h := newHome(t)
	open := filepath.Join(h.dir, "open")
	if err := os.Mkdir(open, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(open, 0o777); err != nil {
		t.Fatal(err)
	}
	h.write(t, h.config, "[audit]\npath = '"+filepath.Join(open, "audit.jsonl")+"'\n")
	if out, errs, status := h.run(t, "mcp", "--config", h.config); status != 1 || out != "" ||
		!strings.Contains(errs, "everybody may write") {
		t.Errorf("status %d: %s%s", status, out, errs)
	}
}
