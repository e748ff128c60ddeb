package integration

import (
	"bufio"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"ptyctl/term"
)

// A labSSHD is an sshd_config(5) to be. The zero value accepts every user's key, and nothing else.
type labSSHD struct {
	pam      string   // PAM service to ask; empty: none
	hostKeys []labKey // none: a fresh one
	config   string   // what matters in the test; it wins over what is set otherwise
}

// A labServer is a server that runs in the lab, on 127.0.0.1.
type labServer struct {
	port int
	pid  string // of the listener, in the namespace
	keys []labKey
	log  *labLog
}

// sshd starts OpenSSH's server. It ends with the test.
func (l *lab) sshd(t *testing.T, c labSSHD) *labServer {
	t.Helper()
	if len(c.hostKeys) == 0 {
		c.hostKeys = []labKey{newLabKey(t, "ed25519")}
	}
	s := &labServer{port: labFreePort(t), keys: c.hostKeys}
	dir := fmt.Sprintf("/etc/ssh/lab/%d", s.port)
	program, usePAM := "/usr/sbin/sshd", "no"
	l.run(t, "mkdir -p "+dir)
	if c.pam != "" {
		// OpenSSH asks for the PAM service by the name it was started under (until 9.8, which has PAMServiceName).
		program, usePAM = dir+"/"+c.pam, "yes"
		l.run(t, "ln -s /usr/sbin/sshd "+program)
	}
	var config strings.Builder
	fmt.Fprintf(
		&config,
		"%s\nListenAddress 127.0.0.1\nPort %d\nUsePAM %s\n",
		c.config,
		s.port,
		usePAM,
	) // the first value counts
	config.WriteString("AuthorizedKeysFile /etc/ssh/lab/authorized/%u\n")
	config.WriteString(
		"PidFile none\nUseDNS no\nPrintMotd no\nPrintLastLog no\nLogLevel DEBUG1\nPasswordAuthentication no\nKbdInteractiveAuthentication no\n",
	)
	for i, k := range s.keys {
		path := fmt.Sprintf("%s/host%d", dir, i)
		l.file(t, path, "600", k.pem)
		fmt.Fprintf(&config, "HostKey %s\n", path)
	}
	l.file(t, dir+"/sshd_config", "644", config.String())
	l.start(t, s, program+" -D -e -f "+dir+"/sshd_config", `^Server listening on`)
	return s
}

// start runs a server and waits until it says that it is ready.
func (l *lab) start(t *testing.T, s *labServer, command, ready string) {
	t.Helper()
	fifo := filepath.Join(l.fifos, strconv.Itoa(s.port))
	s.log = newLabLog(t, fifo)
	s.pid = l.run(t, fmt.Sprintf("%s >%s 2>&1 &\necho $!", command, fifo))
	t.Cleanup(func() { l.run(t, "kill "+s.pid+" || true") })
	s.log.wait(t, ready)
}

// labFreePort returns a port that nobody listens on.
func labFreePort(tb testing.TB) int {
	tb.Helper()
	n, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	defer n.Close()
	return n.Addr().(*net.TCPAddr).Port
}

// known returns the lines of known_hosts for the server's host keys.
func (s *labServer) known() string { return labKnown(s.port, s.keys...) }

func labKnown(port int, keys ...labKey) string {
	var b strings.Builder
	for _, k := range keys {
		fmt.Fprintf(&b, "[127.0.0.1]:%d %s", port, k.authorized())
	}
	return b.String()
}

// withKey is the server for a user who logs in with a key.
func (s *labServer) withKey(u *labUser) term.Target {
	t := s.target(u)
	t.Auth = term.Auth{Method: "private_key", PrivateKeyPEM: term.Secret(u.key.pem)}
	return t
}

// withPassword is the server for a user who logs in with a password.
func (s *labServer) withPassword(u *labUser) term.Target {
	t := s.target(u)
	t.Auth = term.Auth{Password: term.Secret(u.password)}
	return t
}

// target is the server for a user who has what the operator's configuration offers.
func (s *labServer) target(u *labUser) term.Target {
	return term.Target{Protocol: "ssh", Host: "127.0.0.1", Port: s.port, User: u.name}
}

// wantNoLogin fails the test unless one connection came and went without a single authentication request.
func (s *labServer) wantNoLogin(t *testing.T) {
	t.Helper()
	s.log.wait(t, `(closed by|reset by|Disconnected from|Received disconnect|ended|Unable to negotiate).*\[preauth\]`)
	if line := s.log.find(`userauth-request`); line != "" {
		t.Errorf("the server was asked to authenticate somebody: %s", line)
	}
}

// A labLog is what a server has said so far. It is shown when the test fails.
type labLog struct {
	mu    sync.Mutex // guards the following
	lines []string
	more  chan struct{} // closed and replaced when a line comes
}

// newLabLog makes a named pipe and reads it, a line at a time.
func newLabLog(t *testing.T, fifo string) *labLog {
	t.Helper()
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(fifo, os.O_RDWR, 0) // with a writer of our own: it never ends before we say so
	if err != nil {
		t.Fatal(err)
	}
	g := &labLog{more: make(chan struct{})}
	var reader sync.WaitGroup
	reader.Go(func() {
		in := bufio.NewScanner(f)
		for in.Scan() {
			g.mu.Lock()
			g.lines = append(g.lines, strings.TrimSuffix(in.Text(), "\r"))
			close(g.more)
			g.more = make(chan struct{})
			g.mu.Unlock()
		}
	})
	t.Cleanup(func() {
		_ = f.Close()
		reader.Wait()
		_ = os.Remove(fifo)
		if t.Failed() {
			t.Logf("the server's log:\n%s", strings.Join(g.lines, "\n"))
		}
	})
	return g
}

// find returns the first line that matches, or "".
func (g *labLog) find(pattern string) string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.findLocked(regexp.MustCompile(pattern))
}

// findLocked requires g.mu.
func (g *labLog) findLocked(re *regexp.Regexp) string {
	for _, line := range g.lines {
		if re.MatchString(line) {
			return line
		}
	}
	return ""
}

// wait returns the first line that matches, and fails the test if there is none in ten seconds.
func (g *labLog) wait(tb testing.TB, pattern string) string {
	tb.Helper()
	re := regexp.MustCompile(pattern)
	limit := time.After(10 * time.Second)
	for {
		g.mu.Lock()
		line, more := g.findLocked(re), g.more
		g.mu.Unlock()
		if line != "" {
			return line
		}
		select {
		case <-more:
		case <-limit:
			tb.Fatalf("the server did not say %q", pattern)
		}
	}
}
