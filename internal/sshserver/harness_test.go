package sshserver

import (
	"context"
	"crypto/ed25519"
	"errors"
	"io"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/crypto/ssh"

	"ptyctl/internal/bufpipe"
)

// newServer returns a Server without a listener, and closes it at the end of the test.
func newServer(t *testing.T, c Config) *Server {
	t.Helper()
	s, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// pipeTo returns the client's end of an in-memory connection to s.
func pipeTo(t *testing.T, s *Server) net.Conn {
	client, server := bufpipe.New(0)
	go s.ServeConn(server)
	t.Cleanup(func() { client.Close() })
	return client
}

// clientConfig logs in as demo with auth and expects the host key of s.
func clientConfig(s *Server, auth ...ssh.AuthMethod) *ssh.ClientConfig {
	return &ssh.ClientConfig{User: "demo", Auth: auth, HostKeyCallback: ssh.FixedHostKey(s.HostKey())}
}

// login connects to s in memory.
func login(t *testing.T, s *Server, config *ssh.ClientConfig) (*ssh.Client, error) {
	t.Helper()
	conn, channels, requests, err := ssh.NewClientConn(pipeTo(t, s), "demo:22", config)
	if err != nil {
		return nil, err
	}
	client := ssh.NewClient(conn, channels, requests)
	t.Cleanup(func() { client.Close() })
	return client, nil
}

// connect logs in to a server without authentication.
func connect(t *testing.T, s *Server) *ssh.Client {
	t.Helper()
	client, err := login(t, s, clientConfig(s))
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// openSession opens a session channel.
func openSession(t *testing.T, client *ssh.Client) *ssh.Session {
	t.Helper()
	session, err := client.NewSession()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { session.Close() })
	return session
}

// newKey returns a new key pair for a user or a host.
func newKey(t *testing.T) ssh.Signer {
	t.Helper()
	_, key, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	signer, err := ssh.NewSignerFromKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return signer
}

// echo is a Handler that writes the command to stdout, copies stdin to it, and ends with
// status 7.
func echo(_ context.Context, r *Request) Exit {
	io.WriteString(r.Stdout, r.Command)
	io.Copy(r.Stdout, r.Stdin)
	return Exit{Status: 7}
}

// untilClosed is a Handler that never ends by itself.
func untilClosed(ctx context.Context, _ *Request) Exit {
	<-ctx.Done()
	return Exit{}
}

// exitStatus returns the status in an error of ssh.Session.Wait, or -1.
func exitStatus(err error) int {
	var exit *ssh.ExitError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &exit):
		return exit.ExitStatus()
	default:
		return -1
	}
}

// mustHang fails the test if do returns within a virtual hour. The returned channel is
// closed when it has returned.
func mustHang(t *testing.T, what string, do func()) <-chan struct{} {
	t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		do()
	}()
	time.Sleep(time.Hour)
	synctest.Wait()
	select {
	case <-done:
		t.Errorf("%s returned; it was to hang", what)
	default:
	}
	return done
}
