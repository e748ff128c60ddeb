package daemon

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/crypto/ssh/agent"

	"ptyctl/internal/lab"
)

// Each client's programs have its own folder and variables, and nothing of the daemon's or of another client's.
func TestEnvironmentOfCaller(t *testing.T) {
	h := newHome(t)
	h.Env = append(h.Env, "LC_TIME=one", "SECRET=no")
	one := h.Converse(t, "--daemon")
	h.Env = []string{"LC_TIME=two", "DISPLAY=:7", "PATH=/bin:/usr/bin:" + h.Dir, "PTYCTL_LOCAL_INHERIT_ENV=LC_*,DISPLAY"}
	two := h.Converse(t, "--daemon")
	h.Env[0] = "LC_TIME=three"
	h.Dir = t.TempDir()
	three := h.Converse(t, "--daemon")
	for i, c := range []struct {
		client     *lab.Conversation
		want, lack string
	}{
		{one, "PATH=/usr/bin:/bin\n", "LC_TIME"}, // the operator lets no other variable through
		{two, "LC_TIME=two\nDISPLAY=:7\n", "three"},
		{three, "LC_TIME=three\nDISPLAY=:7\n", "two"},
	} {
		r := c.client.NextResult(c.client.Ask(lab.ToolRun, `{"argv":["sh","-c","pwd; env | grep -v PWD"]}`))
		folder, rest, _ := strings.Cut(r.Stdout, "\n")
		for line := range strings.FieldsSeq(c.want) {
			if !strings.Contains(rest, line+"\n") {
				t.Errorf("client %d: the program has %q, want %q in it", i, rest, line)
			}
		}
		if strings.Contains(rest, c.lack) || strings.Contains(rest, "SECRET") {
			t.Errorf("client %d: the program has %q, want nothing of others", i, rest)
		}
		if want, _ := filepath.EvalSymlinks(c.client.Cmd.Dir); folder != want {
			t.Errorf("client %d: the program runs in %q, want %q", i, folder, want)
		}
	}
}

// An open uses the agent of its own client. One that is dead is said at once.
func TestAgentOfCaller(t *testing.T) {
	s := lab.StartSSHD(t)
	h := lab.HomeFor(t, []*lab.SSHD{s})
	h.EndDaemons(t)
	h.Write(t, h.SSHConfig, "IdentityFile none\n") // only an agent has the key
	held := s.UserKey.Held(t, "")
	socket := filepath.Join(lab.RuntimeDir(t), "agent")
	link := func(to string) {
		t.Helper()
		_ = os.Remove(socket)
		if err := os.Symlink(to, socket); err != nil {
			t.Fatal(err)
		}
	}
	open := func(c *lab.Conversation, args string) lab.Result {
		t.Helper()
		return c.NextResult(c.Ask(lab.ToolSession, args, s.User))
	}
	target := `{"action":"open","protocol":"ssh","host":"127.0.0.1","port":` + itoa(s.Port) + `,"username":%s}`

	good := lab.StartAgent(t, held)
	link(good)
	h.Env = []string{"SSH_AUTH_SOCK=" + socket}
	c := h.Converse(t, "--daemon")
	if r := open(c, target); r.State != "open" {
		t.Fatalf("open with the key in the agent: %s", r.Text)
	}
	link(filepath.Join(h.Dir, "nothing")) // the agent is gone
	if r := open(c, target); r.ErrorCode != "AUTH_FAILED" || !strings.Contains(r.Text, "cannot be reached") {
		t.Errorf("open with a dead agent: %s, want AUTH_FAILED that says the agent cannot be reached", r.Text)
	}
	link(lab.StartAgent(t, held)) // and replaced
	if r := open(c, target); r.State != "open" {
		t.Errorf("open after the agent was replaced: %s", r.Text)
	}

	h.Env = []string{"SSH_AUTH_SOCK=" + lab.StartAgent(t, []agent.AddedKey{}...)}
	empty := h.Converse(t, "--daemon")
	if r := open(empty, target); r.ErrorCode != "AUTH_FAILED" {
		t.Errorf("open of a client whose agent has no key: %s, want AUTH_FAILED: it must not use another client's", r.Text)
	}
	h.Env = nil
	none := h.Converse(t, "--daemon")
	if r := open(none, target); r.ErrorCode != "AUTH_FAILED" {
		t.Errorf("open of a client without an agent: %s, want AUTH_FAILED", r.Text)
	}
	if d := theDaemon(t, h); d.Clients != 3 {
		t.Errorf("daemon status shows %d clients, want 3 of one daemon", d.Clients)
	}
}

// Relative paths of a call mean files in the folder of its client, and not in the daemon's.
func TestPathsOfCaller(t *testing.T) {
	s := lab.StartSSHD(t)
	h := lab.HomeFor(t, []*lab.SSHD{s})
	h.EndDaemons(t)
	h.Write(t, h.SSHConfig, "IdentityFile none\n")
	other := lab.NewKey(t, "ed25519")
	h.Dir = t.TempDir()
	h.Given[s.UserKey.Write(t, h.Dir, "key")] = true
	for name, text := range map[string]string{
		"config":  "IdentityFile key\n",
		"foreign": "[127.0.0.1]:" + itoa(s.Port) + " " + other.Public() + "\n",
	} {
		if err := os.WriteFile(filepath.Join(h.Dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(h.Dir, "sub"), 0o700); err != nil {
		t.Fatal(err)
	}
	c := h.Converse(t, "--daemon")
	open := func(options string) lab.Result {
		t.Helper()
		return c.NextResult(c.Ask(lab.ToolSession, `{"action":"open","protocol":"ssh","host":"127.0.0.1","port":`+itoa(s.Port)+
			`,"username":%s,"ssh_options":`+options+`}`, s.User))
	}
	for options, want := range map[string]string{
		`{"extra_args":["-i","key"]}`:                                   "",
		`{"extra_args":["-o","IdentityFile=./key"]}`:                    "",
		`{"config_path":"config"}`:                                      "",
		`{"extra_args":["-F","config"]}`:                                "",
		`{"extra_args":["-i","none"]}`:                                  "AUTH_FAILED",
		`{"extra_args":["-i","key"],"known_hosts_path":"foreign"}`:      "HOSTKEY_MISMATCH",
		`{"extra_args":["-i","key","-o","UserKnownHostsFile=foreign"]}`: "HOSTKEY_MISMATCH",
	} {
		if r := open(options); r.ErrorCode != want || want == "" && r.State != "open" {
			t.Errorf("open with %s in a folder with these files: %s, want the error %q", options, r.Text, want)
		}
	}
	r := c.NextResult(c.Ask(lab.ToolRun, `{"argv":["pwd"],"cwd":"sub"}`))
	if want, _ := filepath.EvalSymlinks(filepath.Join(h.Dir, "sub")); strings.TrimSpace(r.Stdout) != want {
		t.Errorf("a program with cwd sub: %s, want it in %s", r.Text, want)
	}
}

// A person who opens a session in the daemon has the agent of their own command, and not the daemon's or a client's.
func TestAgentOfPerson(t *testing.T) {
	s := lab.StartSSHD(t)
	for name, mode := range map[string][]string{"daemon": {"--daemon"}, "alone": nil} {
		t.Run(name, func(t *testing.T) {
			h := lab.HomeFor(t, []*lab.SSHD{s}, lab.ReadWrite)
			h.EndDaemons(t)
			h.Write(t, h.SSHConfig, "IdentityFile none\n") // only an agent has the key
			h.Converse(t, mode...)
			h.Env = []string{"SSH_AUTH_SOCK=" + lab.StartAgent(t, s.UserKey.Held(t, ""))}
			p := h.AtTerminal(t, "open", "--config", h.Config, "--keep", "-p", itoa(s.Port), s.User+"@127.0.0.1")
			p.Sees("you have taken")
			p.Types("\x1d")
			p.Sees("session")
			p.Leaves(0)
		})
	}
}
