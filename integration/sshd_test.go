package integration

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

const sshdPath = "/usr/sbin/sshd"

// An sshd is a running OpenSSH server that lets this user in with one key.
type sshd struct {
	port     int
	user     string
	home     string // $HOME of those who log in, and theirs alone: their real shell startup files are slow and unknown
	hostKey  key
	userKey  key
	identity string // the file with userKey
	pid      int    // of the listener; its children are the connections
	log      *capture

	dir   string   // of its files
	lines []string // of its configuration
}

// startSSHD starts a server with lines added to its configuration. The first line for a keyword counts
// (sshd_config(5)), so they override what stands here; all else is the server's default, MaxStartups and MaxSessions
// too. It ends with the test, with all that was started through it.
func startSSHD(tb testing.TB, lines ...string) *sshd {
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
	s := &sshd{
		user:    me.Username,
		home:    filepath.Join(dir, "home"),
		hostKey: newKey(tb, "ed25519"),
		userKey: newKey(tb, "ed25519"),
	}
	s.identity = s.userKey.write(tb, dir, "id_ed25519")
	authorized := filepath.Join(dir, "authorized_keys")
	if err := os.WriteFile(authorized, []byte(s.userKey.public()+"\n"), 0o600); err != nil {
		tb.Fatal(err)
	}
	if err := os.Mkdir(s.home, 0o700); err != nil {
		tb.Fatal(err)
	}
	lines = append(lines,
		"HostKey "+s.hostKey.write(tb, dir, "ssh_host_ed25519_key"),
		"AuthorizedKeysFile "+authorized,
		"PidFile none",
		"StrictModes no", // the folders above the keys are /tmp's, which is everybody's
		"UsePAM no", "PasswordAuthentication no", "KbdInteractiveAuthentication no", "UseDNS no",
		"PermitRootLogin prohibit-password",
		"PrintMotd no", "PrintLastLog no",
		"SetEnv HOME="+s.home+" HISTFILE=/dev/null",
	)
	s.dir, s.lines = dir, lines
	s.mustStart(tb)
	return s
}

// mustStart starts the server on a port of which nobody else has heard: for the first time, or after it was killed.
func (s *sshd) mustStart(tb testing.TB) {
	tb.Helper()
	// A port that is free now may be taken a moment later; sshd cannot be given a listening socket.
	for range 5 {
		if s.start(tb) {
			return
		}
	}
	tb.Fatalf("sshd could not listen:\n%s", s.log)
}

// start reports whether the server got its port.
func (s *sshd) start(tb testing.TB) bool {
	tb.Helper()
	s.port = freePort(tb)
	config := filepath.Join(s.dir, "sshd_config")
	text := fmt.Sprintf("Port %d\nListenAddress 127.0.0.1\n%s\n", s.port, strings.Join(s.lines, "\n"))
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		tb.Fatal(err)
	}
	s.log = newCapture()
	cmd := exec.Command(sshdPath, "-D", "-e", "-f", config)
	cmd.Stderr = s.log
	cmd.WaitDelay = patience
	if err := cmd.Start(); err != nil {
		tb.Fatal(err)
	}
	pid, port, log := cmd.Process.Pid, s.port, s.log
	s.pid = pid
	ended := make(chan struct{})
	var waitErr error
	go func() {
		defer close(ended)
		waitErr = cmd.Wait()
	}()
	if !s.log.waitFor("Server listening on", ended) {
		if !strings.Contains(s.log.String(), "Address already in use") {
			tb.Fatalf("sshd ended (%v):\n%s", waitErr, s.log)
		}
		return false
	}
	tb.Cleanup(func() {
		select {
		case <-ended: // a test has killed it, and its number may be another's by now
		default:
			children := below(tb, pid)
			kill(tb, append([]process{{pid: pid, command: "sshd"}}, children...))
			<-ended
		}
		if tb.Failed() {
			tb.Logf("log of sshd on port %d:\n%s", port, log)
		}
	})
	return true
}

// sessions returns the processes of the server that each hold one connection.
func (s *sshd) sessions(tb testing.TB) []process {
	tb.Helper()
	var found []process
	for _, p := range below(tb, s.pid) {
		if p.parent == s.pid {
			found = append(found, p)
		}
	}
	return found
}

// idle waits until the server has no connection left.
func (s *sshd) idle(tb testing.TB) {
	tb.Helper()
	eventually(tb, "the end of every connection at sshd", func() bool { return len(s.sessions(tb)) == 0 })
}

// freeze stops everything below one connection of the server; its end is the caller's task, or the test's.
func (s *sshd) freeze(tb testing.TB, connection process) {
	tb.Helper()
	for _, p := range append([]process{connection}, below(tb, connection.pid)...) {
		if err := syscall.Kill(p.pid, syscall.SIGSTOP); err != nil {
			tb.Fatalf("stop %d (%s): %v", p.pid, p.command, err)
		}
	}
}

// knownHosts is the line of a known_hosts file that makes a client trust the server.
func (s *sshd) knownHosts() string { return knownHostsLine(s.port, s.hostKey) }

func knownHostsLine(port int, k key) string {
	return fmt.Sprintf("[127.0.0.1]:%d %s", port, k.public())
}

// freePort returns a port of the loopback address that nobody listens on.
func freePort(tb testing.TB) int {
	tb.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	defer l.Close()
	return portOf(tb, l.Addr().String())
}

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
