package auth_test

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/agent"

	"ptyctl/internal/sshserver"
	"ptyctl/sshx"
	"ptyctl/sshx/internal/sshtest"
	"ptyctl/term"
)

// serveAgent runs an agent with keys on a socket. It works in a bubble too:
// sockets are outside of it.
func serveAgent(t *testing.T, keys ...any) string {
	t.Helper()
	ring := agent.NewKeyring()
	for _, k := range keys {
		if err := ring.Add(agent.AddedKey{PrivateKey: k}); err != nil {
			t.Fatal(err)
		}
	}
	dir, err := os.MkdirTemp("", "agent") //nolint:usetesting // t.TempDir is too long for a socket
	if err != nil {
		t.Fatal(err)
	}
	socket := filepath.Join(dir, "s")
	ln, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = ln.Close()
		_ = os.RemoveAll(dir)
	})
	go func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			go func() {
				_ = agent.ServeAgent(ring, c)
				_ = c.Close()
			}()
		}
	}()
	return socket
}

// TestAgent checks which of an agent's keys are offered, and their order.
func TestAgent(t *testing.T) {
	k1, s1 := sshtest.RawKey(t)
	k2, s2 := sshtest.RawKey(t)
	inFile, pem := sshtest.NewKey(t)
	socket := serveAgent(t, k1, k2)
	print := ssh.FingerprintSHA256
	for _, tc := range []struct {
		name, config, method string
		accept               ssh.PublicKey
		offered              []string
	}{
		{"all, before files", "IdentityFile %k\n", "", inFile.PublicKey(), []string{print(s1.PublicKey()), print(s2.PublicKey()), print(inFile.PublicKey())}},
		{"named first", "IdentityFile %p\n", "", s2.PublicKey(), []string{print(s2.PublicKey())}},
		{"IdentitiesOnly", "IdentitiesOnly yes\nIdentityFile %p\n", "", s1.PublicKey(), []string{print(s2.PublicKey())}},
		{"method agent", "IdentityFile %k\n", "agent", inFile.PublicKey(), []string{print(s1.PublicKey()), print(s2.PublicKey())}},
		{"none", "IdentityAgent none\nIdentityFile %k\n", "", s1.PublicKey(), []string{print(inFile.PublicKey())}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			l := sshtest.New(t)
			srv := l.Server(sshtest.Addr1, sshserver.Config{AuthorizedKeys: []ssh.PublicKey{tc.accept}})
			l.Config(
				strings.NewReplacer("%k", l.Write("id", pem), "%p",
					l.Write("id2.pub", string(ssh.MarshalAuthorizedKey(s2.PublicKey())))).
					Replace(tc.config),
			)
			l.Opts.IdentityAgent = socket
			target := sshtest.To(sshtest.Host1, "")
			target.Auth.Method = tc.method
			c, err := sshx.Dial(t.Context(), target, l.Opts, nil)
			if err == nil {
				_ = c.Close()
			}
			if works := tc.offered[len(tc.offered)-1] == print(tc.accept); works != (err == nil) {
				t.Errorf("login with keys %v offered: error %v, want success %v", tc.offered, err, works)
			}
			if got := slices.Compact(srv.Stats().KeysOffered); !slices.Equal(got, tc.offered) {
				t.Errorf("offered %v, want %v", got, tc.offered)
			}
		})
	}
}

// TestDeafAgent checks the time limit of a login with an agent that accepts the
// request to sign and never answers.
func TestDeafAgent(t *testing.T) {
	dir, err := os.MkdirTemp("", "agent") //nolint:usetesting // t.TempDir is too long for a socket
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	ln, err := net.Listen("unix", filepath.Join(dir, "s"))
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	k, s := sshtest.RawKey(t)
	ring := agent.NewKeyring()
	if err := ring.Add(agent.AddedKey{PrivateKey: k}); err != nil {
		t.Fatal(err)
	}
	go func() {
		if c, err := ln.Accept(); err == nil {
			_ = agent.ServeAgent(deaf{ring}, c)
		}
	}()
	l := sshtest.New(t)
	l.Server(sshtest.Addr1, sshserver.Config{AuthorizedKeys: []ssh.PublicKey{s.PublicKey()}})
	l.Opts.IdentityAgent = filepath.Join(dir, "s")
	target := sshtest.To(sshtest.Host1, "")
	target.ConnectTimeout = 300 * time.Millisecond
	done := make(chan error, 1)
	go func() {
		_, err := sshx.Dial(context.Background(), target, l.Opts, nil)
		done <- err
	}()
	select {
	case err := <-done:
		if !errors.Is(err, term.ConnectTimeout) {
			t.Error(err)
		}
	case <-time.After(10 * time.Second):
		t.Fatal("still waiting for the agent")
	}
}

// deaf is an agent that lists its keys and never signs.
type deaf struct{ agent.Agent }

func (deaf) Sign(ssh.PublicKey, []byte) (*ssh.Signature, error) { select {} }

// A serialAgent counts the requests to sign that it has at a time.
type serialAgent struct {
	agent.Agent
	mu        sync.Mutex // guards the following
	now, most int
}

func (a *serialAgent) count(n int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.now += n
	a.most = max(a.most, a.now)
}

func (a *serialAgent) Sign(key ssh.PublicKey, data []byte) (*ssh.Signature, error) {
	a.count(1)
	defer a.count(-1)
	time.Sleep(200 * time.Millisecond) // as one that waits for a touch
	return a.Agent.Sign(key, data)
}

// TestAgentIsAskedOneAtATime: logins wait for each other, and that time does not count for them.
func TestAgentIsAskedOneAtATime(t *testing.T) {
	dir, err := os.MkdirTemp("", "agent") //nolint:usetesting // t.TempDir is too long for a socket
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	ln, err := net.Listen("unix", filepath.Join(dir, "s"))
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	k, s := sshtest.RawKey(t)
	ring := &serialAgent{Agent: agent.NewKeyring()}
	if err := ring.Add(agent.AddedKey{PrivateKey: k}); err != nil {
		t.Fatal(err)
	}
	go func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			go func() {
				_ = agent.ServeAgent(ring, c)
				_ = c.Close()
			}()
		}
	}()
	l := sshtest.New(t)
	l.Server(sshtest.Addr1, sshserver.Config{AuthorizedKeys: []ssh.PublicKey{s.PublicKey()}})
	l.Opts.IdentityAgent = filepath.Join(dir, "s")
	target := sshtest.To(sshtest.Host1, "")
	target.ConnectTimeout = 700 * time.Millisecond // less than all logins take together
	errs := make(chan error)
	const logins = 5
	for range logins {
		go func() {
			c, err := sshx.Dial(context.Background(), target, l.Opts, nil)
			if err == nil {
				_ = c.Close()
			}
			errs <- err
		}()
	}
	for range logins {
		if err := <-errs; err != nil {
			t.Errorf("one of %d logins that share an agent: %v", logins, err)
		}
	}
	if ring.most != 1 {
		t.Errorf("the agent was asked for %d signatures at a time, want 1", ring.most)
	}
}
