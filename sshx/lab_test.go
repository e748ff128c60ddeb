package sshx_test

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

// A lab is a network in memory, with SSH servers and a home folder for the
// client.
type lab struct {
	t     *testing.T
	home  string
	opts  sshx.Options
	limit int // bytes in transit on a connection; 0 for no limit

	mu    sync.Mutex // guards the following
	hosts map[string]func(net.Conn)
	known []string
	dials []string // addresses dialled
}

// inBubble runs f with a lab in a synctest bubble: time advances only while all
// goroutines wait, and a goroutine left at the end fails the test.
func inBubble(t *testing.T, f func(t *testing.T, l *lab)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { f(t, newLab(t)) })
}

func newLab(t *testing.T) *lab {
	l := &lab{t: t, home: t.TempDir(), hosts: make(map[string]func(net.Conn))}
	l.write(".ssh/config", "")
	l.write(".ssh/known_hosts", "")
	leaktest.File(t, l.path(".ssh/known_hosts"))
	l.opts = sshx.Options{
		Logger:            leaktest.Log(t),
		HomeDir:           l.home,
		ConfigPath:        l.path(".ssh/config"),
		IdentityAgent:     "none",
		KeepaliveInterval: -1,
		Dial:              l.dial,
	}
	return l
}

func (l *lab) path(name string) string { return filepath.Join(l.home, name) }

// write writes a file in the home folder and returns its path.
func (l *lab) write(name, text string) string {
	l.t.Helper()
	if err := os.MkdirAll(filepath.Dir(l.path(name)), 0o700); err != nil {
		l.t.Fatal(err)
	}
	if err := os.WriteFile(l.path(name), []byte(text), 0o600); err != nil {
		l.t.Fatal(err)
	}
	return l.path(name)
}

// link makes a symbolic link in the home folder and returns its path.
func (l *lab) link(name, target string) string {
	if err := os.Symlink(target, l.path(name)); err != nil {
		l.t.Fatal(err)
	}
	return l.path(name)
}

func (l *lab) config(text string) { l.write(".ssh/config", text) }

// server adds a server with a recorded key to the network.
func (l *lab) server(address string, c sshserver.Config) *sshserver.Server {
	l.t.Helper()
	srv := l.unrecorded(address, c)
	l.trust(address, srv.HostKey())
	return srv
}

// unrecorded adds a server without a recorded key to the network.
func (l *lab) unrecorded(address string, c sshserver.Config) *sshserver.Server {
	l.t.Helper()
	for _, password := range c.Passwords {
		leaktest.Secret(l.t, password)
	}
	if c.Handler == nil {
		c.Handler = shell
	}
	if c.Passwords == nil && c.AuthorizedKeys == nil && c.KeyboardInteractive == nil {
		c.NoAuth = true
	}
	if c.Dial == nil {
		c.Dial = l.dial
	}
	srv, err := sshserver.New(c)
	if err != nil {
		l.t.Fatal(err)
	}
	l.t.Cleanup(func() { _ = srv.Close() })
	l.peer(address, srv.ServeConn)
	return srv
}

// peer adds a server for any protocol to the network.
func (l *lab) peer(address string, serve func(net.Conn)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.hosts[address] = serve
}

func (l *lab) trust(address string, key ssh.PublicKey) {
	l.known = append(l.known, knownhosts.Line([]string{address}, key))
	l.write(".ssh/known_hosts", strings.Join(l.known, "\n")+"\n")
}

func (l *lab) dial(_ context.Context, _, address string) (net.Conn, error) {
	l.mu.Lock()
	l.dials = append(l.dials, address)
	serve := l.hosts[address]
	l.mu.Unlock()
	if serve == nil {
		return nil, &net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}
	}
	near, far := bufpipe.New(l.limit)
	go serve(far)
	return near, nil
}

// dialled returns the number of connections to address.
func (l *lab) dialled(address string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := 0
	for _, a := range l.dials {
		if a == address {
			n++
		}
	}
	return n
}

// The first host of a lab.
const (
	host1 = "192.0.2.1"
	addr1 = host1 + ":22"
	addr2 = "192.0.2.2:22"
	addr3 = "192.0.2.3:22"
	addr4 = "192.0.2.4:22"
)

// to returns the target u@host, with a password unless it is empty.
func to(host, password string) term.Target {
	return term.Target{Host: host, User: "u", Auth: term.Auth{Password: term.Secret(password)}}
}

// client dials, and closes the Client at the end of the test.
func (l *lab) client(t term.Target, p term.Prompter) *sshx.Client {
	l.t.Helper()
	confide(l.t, t.Auth)
	c, err := sshx.Dial(l.t.Context(), t, l.opts, confiding(l.t, p))
	if err != nil {
		l.t.Fatal(err)
	}
	l.t.Cleanup(func() { _ = c.Close() })
	leaktest.Output(l.t, "state", fmt.Sprintf("%+v", c.Describe()))
	return c
}

// open opens a shell through a Dialer.
func (l *lab) open(t term.Target) *sshx.Shell {
	l.t.Helper()
	tr, err := sshx.Dialer(l.opts)(l.t.Context(), t, nil, nil)
	if err != nil {
		l.t.Fatal(err)
	}
	l.t.Cleanup(func() { _ = tr.Close() })
	return tr.(*sshx.Shell)
}

// fails dials, requires an error of that kind, and returns it.
func (l *lab) fails(t term.Target, p term.Prompter, kind term.Kind) *term.Error {
	l.t.Helper()
	confide(l.t, t.Auth)
	c, err := sshx.Dial(l.t.Context(), t, l.opts, confiding(l.t, p))
	if err == nil {
		_ = c.Close()
		l.t.Fatalf("connected; want %s", kind)
	}
	var e *term.Error
	if !errors.As(err, &e) || e.Kind != kind {
		l.t.Fatalf("error %v (%s); want %s", err, term.KindOf(err), kind)
	}
	toldError(l.t, e)
	return e
}

// prompter answers questions with f and records them.
type prompter struct {
	mu    sync.Mutex // guards the following
	asked []term.Prompt
	f     func(ctx context.Context, q term.Prompt) (string, error)
}

func (p *prompter) Prompt(ctx context.Context, q term.Prompt) (string, error) {
	p.mu.Lock()
	p.asked = append(p.asked, q)
	p.mu.Unlock()
	return p.f(ctx, q)
}

// answering returns a prompter that gives these answers in turn.
func answering(answers ...string) *prompter {
	var mu sync.Mutex
	return &prompter{f: func(context.Context, term.Prompt) (string, error) {
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

// noPrompter returns a prompter that must not be called.
func noPrompter(t *testing.T) *prompter {
	return &prompter{f: func(_ context.Context, q term.Prompt) (string, error) {
		t.Errorf("asked: %q", q.Text)
		return "", errors.New("nobody is here")
	}}
}

// run runs a command and returns its output.
func run(t *testing.T, c *sshx.Client, r term.ExecRequest) (stdout, stderr string, e term.Exit) {
	t.Helper()
	var out, errs bytes.Buffer
	e, err := c.Exec(t.Context(), r, &out, &errs)
	if err != nil {
		t.Fatalf("%q: %v", r.Command, err)
	}
	return out.String(), errs.String(), e
}

// shell is a Handler for commands of one word and an argument.
func shell(ctx context.Context, r *sshserver.Request) sshserver.Exit {
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

// steps returns the names of the steps of the last hop; a failed one ends with
// "!".
func steps(hops []term.Hop) []string {
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

func lastStep(hops []term.Hop) string {
	s := steps(hops)
	if len(s) == 0 {
		return ""
	}
	return s[len(s)-1]
}

func wantSteps(t *testing.T, hops []term.Hop, want ...string) {
	t.Helper()
	if got := steps(hops); !slices.Equal(got, want) {
		t.Errorf("steps %v, want %v", got, want)
	}
}
