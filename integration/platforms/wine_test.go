//go:build platforms && linux

package platforms

import (
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"ptyctl/internal/lab"
)

func TestWineVersion(t *testing.T) {
	t.Parallel()
	out, errs, status := newHome(t, nil).Run(t, "version")
	if status != 0 || !strings.Contains(out, "windows/amd64") {
		t.Errorf("version = %q, %q, status %d, want windows/amd64", out, errs, status)
	}
}

func TestWineDemo(t *testing.T) {
	t.Parallel()
	out, errs, status := newHome(t, nil).Run(t, "demo")
	if status != 0 || !strings.Contains(out, "All 8 steps went as expected.") {
		t.Errorf("demo ended with status %d:\n%s\n%s", status, out, errs)
	}
}

// The advice must be in the words of Windows. Not parallel: doctor looks at each ptyctl that runs.
func TestWineDoctor(t *testing.T) {
	out, errs, _ := newHome(t, nil).Run(t, "doctor")
	for _, want := range []string{`C:\users\`, `\AppData\Roaming\ptyctl\ptyctl.toml`, `\AppData\Local\ptyctl`, "Start-Service ssh-agent"} {
		if !strings.Contains(out, want) {
			t.Errorf("doctor does not name %q:\n%s\n%s", want, out, errs)
		}
	}
	for _, foreign := range []string{"chmod", "systemctl", "eval ", "XDG_", "FAIL"} {
		if strings.Contains(out, foreign) {
			t.Errorf("doctor names %q:\n%s", foreign, out)
		}
	}
}

// The tests of packages that have code for Windows pass under Wine, too.
func TestWineUnits(t *testing.T) {
	t.Parallel()
	cmd := exec.Command("go", "test", "-count=1", "-exec", "wine", "ptyctl/internal/winpipe", "ptyctl/ptyx/internal/job", "ptyctl/sshx/auth",
		"-run", "^(TestBothWays|TestClosedAfterWrite|TestRights|TestManyClients|TestIsLocal|TestChildren.*|TestDialWindows|TestPageantPipe)$")
	cmd.Env = append(append(os.Environ(), "GOOS=windows", "CGO_ENABLED=0"), wine.env...)
	if out, err := cmd.CombinedOutput(); err != nil || strings.Contains(string(out), "no tests to run") {
		t.Errorf("%v:\n%s", err, out)
	}
}

// SSH by stdio: a host must be known, the user is this one without a domain, a command runs beside the terminal, and the
// terminal takes keys.
func TestWineSSH(t *testing.T) {
	t.Parallel()
	known, stranger := lab.StartSSHD(t), lab.StartSSHD(t)
	h := newHome(t, []*lab.SSHD{known})
	c := h.Connect(t)
	open := `{"action":"open","protocol":"ssh","host":"127.0.0.1","port":%s}`
	c.Refused(t, "HOSTKEY_UNKNOWN", lab.ToolSession, open, stranger.Port)
	id := c.Call(t, lab.ToolSession, open, known.Port).SessionID
	r := c.Call(t, lab.ToolExec, `{"session_id":%s,"cmd":"echo out; echo err >&2; whoami; exit 7"}`, id)
	if r.Stdout != "out\n"+known.User+"\n" || r.Stderr != "err\n" || !lab.IsCode(r.ExitCode, 7) {
		t.Errorf("exec = %s, want out, %s, err and code 7", r.Text, known.User)
	}
	c.PlainShell(t, id)
	c.Enter(t, id, "echo $((6*7)) is the answer\r", `42 is the answer`)
	c.Close(t, id)

	h.Write(t, h.KnownHosts, "")
	c.Refused(t, "HOSTKEY_UNKNOWN", lab.ToolSession, open, known.Port)
	c.Call(t, lab.ToolSession, `{"action":"open","protocol":"ssh","host":"127.0.0.1","port":%s,"ssh_options":{"host_key_policy":"accept_new"}}`, known.Port)
	if text, err := os.ReadFile(h.KnownHosts); err != nil || !strings.Contains(string(text), known.KnownHosts()) {
		t.Errorf("known_hosts is %q, %v after accept_new, want %q in it", text, err, known.KnownHosts())
	}
}

// MCP over HTTP: a token lets a client in, and the client opens a session over SSH.
func TestWineHTTP(t *testing.T) {
	t.Parallel()
	server := lab.StartSSHD(t)
	h := newHome(t, []*lab.SSHD{server})
	h.Env = append(slices.Clip(h.Env), "PTYCTL_SERVER_HTTP_TOKENS_FILE="+windowsPath(h.TokensFile(t)))
	p, url := h.StartHTTP(t)
	p.Killed = true // at its end: Windows has no SIGTERM, and it ends Wine's process
	c := p.Dial(t, url, lab.OpsToken)
	id := c.Call(t, lab.ToolSession, `{"action":"open","protocol":"ssh","host":"127.0.0.1","port":%s}`, server.Port).SessionID
	if r := c.Call(t, lab.ToolExec, `{"session_id":%s,"cmd":"exit 5"}`, id); !lab.IsCode(r.ExitCode, 5) {
		t.Errorf("exec = %s, want code 5", r.Text)
	}
	c.Close(t, id)
}

// named returns the processes of starter with a name.
func named(t *testing.T, name string) []lab.Process {
	t.Helper()
	return slices.DeleteFunc(lab.Processes(t), func(p lab.Process) bool { return !strings.HasSuffix(p.Command, "idle "+name) })
}

// The processes that a program has started end with it: at its end, at a close, and when ptyctl is killed.
func TestWineChildren(t *testing.T) {
	t.Parallel()
	h := newHome(t, nil)
	c := h.Connect(t)
	gone := func(name string) {
		t.Helper()
		lab.Eventually(t, "the end of the child "+name, func() bool { return len(named(t, name)) == 0 })
	}
	r := c.Call(t, lab.ToolRun, `{"argv":%s}`, []string{windowsPath(wine.starter), "leave", "of-a-run"})
	if !lab.IsCode(r.ExitCode, 3) || r.Stdout != "started\n" {
		t.Errorf("run = %s, want started and code 3", r.Text)
	}
	gone("of-a-run")
	start := func(name string) string {
		t.Helper()
		id := c.OpenLocal(t, []string{windowsPath(wine.starter), "run", windowsPath(wine.starter), "keep", name}, "")
		c.Expect(t, id, "started")
		lab.Eventually(t, "the child "+name, func() bool { return len(named(t, name)) == 1 })
		return id
	}
	c.Close(t, start("of-a-terminal"))
	gone("of-a-terminal")
	start("of-a-killed-ptyctl")
	c.KillEngine()
	gone("of-a-killed-ptyctl")
}
