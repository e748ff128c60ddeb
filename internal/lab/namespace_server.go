package lab

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"ptyctl/internal/lab/system"
	"ptyctl/term"
)

// A ServerConfig is an sshd_config(5) to be. The zero value accepts every user's key, and nothing else.
type ServerConfig struct {
	PAM      string // PAM service to ask; empty: none
	HostKeys []Key  // none: a fresh one
	Config   string // the lines that matter in the test; they win over the defaults
}

// A Server is a server that runs in the lab, on 127.0.0.1.
type Server struct {
	Port int
	pid  string // of the listener, in the namespace
	Keys []Key
	Log  *ServerLog
}

// SSHD starts OpenSSH's server. It ends with the test.
func (l *Namespace) SSHD(t *testing.T, c ServerConfig) *Server {
	t.Helper()
	if len(c.HostKeys) == 0 {
		c.HostKeys = []Key{NewKey(t, "ed25519")}
	}
	s := &Server{Port: FreePort(t), Keys: c.HostKeys}
	dir := fmt.Sprintf("/etc/ssh/lab/%d", s.Port)
	program, usePAM := "/usr/sbin/sshd", "no"
	l.Run(t, "mkdir -p "+dir)
	if c.PAM != "" {
		// OpenSSH asks for the PAM service by the name it was started under (until 9.8, which has PAMServiceName).
		program, usePAM = dir+"/"+c.PAM, "yes"
		l.Run(t, "ln -sf /usr/sbin/sshd "+program)
	}
	var config strings.Builder
	fmt.Fprintf(
		&config,
		"%s\nListenAddress 127.0.0.1\nPort %d\nUsePAM %s\n",
		c.Config,
		s.Port,
		usePAM,
	) // the first value counts
	config.WriteString("AuthorizedKeysFile /etc/ssh/lab/authorized/%u\n")
	config.WriteString(
		"PidFile none\nUseDNS no\nPrintMotd no\nPrintLastLog no\n" +
			"LogLevel DEBUG1\nPasswordAuthentication no\nKbdInteractiveAuthentication no\n",
	)
	for i, k := range s.Keys {
		path := fmt.Sprintf("%s/host%d", dir, i)
		l.WriteFile(t, path, "600", k.PEM)
		fmt.Fprintf(&config, "HostKey %s\n", path)
	}
	l.WriteFile(t, dir+"/sshd_config", "644", config.String())
	l.start(t, s, program+" -D -e -f "+dir+"/sshd_config", `^Server listening on`)
	return s
}

// start runs a server and waits until it says that it is ready.
func (l *Namespace) start(t *testing.T, s *Server, command, ready string) {
	t.Helper()
	fifo := filepath.Join(l.fifos, strconv.Itoa(s.Port))
	s.Log = newServerLog(t, fifo)
	s.pid = l.Run(t, fmt.Sprintf("%s >%s 2>&1 &\necho $!", command, fifo))
	t.Cleanup(func() { l.Run(t, "kill "+s.pid+" || true") })
	s.Log.Wait(t, ready)
}

// Known returns the lines of known_hosts for the server's host keys.
func (s *Server) Known() string { return KnownHosts(s.Port, s.Keys...) }

// KnownHosts returns the lines of known_hosts for the keys of a server on a port.
func KnownHosts(port int, keys ...Key) string {
	var b strings.Builder
	for _, k := range keys {
		fmt.Fprintf(&b, "[127.0.0.1]:%d %s", port, k.Authorized())
	}
	return b.String()
}

// WithKey returns the server as a target for a user who logs in with a key.
func (s *Server) WithKey(u *User) term.Target {
	t := s.Target(u)
	t.Auth = term.Auth{Method: "private_key", PrivateKeyPEM: term.Secret(u.Key.PEM)}
	return t
}

// WithPassword returns the server as a target for a user who logs in with a password.
func (s *Server) WithPassword(u *User) term.Target {
	t := s.Target(u)
	t.Auth = term.Auth{Password: term.Secret(u.Password)}
	return t
}

// Target returns the server as a target for a user with all the credentials of the operator's configuration.
func (s *Server) Target(u *User) term.Target {
	return term.Target{Protocol: "ssh", Host: "127.0.0.1", Port: s.Port, User: u.Name}
}

// WantNoLogin fails the test unless one connection came and went without a single authentication request.
func (s *Server) WantNoLogin(t *testing.T) {
	t.Helper()
	s.Log.Wait(t, `(closed by|reset by|Disconnected from|Received disconnect|ended|Unable to negotiate).*\[preauth\]`)
	if line := s.Log.Find(`userauth-request`); line != "" {
		t.Errorf("the server saw an attempt to log in, want none: %s", line)
	}
}

// A ServerLog is a server's log so far. It is shown when the test fails.
type ServerLog struct {
	mu    sync.Mutex // guards the following
	lines []string
	more  chan struct{} // closed and replaced when a line comes
}

// newServerLog makes a named pipe and reads it, a line at a time.
func newServerLog(t *testing.T, fifo string) *ServerLog {
	t.Helper()
	if err := system.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(fifo, os.O_RDWR, 0) // with a writer of our own: it never ends before we say so
	if err != nil {
		t.Fatal(err)
	}
	g := &ServerLog{more: make(chan struct{})}
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

// Find returns the first line that matches, or "".
func (g *ServerLog) Find(pattern string) string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.findLocked(regexp.MustCompile(pattern))
}

// findLocked requires g.mu.
func (g *ServerLog) findLocked(re *regexp.Regexp) string {
	for _, line := range g.lines {
		if re.MatchString(line) {
			return line
		}
	}
	return ""
}

// Count returns the number of lines that contain text.
func (g *ServerLog) Count(text string) int {
	g.mu.Lock()
	defer g.mu.Unlock()
	n := 0
	for _, line := range g.lines {
		if strings.Contains(line, text) {
			n++
		}
	}
	return n
}

// Wait returns the first line that matches, and fails the test if no line does.
func (g *ServerLog) Wait(tb testing.TB, pattern string) string {
	tb.Helper()
	re := regexp.MustCompile(pattern)
	limit := time.After(Patience)
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

// Dropbear starts the other SSH server that is widely deployed, with a host key of each of its types: with ed25519
// alone, version 2022.83 fails an assertion during the key exchange. It returns the lines of known_hosts.
func (l *Namespace) Dropbear(t *testing.T) (s *Server, known string) {
	t.Helper()
	s = &Server{Port: FreePort(t)}
	dir := fmt.Sprintf("/etc/ssh/lab/%d", s.Port)
	command := []string{fmt.Sprintf("/usr/sbin/dropbear -F -E -p 127.0.0.1:%d -P %s/pid", s.Port, dir)}
	var make strings.Builder
	fmt.Fprintf(&make, "rm -rf %s\nmkdir -p %s\ncd %s\n", dir, dir, dir) // an earlier server may have had the port
	for _, kind := range []string{"rsa", "ecdsa", "ed25519"} {
		fmt.Fprintf(&make, "dropbearkey -t %[1]s -f %[1]s >made 2>&1 || { cat made; exit 1; }\ngrep -E '^(ssh|ecdsa)-' made\n", kind)
		command = append(command, "-r", dir+"/"+kind)
	}
	var recorded strings.Builder
	for line := range strings.Lines(l.Run(t, make.String())) {
		fmt.Fprintf(&recorded, "[127.0.0.1]:%d %s\n", s.Port, strings.TrimSuffix(line, "\n"))
	}
	l.Run(t, `umask 077
mkdir -p ~alice/.ssh
cp /etc/ssh/lab/authorized/alice ~alice/.ssh/authorized_keys
chown -R alice:alice ~alice/.ssh`)
	l.start(t, s, strings.Join(command, " "), `Not backgrounding`)
	return s, recorded.String()
}
