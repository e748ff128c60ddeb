package policy

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/crypto/ssh"

	"ptyctl/internal/lab"
	"ptyctl/internal/sshserver"
)

// A session with a login that asks, typed secrets and a secret on a command line: the audit log says who did what, and
// has none of these secrets.
func TestAudit(t *testing.T) {
	const login, typed, argument = "audit-login-1138", "audit-typed-1138", "audit-argument-1138"
	s := lab.ServeSSH(t, sshserver.Config{KeyboardInteractive: func(_ string, ask ssh.KeyboardInteractiveChallenge) error {
		if answers, err := ask("", "", []string{"Password: "}, []bool{false}); err != nil || len(answers) != 1 ||
			answers[0] != login {
			return errors.New("wrong answer")
		}
		return nil
	}})
	h := lab.NewHome(t, "[audit]\nfail_closed = true\nfsync = 'always'")
	h.Trust(t, s.KnownHostsLine())
	c := h.Connect(t)
	c.Hide(login, typed, argument)
	id := c.Call(
		t,
		lab.ToolSession,
		`{"action":"open","protocol":"ssh","host":"127.0.0.1","port":%s,"username":"alice","task_id":"task-1"}`,
		s.Port(),
	).SessionID
	c.Call(
		t,
		lab.ToolIO,
		`{"action":"write","session_id":%s,"task_id":"task-1","data":%s,"timeout_ms":10000}`,
		id,
		login+"\r",
	)
	c.Call(t, lab.ToolExec, `{"session_id":%s,"task_id":"task-1","cmd":%s}`, id, ": --password="+argument)
	c.Call(t, lab.ToolIO, `{"action":"write","session_id":%s,"task_id":"task-1","data":"read -r x\r"}`, id)
	c.Call(
		t,
		lab.ToolIO,
		`{"action":"write","session_id":%s,"task_id":"task-1","data":%s,"sensitive":true}`,
		id,
		typed+"\r",
	)
	c.Call(t, lab.ToolSession, `{"action":"lock","session_id":%s,"task_id":"task-1"}`, id)
	c.Refused(t, "LOCKED", lab.ToolExec, `{"session_id":%s,"task_id":"task-2","cmd":"id"}`, id)
	c.Call(t, lab.ToolSession, `{"action":"close","session_id":%s,"task_id":"task-1"}`, id)
	c.Session.Close()
	c.Finish()

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
		lines := lab.AuditLines(t, h.Audit, want.event)
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
		if n.Outcome != want.outcome || n.Session != id || n.Proto != "ssh" ||
			n.Host != "127.0.0.1" || n.Bytes != want.bytes ||
			!strings.Contains(n.Command, want.command) || !strings.Contains(n.Detail, want.detail) ||
			n.Actor == nil || n.Actor.Task != want.task ||
			n.Actor.Client != "integration" ||
			n.Actor.Transport != "stdio" {
			t.Errorf("%s: %+v, by %+v", want.event, n, n.Actor)
		}
	}
	if intents != 6 { // open, answer, exec, two writes, close
		t.Errorf("%d intents", intents)
	}
	if first := lab.AuditLines(t, h.Audit, "exec")[0]; first.Command != ": --password=[redacted]" {
		t.Errorf("command %q", first.Command)
	}
	if ends := lab.AuditLines(t, h.Audit, "exec_end"); len(ends) != 1 || ends[0].Exit == nil || *ends[0].Exit != 0 ||
		ends[0].Actor.Task != "task-1" {
		t.Errorf("exec_end records = %+v, want one with exit 0 by task-1", ends)
	}
	if info, err := os.Stat(h.Audit); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}

	c.EndEngine() // its log names the head
	out, _, status := h.Run(t, "audit", "verify", h.Audit)
	_, head, ok := strings.Cut(strings.TrimSpace(out), "head: ")
	if status != 0 || !ok || !strings.HasPrefix(out, "ok: ") {
		t.Fatalf("verify: status %d: %s", status, out)
	}
	if !strings.Contains(c.EngineLog(), head) {
		t.Error("ptyctl's own log does not name the head")
	}
	if _, errs, status := h.Run(t, "audit", "verify", "--head", head, h.Audit); status != 0 {
		t.Errorf("verify --head: status %d: %s", status, errs)
	}
	whole, err := os.ReadFile(h.Audit)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.SplitAfter(string(whole), "\n")
	for name, c := range map[string]struct{ text, head, says string }{
		"edited":  {strings.Replace(string(whole), "task-1", "task-9", 1), "", "audit.jsonl:"},
		"removed": {strings.Join(append(append([]string(nil), lines[:4]...), lines[5:]...), ""), "", "audit.jsonl:5"},
		"cut":     {strings.Join(lines[:len(lines)-2], ""), head, "no line has the hash"},
	} {
		h.Write(t, h.Audit, c.text)
		args := []string{"audit", "verify", h.Audit}
		if c.head != "" {
			args = []string{"audit", "verify", "--head", c.head, h.Audit}
		}
		if out, errs, status := h.Run(t, args...); status != 1 || !strings.Contains(errs, c.says) || out != "" {
			t.Errorf("%s: status %d: %s%s", name, status, out, errs)
		}
	}
	h.Write(t, h.Audit, string(whole))
}

// ptyctl must not start with an audit log that other users could replace.
func TestAuditMustBeSafe(t *testing.T) {
	h := lab.NewHome(t)
	open := filepath.Join(h.Dir, "open")
	if err := os.Mkdir(open, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(open, 0o777); err != nil {
		t.Fatal(err)
	}
	h.Write(t, h.Config, "[audit]\npath = '"+filepath.Join(open, "audit.jsonl")+"'\n")
	if out, errs, status := h.Run(t, "mcp", "--config", h.Config); status != 1 || out != "" ||
		!strings.Contains(errs, "everybody may write") {
		t.Errorf("status %d: %s%s", status, out, errs)
	}
}
