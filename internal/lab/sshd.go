package lab

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"ptyctl/internal/lab/system"
)

const sshdPath = "/usr/sbin/sshd"

// An SSHD is a running OpenSSH server that lets this user in with one key.
type SSHD struct {
	Port     int
	User     string
	Home     string // $HOME of those who log in, and theirs alone: their real shell startup files are slow and unknown
	HostKey  Key
	UserKey  Key
	Identity string // the file with userKey
	PID      int    // of the listener; its children are the connections
	Log      *Capture

	Dir   string   // of its files
	lines []string // of its configuration
}

// StartSSHD starts a server with lines added to its configuration. The first line for a keyword counts
// (sshd_config(5)), so they override the lines here; all else is the server's default, MaxStartups and MaxSessions too.
// The server and all processes started through it end with the test.
func StartSSHD(tb testing.TB, lines ...string) *SSHD {
	tb.Helper()
	if _, err := os.Stat(sshdPath); err != nil {
		tb.Fatalf("%v: the tests need OpenSSH's server; run scripts/install-test-deps", err)
	}
	if os.Getuid() == 0 {
		// sshd(8) confines its unprivileged part there. Debian's service makes the folder, and may never have run.
		if err := os.MkdirAll("/run/sshd", 0o755); err != nil {
			tb.Fatal(err)
		}
	}
	me, err := user.Current()
	if err != nil {
		tb.Fatal(err)
	}
	dir := tb.TempDir()
	s := &SSHD{
		User:    me.Username,
		Home:    filepath.Join(dir, "home"),
		HostKey: NewKey(tb, "ed25519"),
		UserKey: NewKey(tb, "ed25519"),
	}
	s.Identity = s.UserKey.Write(tb, dir, "id_ed25519")
	authorized := filepath.Join(dir, "authorized_keys")
	if err := os.WriteFile(authorized, []byte(s.UserKey.Public()+"\n"), 0o600); err != nil {
		tb.Fatal(err)
	}
	if err := os.Mkdir(s.Home, 0o700); err != nil {
		tb.Fatal(err)
	}
	lines = append(lines,
		"HostKey "+s.HostKey.Write(tb, dir, "ssh_host_ed25519_key"),
		"AuthorizedKeysFile "+authorized,
		"PidFile none",
		"StrictModes no", // the folders above the keys are /tmp's, which is everybody's
		"UsePAM no", "PasswordAuthentication no", "KbdInteractiveAuthentication no", "UseDNS no",
		"PermitRootLogin prohibit-password",
		"PrintMotd no", "PrintLastLog no",
		"SetEnv HOME="+s.Home+" HISTFILE=/dev/null",
	)
	s.Dir, s.lines = dir, lines
	s.MustStart(tb)
	return s
}

// MustStart starts the server on a fresh port: for the first time, or after it was killed.
func (s *SSHD) MustStart(tb testing.TB) {
	tb.Helper()
	// A port that is free now may be taken a moment later; sshd cannot be given a listening socket.
	for range 5 {
		s.Port = FreePort(tb)
		if s.start(tb) {
			return
		}
	}
	tb.Fatalf("sshd could not listen:\n%s", s.Log)
}

// Stop kills the server and all its connections. MustStart or Again starts it once more.
func (s *SSHD) Stop(tb testing.TB) {
	tb.Helper()
	Kill(tb, append([]Process{{PID: s.PID, Command: "sshd"}}, Descendants(tb, s.PID)...))
}

// Again starts the server on its old port, after Stop. With a key that is the host's from then on.
func (s *SSHD) Again(tb testing.TB, key ...Key) {
	tb.Helper()
	if len(key) > 0 {
		s.HostKey = key[0]
		s.HostKey.Write(tb, s.Dir, "ssh_host_ed25519_key")
	}
	if !s.start(tb) {
		tb.Fatalf("sshd could not listen on its old port %d:\n%s", s.Port, s.Log)
	}
}

// start reports whether the server got its port.
func (s *SSHD) start(tb testing.TB) bool {
	tb.Helper()
	config := filepath.Join(s.Dir, "sshd_config")
	text := fmt.Sprintf("Port %d\nListenAddress 127.0.0.1\n%s\n", s.Port, strings.Join(s.lines, "\n"))
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		tb.Fatal(err)
	}
	s.Log = NewCapture()
	cmd := exec.Command(sshdPath, "-D", "-e", "-f", config)
	cmd.Stderr = s.Log
	cmd.WaitDelay = Patience
	if err := cmd.Start(); err != nil {
		tb.Fatal(err)
	}
	pid, port, log := cmd.Process.Pid, s.Port, s.Log
	s.PID = pid
	ended := make(chan struct{})
	var waitErr error
	go func() {
		defer close(ended)
		waitErr = cmd.Wait()
	}()
	if !s.Log.WaitFor("Server listening on", ended) {
		if !strings.Contains(s.Log.String(), "Address already in use") {
			tb.Fatalf("sshd ended (%v):\n%s", waitErr, s.Log)
		}
		return false
	}
	tb.Cleanup(func() {
		select {
		case <-ended: // a test has killed it, and its number may be another's by now
		default:
			children := Descendants(tb, pid)
			Kill(tb, append([]Process{{PID: pid, Command: "sshd"}}, children...))
			<-ended
		}
		if tb.Failed() {
			tb.Logf("log of sshd on port %d:\n%s", port, log)
		}
	})
	return true
}

// Sessions returns the processes of the server that each hold one connection.
func (s *SSHD) Sessions(tb testing.TB) []Process {
	tb.Helper()
	var found []Process
	for _, p := range Descendants(tb, s.PID) {
		if p.parent == s.PID {
			found = append(found, p)
		}
	}
	return found
}

// WaitIdle waits until the server has no connection left.
func (s *SSHD) WaitIdle(tb testing.TB) {
	tb.Helper()
	Eventually(tb, "the end of every connection at sshd", func() bool { return len(s.Sessions(tb)) == 0 })
}

// Freeze stops everything below one connection of the server; its end is the caller's task, or the test's.
func (s *SSHD) Freeze(tb testing.TB, connection Process) {
	tb.Helper()
	for _, p := range append([]Process{connection}, Descendants(tb, connection.PID)...) {
		// A helper of the shell's start-up files may have ended since it was listed.
		if err := system.Kill(p.PID, system.SIGSTOP); err != nil && !errors.Is(err, syscall.ESRCH) {
			tb.Fatalf("stop %d (%s): %v", p.PID, p.Command, err)
		}
	}
}

// KnownHosts is the line of a known_hosts file that makes a client trust the server.
func (s *SSHD) KnownHosts() string { return KnownHostsLine(s.Port, s.HostKey) }

// KnownHostsLine is the line of a known_hosts file that names a key for a port of this machine.
func KnownHostsLine(port int, k Key) string {
	return fmt.Sprintf("[127.0.0.1]:%d %s", port, k.Public())
}

// FreePort returns a port of the loopback address without a listener. It is below those that systems give to clients
// (ip_local_port_range), so that no client of another test gets the port of a server that is away for a moment.
func FreePort(tb testing.TB) int {
	tb.Helper()
	const first, end = 10_000, 32_768
	for range 100 {
		port := first + rand.IntN(end-first)
		l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err == nil {
			_ = l.Close()
			return port
		}
	}
	tb.Fatal("no port of the loopback address is free")
	return 0
}

// portOf returns the port of an address.
func portOf(tb testing.TB, address string) int {
	tb.Helper()
	_, text, err := net.SplitHostPort(address)
	if err != nil {
		tb.Fatal(err)
	}
	port, err := strconv.Atoi(text)
	if err != nil {
		tb.Fatal(err)
	}
	return port
}
