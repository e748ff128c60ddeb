package ssh

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"ptyctl/internal/lab"
	"ptyctl/internal/lab/system"
)

// proxyProgram is the test binary as a ProxyCommand: its arguments are the action, the host and the port.
func proxyProgram() error {
	mode, address := os.Args[1], net.JoinHostPort(os.Args[2], os.Args[3])
	fmt.Fprintf(os.Stderr, "\x1b[31mtunnel\x1b[0m to %s\n", address)
	switch mode {
	case "fail":
		return errors.New("no such tunnel")
	case "hang":
		time.Sleep(time.Hour)
	case "family": // as aws(1) starts session-manager-plugin
		child := exec.Command("sleep", "1138")
		child.Stderr = os.Stderr
		if err := child.Start(); err != nil {
			return err
		}
	case "deaf": // to everything but the kernel
		signal.Ignore(syscall.SIGHUP, syscall.SIGTERM, syscall.SIGPIPE)
	}
	conn, err := net.Dial("tcp", address)
	if err != nil {
		return err
	}
	broken := make(chan os.Signal, 1)
	signal.Notify(broken, system.SIGUSR1)
	ended := make(chan struct{}, 2)
	go func() { _, _ = io.Copy(conn, os.Stdin); ended <- struct{}{} }()
	go func() { _, _ = io.Copy(os.Stdout, conn); ended <- struct{}{} }()
	select {
	case <-broken:
		return errors.New("the tunnel broke")
	case <-ended:
	}
	if mode == "deaf" {
		time.Sleep(time.Hour)
	}
	return nil
}

// proxied returns a home with an ssh_config that reaches the host web, which is s, as mode says. more are lines of
// ptyctl.toml.
func proxied(tb testing.TB, s *lab.SSHD, mode string, more ...string) *lab.Home {
	tb.Helper()
	self, err := os.Executable()
	if err != nil {
		tb.Fatal(err)
	}
	command := mode
	if !strings.Contains(mode, " ") {
		command = "env " + lab.FixtureVariable + "=proxy " + self + " " + mode + " %h %p"
	}
	h := lab.HomeFor(tb, []*lab.SSHD{s}, more...)
	h.Write(tb, h.SSHConfig, fmt.Sprintf(
		"%sHost web\n HostName 127.0.0.1\n Port %d\n User %s\nHost *\n ProxyCommand %s\n",
		lab.ReadFile(tb, h.SSHConfig), s.Port, s.User, command,
	))
	return h
}

const (
	allowed = "allow_exec_directives = true"
	openWeb = `{"action":"open","protocol":"ssh","host":"web"}`
)

// alone waits until ptyctl has no process below it.
func alone(tb testing.TB, c *lab.Client) {
	tb.Helper()
	lab.Eventually(tb, "the end of every process of a ProxyCommand", func() bool {
		return len(lab.Descendants(tb, c.PID)) == 0
	})
}

// TestProxyCommand logs in to a real server through a program, which ends with its session, as do the programs that it
// has started.
func TestProxyCommand(t *testing.T) {
	s := lab.StartSSHD(t)
	for _, mode := range []string{"relay", "family", "deaf"} {
		t.Run(mode, func(t *testing.T) {
			c := proxied(t, s, mode, allowed).Connect(t)
			id := c.Call(t, lab.ToolSession, openWeb).SessionID
			if r := c.Call(t, lab.ToolExec, `{"session_id":%s,"cmd":"echo $((1137+1))"}`, id); !strings.Contains(r.Text,
				"1138") {
				t.Errorf("exec = %s, want 1138", r.Text)
			}
			status := c.Call(t, lab.ToolSession, `{"action":"status","session_id":%s}`, id)
			if want := `"address":"via ProxyCommand","steps":[{"name":"proxy","ok":true`; !strings.Contains(status.Text, want) ||
				!strings.Contains(status.Text, `"detail":"\\x1b[31mtunnel\\x1b[0m to `) {
				t.Errorf("status = %s, want %s and what the program wrote", status.Text, want)
			}
			if len(lab.Descendants(t, c.PID)) == 0 {
				t.Error("ptyctl has no process below it while the session is open, want the ProxyCommand")
			}
			c.Close(t, id)
			alone(t, c)
			if audit := string(lab.ReadFile(t, c.Audit)); !strings.Contains(audit, "ProxyCommand > ") {
				t.Errorf("the audit log does not say that a ProxyCommand was used: %s", audit)
			}
		})
	}
}

// TestProxyCommandFails checks the error of each way in which a program can fail, and that nothing is left of it.
func TestProxyCommandFails(t *testing.T) {
	s := lab.StartSSHD(t)
	for name, tt := range map[string]struct {
		mode, code string
		want       []string
	}{
		"ends":         {"fail", "CONNECT_FAILED", []string{"exit status 1", `\x1b[31mtunnel`, "no such tunnel", "ssh_config:"}},
		"not found":    {"no-such-program-1138 %h %p", "CONNECT_FAILED", []string{"exit status 127", "no-such-program-1138", "install it", "PATH is /"}},
		"not runnable": {"/etc/passwd %h %p", "CONNECT_FAILED", []string{"exit status 126", "permissions"}},
		"killed":       {`sh -c 'kill -9 $$'`, "CONNECT_FAILED", []string{"signal: killed"}},
		"talks":        {`echo hello %h`, "CONNECT_FAILED", []string{"hello 127.0.0.1"}},
		"hangs":        {"hang", "CONNECT_TIMEOUT", []string{"stopped at banner", `\x1b[31mtunnel`}},
		"pipe":         {"sleep 1138 | sleep 1138", "CONNECT_TIMEOUT", []string{"stopped at banner"}},
		"floods":       {`sh -c 'yes tunnel | head -c 1000000 >&2; exit 4'`, "CONNECT_FAILED", []string{"exit status 4", "tunnel / tunnel"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := proxied(t, s, tt.mode, allowed).Connect(t)
			more := ""
			if tt.code == "CONNECT_TIMEOUT" {
				more = `,"timeouts":{"connect_timeout_ms":2000}`
			}
			r := c.Refused(t, tt.code, lab.ToolSession, strings.TrimSuffix(openWeb, "}")+more+"}")
			for _, want := range tt.want {
				if !strings.Contains(r.Message, want) {
					t.Errorf("the error is %q, want %q in it", r.Message, want)
				}
			}
			if !strings.Contains(r.Text, `"name":"proxy"`) || len(r.Text) > 8<<10 {
				t.Errorf("the result has %d bytes and is %s; want the step proxy, and less than 8 KiB", len(r.Text),
					lab.Tail(r.Text, 4<<10))
			}
			alone(t, c)
		})
	}
}

// TestProxyCommandIsBlamed checks that the step proxy is the one that fails where the program has ended by itself, in the
// ladder and in the words of doctor, and that the server is blamed where it has not.
func TestProxyCommandIsBlamed(t *testing.T) {
	s := lab.StartSSHD(t)
	for name, tt := range map[string]struct {
		command string
		steps   string // name and detail of each; ! after one that failed
		doctor  []string
	}{
		"status": {
			`sh -c 'echo no tunnel >&2; exit 3'`, "proxy!=exit status 3: no tunnel",
			[]string{"FAIL  proxy ", "ended with exit status 3: no tunnel", "do: run the command in a shell"},
		},
		"status without a word": {
			`sh -c 'exit 3'`, "proxy!=exit status 3", []string{"FAIL  proxy ", "do: run the command in a shell"},
		},
		"not found": {
			"no-such-program-1138 %h", "proxy!=exit status 127: ", []string{"FAIL  proxy ", "do: the shell did not find the program"},
		},
		"signal": {`sh -c 'kill -9 $$'`, "proxy!=signal: killed", []string{"FAIL  proxy ", "signal: killed"}},
		"after the banner": {
			// The output after ptyctl's own banner shows that it has read the command's.
			`sh -c 'echo SSH-2.0-x; read -r banner; head -c 1 >/dev/null; echo broke >&2; exit 3'`,
			"proxy!=exit status 3: broke, banner=, kex!=exit status 3",
			[]string{"note  proxy           exit status 3: broke", "FAIL  kex ", "do: run the command in a shell"},
		},
		"no SSH server": {
			"echo hello", "proxy=, banner!=", []string{"FAIL  banner ", "do: run the ProxyCommand in a shell to see what answers"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := proxied(t, s, tt.command, allowed)
			r := h.Connect(t).Refused(t, "CONNECT_FAILED", lab.ToolSession, openWeb)
			var steps []string
			for _, step := range r.Details.Ladder[0].Steps {
				failed := ""
				if !step.OK {
					failed = "!"
				}
				steps = append(steps, step.Name+failed+"="+step.Detail)
			}
			if got := strings.Join(steps, ", "); !strings.HasPrefix(got, tt.steps) {
				t.Errorf("the ladder is %q, want %q", got, tt.steps)
			}
			out, stderr, status := h.Run(t, "doctor", "--batch", "--config", h.Config, "web")
			if status != 1 || strings.Contains(out, "ok    proxy") == strings.Contains(tt.steps, "proxy!") {
				t.Errorf("doctor ended with %d, want 1 and no good proxy beside a failed one:\n%s%s", status, out, stderr)
			}
			for _, want := range tt.doctor {
				if !strings.Contains(out, want) {
					t.Errorf("doctor does not say %q:\n%s", want, out)
				}
			}
		})
	}
}

// TestProxyCommandCanceled closes a session while its program hangs.
func TestProxyCommandCanceled(t *testing.T) {
	s := lab.StartSSHD(t)
	c := proxied(t, s, "hang", allowed).Connect(t)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_, _ = c.Try(t.Context(), lab.ToolSession, openWeb)
	}()
	lab.Eventually(t, "the ProxyCommand", func() bool { return len(lab.Descendants(t, c.PID)) > 0 })
	var list struct {
		Sessions []struct {
			SessionID string `json:"session_id"`
		}
	}
	lab.Eventually(t, "the session", func() bool {
		text := c.Call(t, lab.ToolSession, `{"action":"list"}`).Text
		return json.Unmarshal([]byte(text), &list) == nil && len(list.Sessions) == 1
	})
	c.Call(t, lab.ToolSession, `{"action":"close","session_id":%s}`, list.Sessions[0].SessionID)
	alone(t, c)
	<-ended
}

// TestProxyCommandDies checks that a session says why it ended if its program ends in the middle.
func TestProxyCommandDies(t *testing.T) {
	s := lab.StartSSHD(t)
	c := proxied(t, s, "family", allowed).Connect(t)
	id := c.Call(t, lab.ToolSession, openWeb).SessionID
	for _, p := range lab.Descendants(t, c.PID) {
		if !strings.HasPrefix(p.Command, "sleep") {
			_ = system.Kill(p.PID, system.SIGUSR1)
		}
	}
	var r lab.Result
	lab.Eventually(t, "the end of the session", func() bool {
		r = c.Call(t, lab.ToolSession, `{"action":"status","session_id":%s}`, id)
		return r.State != "open"
	})
	for _, want := range []string{"ProxyCommand ended with exit status 1", "the tunnel broke"} {
		if !strings.Contains(r.Text, want) {
			t.Errorf("status = %s, want %q in it", r.Text, want)
		}
	}
	alone(t, c)
}

// TestProxyCommandEndsWithPtyctl checks that no program is left when ptyctl ends.
func TestProxyCommandEndsWithPtyctl(t *testing.T) {
	s := lab.StartSSHD(t)
	c := proxied(t, s, "family", allowed).Connect(t)
	c.Call(t, lab.ToolSession, openWeb)
	left := lab.Descendants(t, c.PID)
	c.Stdin.Close()
	<-c.Ended
	c.EndEngine()
	lab.Eventually(t, "the end of the ProxyCommand", func() bool {
		for _, p := range left {
			if system.Kill(p.PID, 0) == nil {
				return false
			}
		}
		return true
	})
}

// TestProxyCommandBeforeJump checks that the first jump host is reached by its own ProxyCommand, and those behind it
// through the one before.
func TestProxyCommandBeforeJump(t *testing.T) {
	first, target := lab.StartSSHD(t), lab.StartSSHD(t)
	h := proxied(t, first, "relay", allowed)
	h.Trust(t, target.KnownHosts())
	behind := fmt.Sprintf(
		"Host behind\n HostName 127.0.0.1\n Port %d\n User %s\n IdentityFile %s\n ProxyJump web\n",
		target.Port, target.User, target.Identity,
	)
	h.Write(t, h.SSHConfig, strings.Replace(string(lab.ReadFile(t, h.SSHConfig)), "Host web\n", behind+"Host web\n", 1))
	c := h.Connect(t)
	// Two sessions share the connection to the jump host.
	id := c.Call(t, lab.ToolSession, `{"action":"open","protocol":"ssh","host":"behind"}`).SessionID
	again := c.Call(t, lab.ToolSession, `{"action":"open","protocol":"ssh","host":"behind"}`).SessionID
	if n := len(lab.Descendants(t, c.PID)); n != 1 {
		t.Errorf("ptyctl has %d processes below it, want one ProxyCommand for two sessions", n)
	}
	c.Close(t, id)
	if r := c.Call(t, lab.ToolExec, `{"session_id":%s,"cmd":"echo $((1137+1))"}`, again); !strings.Contains(r.Text,
		"1138") {
		t.Errorf("exec = %s, want 1138", r.Text)
	}
	c.Close(t, again)
	alone(t, c)
}

// TestProxyCommandIsTheOperators checks that no argument of a call can bring a program, choose one, or put more than a
// name into its command line.
func TestProxyCommandIsTheOperators(t *testing.T) {
	s := lab.StartSSHD(t)
	folder := t.TempDir()
	stolen := filepath.Join(folder, "stolen")
	evil := filepath.Join(folder, "ssh_config")
	if err := os.WriteFile(evil, []byte("ProxyCommand touch "+stolen+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	run := "touch " + stolen
	for name, tt := range map[string]struct{ code, open string }{
		"extra_args":  {"UNSUPPORTED", `"host":"web","ssh_options":{"extra_args":["-o","ProxyCommand=` + run + `"]}`},
		"-F":          {"UNSUPPORTED", `"host":"web","ssh_options":{"extra_args":["-F","` + evil + `"]}`},
		"config_path": {"UNSUPPORTED", `"host":"web","ssh_options":{"config_path":"` + evil + `"}`},
		"jump's option": {
			"UNSUPPORTED", `"host":"web","ssh_options":{"extra_args":["-o","ProxyCommand=ssh -o 'ProxyCommand=` + run + `' -W %%h:%%p gate"]}`,
		},
		"host":                {"INVALID_ARGUMENT", `"host":"x;` + run + `"`},
		"host with backticks": {"INVALID_ARGUMENT", "\"host\":\"`" + run + "`\""},
		"host with a glob":    {"UNSUPPORTED", `"host":"x*"`},
		"host with a tilde":   {"UNSUPPORTED", `"host":"~root"`},
		"host as an option":   {"INVALID_ARGUMENT", `"host":"-oProxyCommand=x"`},
		"user":                {"INVALID_ARGUMENT", `"host":"web","username":"$(` + run + `)"`},
		"user with a blank":   {"UNSUPPORTED", `"host":"web","username":"a b"`},
		"user with a dollar":  {"UNSUPPORTED", `"host":"web","username":"$IFS"`},
		"HostName": {
			"UNSUPPORTED", `"host":"web","ssh_options":{"extra_args":["-o","HostName=a*b"]}`,
		},
		"proxy_url": {"INVALID_ARGUMENT", `"host":"web","ssh_options":{"proxy_url":"socks5://127.0.0.1:1"}`},
	} {
		t.Run(name, func(t *testing.T) {
			h := proxied(t, s, `echo %h %n %p %r >`+filepath.Join(folder, "ran"), allowed)
			c := h.Connect(t)
			r := c.Refused(t, tt.code, lab.ToolSession, `{"action":"open","protocol":"ssh",`+tt.open+`}`)
			if entries, err := os.ReadDir(folder); err != nil || len(entries) != 1 {
				t.Errorf("%s: %d files, %v; want no program to have run (%s)", tt.open, len(entries), err, r.Text)
			}
		})
	}
}

// TestProxyCommandNotAllowed checks that without the setting nothing runs, and that the refusal names the setting.
func TestProxyCommandNotAllowed(t *testing.T) {
	s := lab.StartSSHD(t)
	ran := filepath.Join(t.TempDir(), "ran")
	c := proxied(t, s, "touch "+ran).Connect(t)
	r := c.Refused(t, "POLICY_DENIED", lab.ToolSession, openWeb)
	if !strings.Contains(r.Message, "ssh.allow_exec_directives") || !strings.Contains(r.Message, "ssh_config:") {
		t.Errorf("the refusal is %q, want it to name the setting, and the line", r.Message)
	}
	if _, err := os.Stat(ran); err == nil {
		t.Error("the program ran without the setting")
	}
	if r := c.Refused(t, "CONNECT_FAILED", lab.ToolSession,
		`{"action":"open","protocol":"ssh","host":"127.0.0.1","port":1,"ssh_options":{"extra_args":["-o","ProxyCommand=none"]}}`); !strings.Contains(r.Text, `"name":"tcp"`) {
		t.Errorf("with ProxyCommand none: %s, want a connection by TCP", r.Text)
	}
}
