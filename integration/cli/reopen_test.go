package cli

import (
	"strings"
	"testing"

	"ptyctl/internal/lab"
	"ptyctl/internal/sshserver"
)

// lost waits until the far side of a session has gone.
func lost(t *testing.T, c *lab.Client, id string) {
	t.Helper()
	r := c.Call(t, lab.ToolIO, `{"action":"read","session_id":%s,"until_regex":"never-there","timeout_ms":20000}`, id)
	if !r.EOF {
		t.Fatalf("after the server is gone a read returns %s, want eof", lab.Tail(r.Text, 2000))
	}
}

// A person connects a session of an agent again, at once or when its host is back, and the agent works on in it.
func TestReopenByHand(t *testing.T) {
	s := lab.StartSSHD(t)
	h := lab.HomeFor(t, []*lab.SSHD{s}, lab.ReadWrite)
	c := h.Connect(t)
	id := c.Open(t, s)
	refused := func(status int, text string, args ...string) {
		t.Helper()
		args = append([]string{"reopen", "--config", h.Config}, args...)
		if stdout, stderr, got := h.Run(t, args...); got != status || !strings.Contains(stdout+stderr, text) {
			t.Errorf("%q ends with %d: %q, %q; want %d and %q", args, got, stdout, stderr, status, text)
		}
	}
	refused(1, "is open, so there is nothing to reopen", id)
	refused(1, "there is no session nobody-knows-it", "nobody-knows-it")
	refused(2, "at most 30m", "--wait", "31m", id)
	s.Stop(t)
	lost(t, c, id)
	refused(255, "ptyctl reopen: cannot connect to 127.0.0.1", id)
	refused(255, `"error_code": "CONNECT_FAILED"`, "--json", id)
	refused(255, "attempts go on until", "--wait", "1s", id)

	// Who leaves ends no attempt.
	p := h.AtTerminal(t, "reopen", "--config", h.Config, "--wait", "10m", id)
	p.Sees("attempts go on until .*, also after ctrl-c")
	p.Types("\x03")
	p.Leaves(130)
	refused(1, "wait until ptyctl sessions shows the session as open", id)
	s.Again(t)
	if r := c.Call(t, lab.ToolSession,
		`{"action":"wait","on":[{"session_id":%s,"until_state":"open"}],"timeout_ms":40000}`, id); len(r.Fired) != 1 {
		t.Fatalf("the session is not open again: %s", r.Text)
	}

	s.Stop(t)
	lost(t, c, id)
	p = h.AtTerminal(t, "reopen", "--config", h.Config, "--wait", "10m", id)
	p.Sees("attempts go on")
	s.Again(t)
	p.Sees("session " + id + " is open again: connection 3")
	p.Leaves(0)
	if r := c.Call(t, lab.ToolExec, `{"session_id":%s,"cmd":"echo again"}`, id); r.Stdout != "again\n" {
		t.Errorf("the agent's next command: %s", r.Text)
	}

	// The lock counts, and so does the mode of the socket.
	c.Call(t, lab.ToolSession, `{"action":"lock","session_id":%s,"task_id":"t1"}`, id)
	s.Stop(t)
	lost(t, c, id)
	s.Again(t)
	refused(1, "holds this session's lock", id)
	c.Call(t, lab.ToolSession, `{"action":"unlock","session_id":%s,"task_id":"t1"}`, id)
	refused(0, `"opens": 4`, "--json", id)

	h = lab.HomeFor(t, []*lab.SSHD{s})
	c = h.Connect(t)
	id = c.Open(t, s)
	s.Stop(t)
	lost(t, c, id)
	refused(1, "start it with --control-mode readwrite", id)
}

// The login asks the person. Their answer is neither shown nor known to the agent.
func TestReopenAsks(t *testing.T) {
	const password, wrong = "reopen-password-1138", "other-password-1138"
	s := lab.ServeSSH(t, sshserver.Config{Passwords: map[string]string{"alice": password}})
	h := lab.NewHome(t, lab.ReadWrite)
	h.Trust(t, s.KnownHostsLine())
	c := h.Connect(t)
	c.Hide(password)
	id := c.Call(t, lab.ToolSession,
		`{"action":"open","protocol":"ssh","host":"127.0.0.1","port":%s,"username":"alice","auth":{"password":%s}}`,
		s.Port(), password).SessionID
	s.DropConnections()
	lost(t, c, id)
	if _, stderr, status := h.Run(t, "reopen", "--config", h.Config, id); status != 255 ||
		!strings.Contains(stderr, "run this at a terminal") {
		t.Errorf("reopen without a terminal ends with %d: %q; want 255 and a hint", status, stderr)
	}
	if _, stderr, status := h.Run(t, "reopen", "--config", h.Config, id); status != 1 ||
		!strings.Contains(stderr, "answer it with ptyctl answer") {
		t.Errorf("reopen while the login asks ends with %d: %q; want 1 and a hint", status, stderr)
	}
	p := h.AtTerminal(t, "answer", "--config", h.Config, id)
	p.Sees("password: $")
	p.Types(password + "\r")
	p.Leaves(0)

	s.DropConnections()
	lost(t, c, id)
	p = h.AtTerminal(t, "reopen", "--config", h.Config, id)
	p.Sees("password: $")
	p.Types(wrong + "\r")
	p.Sees("try again.*password: $")
	p.Types(password + "\r")
	p.Sees("is open again: connection 3")
	p.Leaves(0)
	if strings.Contains(p.Text(), password) {
		t.Error("the password was shown")
	}
}
