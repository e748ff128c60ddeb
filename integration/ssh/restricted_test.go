package ssh

import (
	"fmt"
	"strings"
	"testing"

	"ptyctl/internal/lab"
	"ptyctl/session"
	"ptyctl/term"
)

// A command on an account that gives no terminal has its own status, every time: through ptyctl exec, and in an MCP
// session. The normal run does it three times for each account and way, that with the tag long a hundred times.
func labRestricted(t *testing.T, l *lab.Namespace) {
	keyed := l.Users["bob"].Key
	l.WriteFile(t, "/etc/ssh/lab/authorized/keyed", "644",
		`command="echo \"keyed [$SSH_ORIGINAL_COMMAND]\"; exit 5",no-pty,no-port-forwarding `+keyed.Authorized())
	for _, test := range []struct {
		name    string
		config  string
		user    string
		command string
		stdout  string
		status  int
		open    string // in the result of open in an MCP session
		refused string // in the error of a write there
	}{
		{
			"forced command", `ForceCommand echo "forced [$SSH_ORIGINAL_COMMAND]"; exit 7`, "alice", "id -un",
			"forced [id -un]\n", 7, "", "status 7",
		},
		{
			"key with a command", "AuthorizedKeysFile /etc/ssh/lab/authorized/keyed", "bob", "id -un",
			"keyed [id -un]\n", 5, "no terminal", "refuses a pseudo-terminal",
		},
		{"no terminal", "PermitTTY no", "alice", "id -un; exit 3", "alice\n", 3, "no terminal", "refuses a pseudo-terminal"},
		{"git-shell", "", "git", "git-upload-pack '/none'", "", 128, "", "status 128"},
	} {
		t.Run(test.name, func(t *testing.T) {
			server := l.SSHD(t, lab.ServerConfig{Config: test.config})
			h := lab.NewHome(t)
			h.Trust(t, server.Known())
			key := h.Dir + "/id"
			h.Write(t, key, l.Users[test.user].Key.PEM)
			h.Write(t, h.SSHConfig, "IdentityAgent none\nIdentityFile "+key+"\n")
			host := fmt.Sprintf("%s@127.0.0.1:%d", test.user, server.Port)
			for i := range restrictedRounds {
				out, errs, status := h.Run(t, "exec", "--config", h.Config, host, "--", test.command)
				if out != test.stdout || status != test.status {
					t.Fatalf("round %d: ptyctl exec %s %q = %q, %d (%s); want %q, %d",
						i+1, host, test.command, out, status, errs, test.stdout, test.status)
				}
			}

			c := h.Connect(t)
			for i := range restrictedRounds {
				r := c.Call(t, lab.ToolSession,
					`{"action":"open","protocol":"ssh","host":"127.0.0.1","port":%s,"username":%s}`, server.Port, test.user)
				if test.open != "" && !strings.Contains(r.Text, test.open) {
					t.Fatalf("open does not say %q: %s", test.open, r.Text)
				}
				said := r.Text // of the terminal
				command := func() {
					e := c.Call(t, lab.ToolExec, `{"session_id":%s,"cmd":%s}`, r.SessionID, test.command)
					if e.Stdout != test.stdout || e.ExitCode == nil || *e.ExitCode != test.status {
						t.Fatalf("round %d: exec %q: %s; want %q, %d", i+1, test.command, e.Text, test.stdout, test.status)
					}
					said += e.Text
				}
				command()
				command()
				if i == 0 {
					// The end of the account's own program is seen by then, or soon.
					c.Call(t, lab.ToolIO, `{"action":"read","session_id":%s,"cursor":"0","until_regex":"never","timeout_ms":10000}`,
						r.SessionID)
					status := c.Call(t, lab.ToolSession, `{"action":"status","session_id":%s}`, r.SessionID)
					if want := fmt.Sprintf(`"exit_code":%d`, test.status); strings.Contains(status.Text, want) == (test.open != "") {
						t.Errorf("the status of what ran in the terminal, %d, is not shown as such: %s", test.status, status.Text)
					}
					w := c.Refused(t, "UNSUPPORTED", lab.ToolIO, `{"action":"write","session_id":%s,"data":"x\r"}`, r.SessionID)
					if !strings.Contains(w.Message, test.refused) || !strings.Contains(w.Message, "ptyctl_session_exec") {
						t.Errorf("write: %s; want %q and advice", w.Message, test.refused)
					}
					command()
					if n := strings.Count(said, "no terminal"); n != 1 {
						t.Errorf("open and three execs say %d times that there is no terminal, want once: %s", n, said)
					}
				}
				c.Close(t, r.SessionID)
			}
		})
	}
}

// labNoSession has a server that ends the connection behind the login, because it cannot set up the session of the
// account. The errors say so, and where the reason is to be found.
func labNoSession(t *testing.T, l *lab.Namespace) {
	server := l.SSHD(t, lab.ServerConfig{Config: "ChrootDirectory /nonexistent"})
	o := l.Operator(t, server)
	for _, commandsOnly := range []bool{false, true} {
		target := server.WithKey(l.Users["alice"])
		target.CommandsOnly = commandsOnly
		r, err := o.Open(target)
		if commandsOnly && err == nil {
			_, err = r.Session.Exec(t.Context(), session.ExecRequest{Command: "true"})
		}
		lab.WantError(t, err, term.RemoteClosed)
		text := fmt.Sprint(err)
		// A session for commands may have ended before the first of them, and then tells that end.
		if !strings.Contains(text, "was lost: ") || !commandsOnly && !strings.Contains(text, "server's log") {
			t.Errorf("commands only %v: %v", commandsOnly, err)
		}
	}
}

// ptyctl exec starts no shell: a forced command, such as a deployment, runs once and not twice.
func TestExecStartsNoShell(t *testing.T) {
	log := t.TempDir() + "/log"
	server := lab.StartSSHD(t, `ForceCommand echo "[$SSH_ORIGINAL_COMMAND]" >>`+log)
	h := lab.HomeFor(t, []*lab.SSHD{server})
	out, errs, status := h.Run(t, "exec", "--config", h.Config,
		fmt.Sprintf("%s@127.0.0.1:%d", server.User, server.Port), "--", "deploy")
	if got := string(lab.ReadFile(t, log)); status != 0 || got != "[deploy]\n" {
		t.Errorf("ptyctl exec = %d (%s%s), the forced command ran as %q; want 0, %q", status, out, errs, got, "[deploy]\n")
	}
}
