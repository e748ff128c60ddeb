package daemon

import (
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"ptyctl/internal/lab"
)

func itoa(n int) string { return strconv.Itoa(n) }

// socketOf returns the path of the socket of h's configuration.
func socketOf(t *testing.T, h *lab.Home) string {
	t.Helper()
	out, said, status := h.Run(t, "daemon", "socket", "--config", h.Config)
	if status != 0 {
		t.Fatalf("daemon socket: status %d, %s", status, said)
	}
	return strings.TrimSpace(out)
}

// A runtime folder that cannot be used, and a socket of another, are clear errors, and nothing is sent.
func TestUnusable(t *testing.T) {
	h := newHome(t)
	socket := socketOf(t, h)
	folder := filepath.Dir(socket)
	if err := os.MkdirAll(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	start := func(what string, parts ...string) {
		t.Helper()
		_, said, status := h.Run(t, "mcp", "--daemon", "--config", h.Config)
		if status == 0 {
			t.Errorf("%s: status 0, want a failure", what)
		}
		for _, p := range parts {
			if !strings.Contains(said, p) {
				t.Errorf("%s: it says %q, want %q in it", what, said, p)
			}
		}
	}

	if err := os.WriteFile(socket, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	start("a file at the path of the socket", "is not a socket", "not touched")
	if text, err := os.ReadFile(socket); err != nil || string(text) != "mine" {
		t.Errorf("the file at the path has become %q, %v", text, err)
	}
	if err := os.Remove(socket); err != nil {
		t.Fatal(err)
	}

	if err := os.Chmod(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	start("a folder that is open to others", folder, "open to others", "chmod 700")
	if err := os.Chmod(folder, 0o700); err != nil {
		t.Fatal(err)
	}

	if os.Getuid() != 0 {
		t.Fatal("another user's socket and a read-only disk need root: run the test as root")
	}
	h.InNamespace(t, `mount -t tmpfs -o mode=700 tmpfs "$1" && mkdir -m 700 "$1/ptyctl" && mount -o remount,ro "$1" && shift && exec "$@"`,
		h.RuntimeDir)
	start("a read-only runtime folder", "read-only", "XDG_RUNTIME_DIR")
	h.Wrap = nil

	// A process of another user listens there, and would learn whatever it gets.
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	heard := make(chan int, 1)
	go func() {
		c, err := l.Accept()
		if err != nil {
			return
		}
		defer c.Close()
		n, _ := c.Read(make([]byte, 1))
		heard <- n
	}()
	ownedBy(t, h, 61139, folder, socket)
	start("a socket of another user", "belongs to user 0, want 61139")
	if n := <-heard; n != 0 {
		t.Errorf("the process of another user was sent something, want nothing")
	}
	_ = l.Close()
	h.UID = 0
	for _, path := range []string{h.RuntimeDir, folder} {
		if err := os.Chown(path, 0, 0); err != nil {
			t.Fatal(err)
		}
	}
}

// ownedBy gives h, and more of its files, to another user, who can start its program.
func ownedBy(t *testing.T, h *lab.Home, uid int, more ...string) {
	t.Helper()
	h.UID = uint32(uid) //nolint:gosec // it is small
	for _, path := range append([]string{h.Dir, h.Config, h.SSHConfig, h.KnownHosts, h.RuntimeDir}, more...) {
		if err := os.Chown(path, uid, uid); err != nil {
			t.Fatal(err)
		}
	}
	for dir := filepath.Dir(h.Dir); dir != "/" && dir != "/tmp"; dir = filepath.Dir(dir) {
		if err := os.Chmod(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(filepath.Dir(lab.Binary), 0o755); err != nil {
		t.Fatal(err)
	}
}

// Without HOME a client still gets a daemon.
func TestBareEnvironment(t *testing.T) {
	h := newHome(t)
	cmd := h.Command("mcp", "--daemon", "--config", h.Config)
	cmd.Env = []string{"XDG_RUNTIME_DIR=" + h.RuntimeDir, "PATH=/usr/bin:/bin"}
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "the daemon serves this client") {
		t.Errorf("without HOME: %v, %s; want a daemon", err, out)
	}
}

// A user without a runtime folder, or with a missing XDG_RUNTIME_DIR, gets one in /tmp, unless another user has made
// it.
func TestNoRuntimeFolder(t *testing.T) {
	h := newHome(t)
	uid := 1<<20 + os.Getpid() // which has no folder in /run/user
	ownedBy(t, h, uid)
	folder := "/tmp/ptyctl-" + itoa(uid)
	t.Cleanup(func() { os.RemoveAll(folder) })
	for name, variable := range map[string]string{"none": "NO=1", "a missing one": "XDG_RUNTIME_DIR=" + filepath.Join(h.Dir, "missing")} {
		run := func(args ...string) (string, error) {
			cmd := h.Command(append(args, "--config", h.Config)...)
			cmd.Env = []string{"HOME=" + h.Dir, variable, "PATH=/usr/bin:/bin"}
			out, err := cmd.CombinedOutput()
			return string(out), err
		}
		if out, err := run("mcp", "--daemon"); err != nil || !strings.Contains(out, folder+"/ptyctl/d-") {
			t.Errorf("with %s as runtime folder: %v, %s; want a daemon in %s", name, err, out, folder)
		}
		status := h.Command("daemon", "status", "--json")
		status.Env = []string{"HOME=" + h.Dir, variable}
		lab.EndDaemonsOf(t, status)
		if err := os.Chown(folder, 0, 0); err != nil {
			t.Fatal(err)
		}
		if out, err := run("mcp", "--daemon"); err == nil || !strings.Contains(out, folder) || !strings.Contains(out, "user 0") ||
			!strings.Contains(out, "XDG_RUNTIME_DIR") {
			t.Errorf("with %s, and the folder in /tmp of another user: %v, %s; want a refusal that names it and the way out",
				name, err, out)
		}
		if err := os.RemoveAll(folder); err != nil {
			t.Fatal(err)
		}
	}
}

// stop and reload are for a person who may do more than watch. A reload names the keys that it cannot change.
func TestManage(t *testing.T) {
	h := newHome(t)
	c := h.Converse(t, "--daemon")
	for _, what := range []string{"stop", "reload"} {
		if _, said, status := h.Run(t, "daemon", what); status != 1 || !strings.Contains(said, "control_mode") {
			t.Errorf("daemon %s where people may only watch: status %d, %q; want a refusal that names the key",
				what, status, said)
		}
	}
	c.Drain()
	lab.EndDaemonsOf(t, h.Command("daemon", "status", "--json"))

	text := string(lab.ReadFile(t, h.Config)) + "[server.control]\ncontrol_mode = 'readwrite'\n"
	h.Write(t, h.Config, text)
	c = h.Converse(t, "--daemon")
	d := theDaemon(t, h)
	id := c.NextResult(c.Ask(lab.ToolSession, openBash)).SessionID
	h.Write(t, h.Config, text+"[policy]\ndeny = ['halt']\n[session]\nmax_sessions = 9\n")
	out, said, status := h.Run(t, "daemon", "reload")
	if status != 0 || !strings.Contains(out, "changed: policy.deny") ||
		!strings.Contains(out, "only in a new daemon (ptyctl daemon stop): session.max_sessions") {
		t.Errorf("daemon reload: status %d, %q, %q; want both keys named", status, out, said)
	}
	r := c.NextResult(c.Ask(lab.ToolExec, `{"session_id":%s,"cmd":"halt"}`, id))
	if r.ErrorCode != "POLICY_DENIED" {
		t.Errorf("exec of what the new rules deny: %s, want POLICY_DENIED", r.Text)
	}
	h.Write(t, h.Config, text+"[policy]\ndeny = 5\n")
	if _, said, status := h.Run(t, "daemon", "reload"); status != 1 || !strings.Contains(said, "policy.deny") {
		t.Errorf("daemon reload of a wrong configuration: status %d, %q; want the fault", status, said)
	}

	// A client with the reloaded configuration finds the daemon that has it.
	h.Write(t, h.Config, text+"[policy]\ndeny = ['halt']\n")
	h.Run(t, "daemon", "reload")
	second := h.Converse(t, "--daemon")
	if now := theDaemon(t, h); now.PID != d.PID || now.Clients != 2 {
		t.Errorf("daemon status shows %+v, want process %d with 2 clients", now, d.PID)
	}

	// One with the settings of before does not come under the new rules.
	h.Write(t, h.Config, text)
	third := h.Converse(t, "--daemon")
	if all := h.Daemons(t); len(all) != 2 {
		t.Errorf("daemon status shows %+v, want two: a client with the former rules has its own", all)
	}

	c.Killed, second.Killed, third.Killed = true, true, true // they end with a failure, as they should
	if out, said, status := h.Run(t, "daemon", "stop"); status != 0 || !strings.Contains(out, itoa(d.PID)+" has ended") {
		t.Errorf("daemon stop: status %d, %q, %q", status, out, said)
	}
	// Its connection has ended with it, a moment before the system counts it out.
	lab.Eventually(t, "process "+itoa(d.PID)+" ends with daemon stop", func() bool { return !lab.Alive(t, d.PID) })
	trail := string(lab.ReadFile(t, h.Audit))
	for _, line := range []string{`"event":"reload","outcome":"ok"`, `"event":"stop","outcome":"ok"`, `"event":"stop","outcome":"POLICY_DENIED"`} {
		if !strings.Contains(trail, line) {
			t.Errorf("the audit log lacks %s", line)
		}
	}
}
