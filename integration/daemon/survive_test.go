package daemon

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"ptyctl/internal/lab"
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

// When the daemon is killed, each client is told at its next call, also at one in progress. Nothing is opened again, and
// no child is left.
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
	if err := syscall.Kill(d.PID, syscall.SIGKILL); err != nil {
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
	for _, line := range strings.Split(string(lab.ReadFile(t, h.Audit)), "\n") {
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

// An upgrade replaces the program's file while the daemon runs. New clients come to the old daemon, and a terminal that
// prints all the while loses no byte.
func TestUpgrade(t *testing.T) {
	s := lab.StartSSHD(t)
	h := lab.HomeFor(t, []*lab.SSHD{s})
	h.Program = filepath.Join(h.Dir, "ptyctl")
	install := func() {
		t.Helper()
		program := lab.ReadFile(t, lab.Binary)
		_ = os.Remove(h.Program)                                        // as package managers do: the running one keeps its file
		if err := os.WriteFile(h.Program, program, 0o700); err != nil { //nolint:gosec // it is a program
			t.Fatal(err)
		}
		h.Given[h.Program] = true
	}
	install()
	h.EndDaemons(t)
	c := h.Converse(t, "--daemon")
	id := c.Open(s)
	c.NextResult(c.Ask(lab.ToolIO, `{"action":"write","session_id":%s,"data":%s}`, id,
		"i=0; while [ $i -lt 3000 ]; do i=$((i+1)); echo line $i; [ $((i%30)) = 0 ] && sleep 0.02; done; echo fin''ished\r"))
	d := theDaemon(t, h)
	c.Drain()
	install()
	next := h.Converse(t, "--daemon")
	if now := theDaemon(t, h); now.PID != d.PID {
		t.Errorf("after the upgrade the daemon is process %d, want %d", now.PID, d.PID)
	}
	if r := next.NextResult(next.Ask(lab.ToolSession, `{"action":"adopt","session_id":%s}`, id)); r.ErrorCode != "" {
		t.Fatalf("adopt after the upgrade: %s", r.Text)
	}
	r := next.NextResult(next.Ask(lab.ToolIO,
		`{"action":"read","session_id":%s,"cursor":"0","until_regex":"finished","max_bytes":1000000,"timeout_ms":30000}`, id))
	if !r.Matched || r.DroppedBytes != 0 {
		t.Fatalf("read from the beginning: matched %t, %d bytes dropped, want all of it", r.Matched, r.DroppedBytes)
	}
	from := 0
	for i := 1; i <= 3000; i++ {
		line := fmt.Sprintf("\nline %d\n", i)
		at := strings.Index(r.Chunk[from:], line)
		if at < 0 {
			t.Fatalf("the output has no line %d behind the line before, want every line", i)
		}
		from += at + len(line) - 1
	}
}

// A session that is being reopened when its client is killed is open again for the next one that adopts it.
func TestReopenAcrossClients(t *testing.T) {
	s := lab.StartSSHD(t)
	h := lab.HomeFor(t, []*lab.SSHD{s})
	h.EndDaemons(t)
	one := h.Converse(t, "--daemon")
	id := one.NextResult(one.Ask(lab.ToolSession, fmt.Sprintf(
		`{"action":"open","protocol":"ssh","host":"127.0.0.1","port":%d,"username":%q,"until_prompt":true}`, s.Port, s.User,
	))).SessionID
	s.Stop(t)
	end := one.NextResult(one.Ask(lab.ToolIO,
		`{"action":"read","session_id":%s,"cursor":"0","until_regex":"never-there","timeout_ms":20000}`, id))
	r := one.NextResult(one.Ask(lab.ToolSession, `{"action":"reopen","session_id":%s,"wait_ms":600000}`, id))
	if r.State != "connecting" || r.Cursor != end.NextCursor {
		t.Fatalf("reopen without a server: %s, want state connecting at cursor %s", r.Text, end.NextCursor)
	}
	one.Kill()
	lab.Eventually(t, "the client has gone", func() bool { return theDaemon(t, h).Clients == 0 })

	two := h.Converse(t, "--daemon")
	if r := two.NextResult(two.Ask(lab.ToolSession, `{"action":"adopt","session_id":%s}`, id)); r.State != "connecting" {
		t.Fatalf("adopt of a session that is being reopened: %s, want state connecting", r.Text)
	}
	s.Again(t)
	r = two.NextResult(two.Ask(lab.ToolSession,
		`{"action":"wait","on":[{"session_id":%s,"until_state":"open"}],"timeout_ms":40000}`, id))
	if len(r.Fired) != 1 || r.Fired[0].State != "open" || r.Fired[0].NextCursor != end.NextCursor {
		t.Fatalf("wait by the next client: %s, want the session open at cursor %s", r.Text, end.NextCursor)
	}
	if r := two.NextResult(two.Ask(lab.ToolExec, `{"session_id":%s,"cmd":"echo again"}`, id)); r.Stdout != "again\n" {
		t.Errorf("exec after the reopen: %s, want again", r.Text)
	}
}
