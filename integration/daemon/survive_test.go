package daemon

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"ptyctl/internal/lab"
	"ptyctl/internal/lab/system"
)

const openBash = `{"action":"open","protocol":"local","argv":["bash","--norc"]}`

// A command goes on when its client is killed. Sessions stay when a client ends.
func TestClientKilled(t *testing.T) {
	h := newHome(t)
	c := h.Converse(t, "--daemon")
	id := c.NextResult(c.Ask(lab.ToolSession, openBash)).SessionID
	begun, done := filepath.Join(h.Dir, "begun"), filepath.Join(h.Dir, "done")
	c.Ask(lab.ToolExec, `{"session_id":%s,"cmd":%s}`, id,
		fmt.Sprintf("touch %s; while [ ! -e %s.go ]; do sleep 0.05; done; touch %s", begun, begun, done))
	lab.Eventually(t, "the command has begun", func() bool { return exists(begun) })
	c.Kill()
	lab.Eventually(t, "the client has gone", func() bool { return theDaemon(t, h).Clients == 0 })
	if err := os.WriteFile(begun+".go", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	lab.Eventually(t, "the command has ended", func() bool { return exists(done) })
	if d := theDaemon(t, h); d.Sessions != 1 {
		t.Errorf("daemon status shows %d sessions, want 1", d.Sessions)
	}
	if out, _, _ := h.Run(t, "sessions"); !strings.Contains(out, id) {
		t.Errorf("ptyctl sessions = %q, want the session %s", out, id)
	}

	// The next client at the same place finds it, and takes it; nothing is taken by itself.
	other := h.Converse(t, "--daemon")
	if r := other.NextResult(other.Ask(lab.ToolSession, `{"action":"list"}`)); !strings.Contains(r.Text, `"resumable":true`) {
		t.Errorf("list of the next client = %s, want the session as resumable", r.Text)
	}
	if r := other.NextResult(other.Ask(lab.ToolIO, `{"action":"read","session_id":%s}`, id)); r.ErrorCode == "" {
		t.Errorf("the next client reads the session without adopting it: %s", r.Text)
	}
	if r := other.NextResult(other.Ask(lab.ToolSession, `{"action":"adopt","session_id":%s}`, id)); r.ErrorCode != "" {
		t.Fatalf("adopt by the next client: %s", r.Text)
	}
	if r := other.NextResult(other.Ask(lab.ToolExec, `{"session_id":%s,"cmd":"echo still $((40+2))"}`, id)); !strings.Contains(r.Stdout, "still 42") {
		t.Errorf("exec after adopt: %s, want still 42", r.Text)
	}
}

// When the daemon is killed, each client gets an error at its next call, also at one in progress. Nothing is opened
// again, and no child is left.
func TestDaemonKilled(t *testing.T) {
	h := newHome(t)
	clients := []*lab.Conversation{h.Converse(t, "--daemon"), h.Converse(t, "--daemon")}
	id := clients[0].NextResult(clients[0].Ask(lab.ToolSession, openBash)).SessionID
	d := theDaemon(t, h)
	children := lab.Descendants(t, d.PID)
	if len(children) == 0 {
		t.Fatal("the daemon has no child, want a shell")
	}
	waits := clients[0].Ask(lab.ToolIO, `{"action":"read","session_id":%s,"until_regex":"never","timeout_ms":30000}`, id)
	lab.Eventually(t, "a waiting read", func() bool {
		clients[1].NextResult(clients[1].Ask(lab.ToolSession, `{"action":"list"}`))
		return true
	})
	if err := system.Kill(d.PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	const says = "has ended, and all its sessions with it"
	told := func(r lab.Result, which string) {
		t.Helper()
		if r.ErrorCode != "INTERNAL" || r.Retryable || !strings.Contains(r.Message, says) {
			t.Errorf("%s: got %s, want an error that says %q and is not to be retried", which, r.Text, says)
		}
	}
	told(clients[0].NextResult(waits), "the read in progress")
	for i, c := range clients {
		told(c.NextResult(c.Ask(lab.ToolSession, openBash)), fmt.Sprintf("the next call of client %d", i))
		c.Killed = true // it ends with a failure, as it should
	}
	for _, p := range children {
		gone(t, p.Command, p.PID)
	}
	if all := h.Daemons(t); len(all) != 0 {
		t.Errorf("daemon status shows %v, want none: no client may start another by itself", all)
	}
}

// When the daemon is killed, the consoles of its sessions are free for others.
func TestConsoleFreed(t *testing.T) {
	s := lab.StartBusybox(t)
	h := newHome(t, "[locks]", "device_dir = '"+filepath.Join(t.TempDir(), "devices")+"'")
	open := func(c *lab.Conversation) lab.Result {
		t.Helper()
		return c.NextResult(c.Ask(lab.ToolSession, fmt.Sprintf(`{"action":"open","protocol":"telnet","host":"127.0.0.1","port":%d,`+
			`"session_type":"console","device_id":"rack/switch","acquire_lock":true,"task_id":"t1"}`, s.Port)))
	}
	one, two := h.Converse(t, "--daemon"), h.Converse(t, "--daemon")
	alone := h.Converse(t)
	if r := open(one); r.ErrorCode != "" {
		t.Fatalf("the first client opens the console: %s", r.Text)
	}
	d := theDaemon(t, h)
	if r := open(alone); r.ErrorCode != "LOCKED" || r.Details.DeviceOwner.PID != d.PID {
		t.Errorf("a ptyctl without a daemon opens the console: %s, want LOCKED by process %d", r.Text, d.PID)
	}
	if r := open(two); r.ErrorCode != "LOCKED" {
		t.Errorf("another client of the daemon opens the console: %s, want LOCKED", r.Text)
	}
	if err := system.Kill(d.PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	gone(t, "the daemon", d.PID)
	one.Killed, two.Killed = true, true
	next := h.Converse(t, "--daemon")
	if r := open(next); r.ErrorCode != "" {
		t.Errorf("a client of the next daemon opens the console: %s, want it free", r.Text)
	}
}

// A call that is cut off by the end of its client's input says that its command goes on, and it does: the next client
// gets the result. So does a signal to the shim.
func TestEndOfInputGoesOn(t *testing.T) {
	for name, end := range map[string]func(*lab.Conversation) error{
		"end of input": func(c *lab.Conversation) error { return c.Stdin.Close() },
		"SIGTERM":      func(c *lab.Conversation) error { return c.Cmd.Process.Signal(syscall.SIGTERM) },
	} {
		t.Run(name, func(t *testing.T) {
			h := newHome(t)
			c := h.Converse(t, "--daemon")
			id := c.NextResult(c.Ask(lab.ToolSession, openBash)).SessionID
			begun := filepath.Join(h.Dir, "begun")
			call := c.Ask(lab.ToolExec, `{"session_id":%s,"cmd":%s}`, id,
				fmt.Sprintf("touch %s; while [ ! -e %s.go ]; do sleep 0.05; done; echo built", begun, begun))
			lab.Eventually(t, "the command has begun", func() bool { return exists(begun) })
			if err := end(c); err != nil {
				t.Fatal(err)
			}
			if a, ok := c.Drain()[call]; ok {
				if r := a.ToolResult(t); r.ErrorCode != "CANCELED" || !strings.Contains(r.Message, "the command goes on") {
					t.Errorf("the call is answered %s, want CANCELED and that the command goes on", r.Text)
				}
			} else if name == "end of input" {
				t.Error("the call in progress has no answer")
			}
			next := h.Converse(t, "--daemon")
			r, a := asks(t, next, `{"action":"adopt","session_id":%s}`, id)
			if len(a.Running) != 1 {
				t.Fatalf("adopt = %s, want the exec that runs", r.Text)
			}
			if err := os.WriteFile(begun+".go", nil, 0o600); err != nil {
				t.Fatal(err)
			}
			if r := next.NextResult(next.Ask(lab.ToolExec, `{"session_id":%s,"exec_id":%s}`, id, a.Running[0])); !strings.Contains(r.Stdout, "built") {
				t.Errorf("the exec's result = %s, want built", r.Text)
			}
		})
	}
}

// A program that a session of the daemon starts cannot become one of its clients.
func TestOwnProgramRefused(t *testing.T) {
	h := newHome(t)
	h.Env = append(h.Env, "PTYCTL_LOCAL_INHERIT_ENV=XDG_RUNTIME_DIR,PTYCTL_*")
	c := h.Converse(t, "--daemon")
	for _, before := range []string{"", "setsid -w "} {
		r := c.NextResult(c.Ask(lab.ToolRun, `{"argv":["sh","-c",%s]}`,
			before+h.Program+" mcp --daemon --log-level debug --config "+h.Config+" </dev/null"))
		if r.ExitCode == nil || *r.ExitCode == 0 || !strings.Contains(r.Stderr, "belongs to a session of this daemon") {
			t.Errorf("%sptyctl mcp --daemon in a session: %s, want a refusal", before, r.Text)
		}
	}
	if d := theDaemon(t, h); d.Clients != 1 {
		t.Errorf("daemon status shows %d clients, want 1", d.Clients)
	}
}

// A client knows only its own sessions; a person sees all.
func TestIsolation(t *testing.T) {
	h := newHome(t)
	a, b := h.Converse(t, "--daemon"), h.Converse(t, "--daemon")
	id := a.NextResult(a.Ask(lab.ToolSession, openBash)).SessionID
	if r := b.NextResult(b.Ask(lab.ToolSession, `{"action":"list"}`)); len(r.Sessions) != 0 {
		t.Errorf("list of another client = %s, want no session", r.Text)
	}
	for _, call := range []string{`{"action":"read","session_id":%s}`, `{"action":"write","session_id":%s,"data":"x"}`} {
		if r := b.NextResult(b.Ask(lab.ToolIO, call, id)); r.ErrorCode != "NOT_FOUND" {
			t.Errorf("%s of another client: %s, want NOT_FOUND", call, r.Text)
		}
	}
	if out, _, _ := h.Run(t, "sessions"); !strings.Contains(out, id) {
		t.Errorf("ptyctl sessions = %q, want the session %s", out, id)
	}
	// The audit log tells the clients apart.
	shims := make(map[string]bool)
	for line := range strings.SplitSeq(string(lab.ReadFile(t, h.Audit)), "\n") {
		if _, rest, ok := strings.Cut(line, `"shim":"`); ok {
			name, _, _ := strings.Cut(rest, `"`)
			shims[name] = true
		}
	}
	if len(shims) != 2 {
		t.Errorf("the audit log names the clients %v, want two: the one that opened, and the one that was refused", shims)
	}
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
