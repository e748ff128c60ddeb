package sshtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/knownhosts"

	"ptyctl/internal/bufpipe"
	"ptyctl/internal/leaktest"
	"ptyctl/internal/sshserver"
	"ptyctl/sshx"
	"ptyctl/term"
)

// A Lab is a network in memory, with SSH servers and a home folder for the
// client.
type Lab struct {
	t     *testing.T
	Home  string
	Opts  sshx.Options // of the client
	Limit int          // bytes in transit on a connection; 0 for no limit

	mu    sync.Mutex // guards the following
	hosts map[string]func(net.Conn)
	Known []string // lines of known_hosts
	Dials []string // addresses dialled
}

// InBubble runs f with a lab in a synctest bubble: time advances only while all
// goroutines wait, and a goroutine left at the end fails the test.
func InBubble(t *testing.T, f func(t *testing.T, l *Lab)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { f(t, New(t)) })
}

// New returns a lab without servers, and with an empty ssh_config and known_hosts.
func New(t *testing.T) *Lab {
	l := &Lab{t: t, Home: t.TempDir(), hosts: make(map[string]func(net.Conn))}
	l.Write(".ssh/config", "")
	l.Write(".ssh/known_hosts", "")
	leaktest.File(t, l.Path(".ssh/known_hosts"))
	l.Opts = sshx.Options{
		Logger:            leaktest.Log(t),
		HomeDir:           l.Home,
		ConfigPath:        l.Path(".ssh/config"),
		IdentityAgent:     "none",
		KeepaliveInterval: -1,
		Dial:              l.Dial,
	}
	return l
}

// Path returns the path of a file in the home folder.
func (l *Lab) Path(name string) string { return filepath.Join(l.Home, name) }

// Write writes a file in the home folder and returns its path.
func (l *Lab) Write(name, text string) string {
	l.t.Helper()
	if err := os.MkdirAll(filepath.Dir(l.Path(name)), 0o700); err != nil {
		l.t.Fatal(err)
	}
	if err := os.WriteFile(l.Path(name), []byte(text), 0o600); err != nil {
		l.t.Fatal(err)
	}
	return l.Path(name)
}

// Link makes a symbolic link in the home folder and returns its path.
func (l *Lab) Link(name, target string) string {
	if err := os.Symlink(target, l.Path(name)); err != nil {
		l.t.Fatal(err)
	}
	return l.Path(name)
}

// Config replaces the ssh_config of the home folder.
func (l *Lab) Config(text string) { l.Write(".ssh/config", text) }

// Server adds a server with a recorded key to the network.
func (l *Lab) Server(address string, c sshserver.Config) *sshserver.Server {
	l.t.Helper()
	srv := l.Unrecorded(address, c)
	l.Trust(address, srv.HostKey())
	return srv
}

// Unrecorded adds a server without a recorded key to the network.
func (l *Lab) Unrecorded(address string, c sshserver.Config) *sshserver.Server {
	l.t.Helper()
	for _, password := range c.Passwords {
		leaktest.Secret(l.t, password)
	}
	if c.Handler == nil {
		c.Handler = Shell
	}
	if c.Passwords == nil && c.AuthorizedKeys == nil && c.KeyboardInteractive == nil {
		c.NoAuth = true
	}
	if c.Dial == nil {
		c.Dial = l.Dial
	}
	srv, err := sshserver.New(c)
	if err != nil {
		l.t.Fatal(err)
	}
	l.t.Cleanup(func() { _ = srv.Close() })
	l.Peer(address, srv.ServeConn)
	return srv
}

// Peer adds a server for any protocol to the network.
func (l *Lab) Peer(address string, serve func(net.Conn)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.hosts[address] = serve
}

// Trust adds a key to known_hosts.
func (l *Lab) Trust(address string, key ssh.PublicKey) {
	l.Known = append(l.Known, knownhosts.Line([]string{address}, key))
	l.Write(".ssh/known_hosts", strings.Join(l.Known, "\n")+"\n")
}

// Dial connects to a server of the lab; other addresses refuse.
func (l *Lab) Dial(_ context.Context, _, address string) (net.Conn, error) {
	l.mu.Lock()
	l.Dials = append(l.Dials, address)
	serve := l.hosts[address]
	l.mu.Unlock()
	if serve == nil {
		return nil, &net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}
	}
	near, far := bufpipe.New(l.Limit)
	go serve(far)
	return near, nil
}

// Dialled returns the number of connections to address.
func (l *Lab) Dialled(address string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := 0
	for _, a := range l.Dials {
		if a == address {
			n++
		}
	}
	return n
}

// The first host of a lab.
const (
	Host1 = "192.0.2.1"
	Addr1 = Host1 + ":22"
	Addr2 = "192.0.2.2:22"
	Addr3 = "192.0.2.3:22"
	Addr4 = "192.0.2.4:22"
)

// To returns the target u@host, with a password unless it is empty.
func To(host, password string) term.Target {
	return term.Target{Host: host, User: "u", Auth: term.Auth{Password: term.Secret(password)}}
}

// Client dials, and closes the Client at the end of the test.
func (l *Lab) Client(t term.Target, p term.Prompter) *sshx.Client {
	l.t.Helper()
	Confide(l.t, t.Auth)
	c, err := sshx.Dial(l.t.Context(), t, l.Opts, Confiding(l.t, p))
	if err != nil {
		l.t.Fatal(err)
	}
	l.t.Cleanup(func() { _ = c.Close() })
	leaktest.Output(l.t, "state", fmt.Sprintf("%+v", c.Describe()))
	return c
}

// Open opens a shell through a Dialer.
func (l *Lab) Open(t term.Target) *sshx.Shell {
	l.t.Helper()
	tr, err := sshx.Dialer(l.Opts)(l.t.Context(), t, nil, nil)
	if err != nil {
		l.t.Fatal(err)
	}
	l.t.Cleanup(func() { _ = tr.Close() })
	return tr.(*sshx.Shell)
}

// Fails dials, requires an error of that kind, and returns it.
func (l *Lab) Fails(t term.Target, p term.Prompter, kind term.Kind) *term.Error {
	l.t.Helper()
	Confide(l.t, t.Auth)
	c, err := sshx.Dial(l.t.Context(), t, l.Opts, Confiding(l.t, p))
	if err == nil {
		_ = c.Close()
		l.t.Fatalf("connected; want %s", kind)
	}
	var e *term.Error
	if !errors.As(err, &e) || e.Kind != kind {
		l.t.Fatalf("error %v (%s); want %s", err, term.KindOf(err), kind)
	}
	RegisterError(l.t, e)
	return e
}

// Prompter answers questions with f and records them.
type Prompter struct {
	mu     sync.Mutex // guards the following
	Asked  []term.Prompt
	Answer func(ctx context.Context, q term.Prompt) (string, error)
}

// Prompt implements term.Prompter.
func (p *Prompter) Prompt(ctx context.Context, q term.Prompt) (string, error) {
	p.mu.Lock()
	p.Asked = append(p.Asked, q)
	p.mu.Unlock()
	return p.Answer(ctx, q)
}

// Answering returns a prompter that gives these answers in turn.
func Answering(answers ...string) *Prompter {
	var mu sync.Mutex
	return &Prompter{Answer: func(context.Context, term.Prompt) (string, error) {
		mu.Lock()
		defer mu.Unlock()
		if len(answers) == 0 {
			return "", errors.New("a question too many")
		}
		a := answers[0]
		answers = answers[1:]
		return a, nil
	}}
}

// NoPrompter returns a prompter that must not be called.
func NoPrompter(t *testing.T) *Prompter {
	return &Prompter{Answer: func(_ context.Context, q term.Prompt) (string, error) {
		t.Errorf("asked: %q", q.Text)
		return "", errors.New("nobody is here")
	}}
}

// Run runs a command and returns its output.
func Run(t *testing.T, c *sshx.Client, r term.ExecRequest) (stdout, stderr string, e term.Exit) {
	t.Helper()
	var out, errs bytes.Buffer
	e, err := c.Exec(t.Context(), r, &out, &errs)
	if err != nil {
		t.Fatalf("%q: %v", r.Command, err)
	}
	return out.String(), errs.String(), e
}

// Shell is a Handler for commands of one word and an argument.
func Shell(ctx context.Context, r *sshserver.Request) sshserver.Exit {
	word, rest, _ := strings.Cut(r.Command, " ")
	switch word {
	case "exit":
		var n uint32
		_, _ = fmt.Sscan(rest, &n)
		return sshserver.Exit{Status: n}
	case "echo":
		_, _ = io.WriteString(r.Stdout, rest+"\n")
	case "both":
		_, _ = io.WriteString(r.Stdout, "out")
		_, _ = io.WriteString(r.Stderr, "err")
	case "cat":
		_, _ = io.Copy(r.Stdout, r.Stdin)
	case "env":
		_, _ = io.WriteString(r.Stdout, strings.Join(r.Env, " "))
	case "stay": // says so, and ends on a signal
		_, _ = io.WriteString(r.Stdout, "here\n")
		select {
		case s := <-r.Signals:
			return sshserver.Exit{Signal: s}
		case <-ctx.Done():
		}
	case "sleep":
		d, _ := time.ParseDuration(rest)
		select {
		case <-time.After(d):
		case s := <-r.Signals:
			return sshserver.Exit{Signal: s}
		case <-ctx.Done():
		}
	case "die":
		return sshserver.Exit{Signal: ssh.Signal(rest)}
	case "stubborn": // ends on KILL only
		for {
			select {
			case s := <-r.Signals:
				if s == ssh.SIGKILL {
					return sshserver.Exit{Signal: s}
				}
			case <-ctx.Done():
				return sshserver.Exit{}
			}
		}
	case "background":
		_, _ = io.WriteString(r.Stdout, "x\n")
		r.SendExit(sshserver.Exit{Status: 5})
		select {
		case <-time.After(30 * time.Second):
		case <-ctx.Done():
		}
	case "": // a login shell echoes its input, and ends with it
		_, _ = io.Copy(r.Stdout, r.Stdin)
	default:
		_, _ = io.WriteString(r.Stdout, r.Command)
	}
	return sshserver.Exit{}
}

// Steps returns the names of the steps of the last hop; a failed one ends with
// "!".
func Steps(hops []term.Hop) []string {
	var out []string
	if len(hops) > 0 {
		for _, s := range hops[len(hops)-1].Steps {
			name := s.Name
			if !s.OK {
				name += "!"
			}
			out = append(out, name)
		}
	}
	return out
}

// LastStep returns the last of Steps, or "".
func LastStep(hops []term.Hop) string {
	s := Steps(hops)
	if len(s) == 0 {
		return ""
	}
	return s[len(s)-1]
}

// WantSteps checks the steps of the last hop.
func WantSteps(t *testing.T, hops []term.Hop, want ...string) {
	t.Helper()
	if got := Steps(hops); !slices.Equal(got, want) {
		t.Errorf("steps %v, want %v", got, want)
	}
}
