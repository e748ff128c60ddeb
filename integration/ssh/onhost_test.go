package ssh

import (
	"fmt"
	"sync"
	"testing"

	"ptyctl/internal/lab"
)

// Commands on hosts that the calls name, through the built program: names that ssh_config leads to one account of one
// server share its connection, and others have connections of their own.
func labOnHost(t *testing.T, l *lab.Namespace) {
	hop, web := l.SSHD(t, lab.ServerConfig{}), l.SSHD(t, lab.ServerConfig{})
	asks := l.SSHD(t, lab.ServerConfig{PAM: lab.PAMPassword, Config: "KbdInteractiveAuthentication yes"})
	h := lab.NewHome(t)
	h.Trust(t, hop.Known(), web.Known(), asks.Known())
	alice, carol := h.Dir+"/id_alice", h.Dir+"/id_carol"
	h.Write(t, alice, l.Users["alice"].Key.PEM)
	h.Write(t, carol, l.Users["carol"].Key.PEM)
	h.Write(t, h.SSHConfig, fmt.Sprintf(`IdentityAgent none
Host web web-alias
	Port %[1]d
Host behind
	Port %[1]d
	ProxyJump hop
Host hop
	Port %[2]d
Host asks
	Port %[3]d
	User bob
Host *
	HostName 127.0.0.1
	User alice
	IdentityFile %[4]s
	IdentityFile %[5]s
`, web.Port, hop.Port, asks.Port, alice, carol))
	c := h.Connect(t)
	logins := func(want int, what string) {
		t.Helper()
		const accepted = "Accepted publickey"
		// The log comes beside the answers.
		lab.Eventually(t, what, func() bool { return web.Log.Count(accepted) >= want })
		if got := web.Log.Count(accepted); got != want {
			t.Errorf("%s: the server has let in %d connections, want %d", what, got, want)
		}
	}
	run := func(host, args, stdout string) string {
		t.Helper()
		r := c.Call(t, lab.ToolExec, `{"host":%s`+args+`}`, host)
		if r.Stdout != stdout || !lab.IsCode(r.ExitCode, 0) || r.SessionID == "" {
			t.Errorf("a command on %s: %s; want %q", host, r.Text, stdout)
		}
		return r.SessionID
	}

	// Eight at once, by four spellings: OpenSSH has ten channels on a connection (MaxSessions), with the shell and the one
	// ahead.
	var calls sync.WaitGroup
	var mu sync.Mutex
	used := map[string]int{}
	spellings := []string{"web", "web-alias", "alice@web", fmt.Sprintf("ssh://alice@127.0.0.1:%d", web.Port)}
	for i := range 8 {
		calls.Go(func() {
			id := run(spellings[i%4], `,"cmd":"id -un"`, "alice\n")
			mu.Lock()
			defer mu.Unlock()
			used[id]++
		})
	}
	calls.Wait()
	if len(used) != 1 {
		t.Errorf("eight commands at once ran in the sessions %v, want one", used)
	}
	logins(1, "eight commands at once")

	run("carol@web", `,"cmd":"id -un"`, "carol\n")
	logins(2, "another user")
	run("behind", `,"cmd":"id -un"`, "alice\n")
	logins(3, "behind a jump host")
	run("behind", `,"cmd":"id -un"`, "alice\n")
	logins(3, "behind the same jump host")

	// One that was opened, until something is typed there.
	opened := c.Call(t, lab.ToolSession,
		`{"action":"open","protocol":"ssh","host":"web","until_regex":"[$#] $","timeout_ms":20000}`)
	if !opened.Matched || opened.Chunk == "" {
		t.Errorf("open until the prompt: %s", opened.Text)
	}
	if id := run("web-alias", `,"cmd":"id -un"`, "alice\n"); id != opened.SessionID {
		t.Errorf("after an open the command ran in %s, want %s", id, opened.SessionID)
	}
	c.Enter(t, opened.SessionID, "cd /; echo a-$((1+1))\r", "a-2")
	first := run("web", `,"cmd":"pwd"`, "/run/lab/home/alice\n")
	if used[first] == 0 {
		t.Errorf("after something was typed there, the command ran in %s, want one of %v", first, used)
	}
	c.Call(t, lab.ToolSession, `{"action":"lock","session_id":%s,"task_id":"t2"}`, first)
	logins(4, "an open")
	second := run("web", `,"cmd":"id -un","task_id":"t1"`, "alice\n")
	if second == first {
		t.Errorf("a command ran in the session that another task has locked")
	}
	logins(5, "a lock")

	// A connection that the server ends takes its command with it, which is not run twice.
	if r := c.Call(t, lab.ToolExec, `{"host":"web","task_id":"t1","cmd":"echo once >>killed; kill -KILL $PPID"}`); r.SessionID != second {
		t.Errorf("a command that ends its connection: %s; want it in %s", r.Text, second)
	}
	third := run("web", `,"task_id":"t1","cmd":"cat killed"`, "once\n")
	if third == second {
		t.Errorf("after the end of %s a command ran there", second)
	}
	logins(6, "an end")

	// A login that asks is the result, until it is answered.
	bob := l.Users["bob"]
	c.Hide(bob.Password)
	r := c.Call(t, lab.ToolExec, `{"host":"asks","cmd":"id -un"}`)
	if r.State != "authenticating" || r.Prompt == nil || len(r.Warnings) == 0 {
		t.Fatalf("a login that asks: %s", r.Text)
	}
	if a := c.Call(t, lab.ToolIO, `{"action":"write","session_id":%s,"data":%s}`, r.SessionID, bob.Password+"\n"); a.State != "open" {
		t.Fatalf("the answer: %s", a.Text)
	}
	if id := run("asks", `,"cmd":"id -un"`, "bob\n"); id != r.SessionID {
		t.Errorf("after the answer the command ran in %s, want %s", id, r.SessionID)
	}
}
