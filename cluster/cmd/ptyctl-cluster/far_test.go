package main

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/mark3labs/mcp-go/client/transport"

	"ptyctl/cluster/internal/natstest"
	"ptyctl/internal/sshserver"
)

// The tokens of these tests.
const (
	opsToken   = "ops-4c1d7e9a2b6f-1138"
	otherToken = "other-9b3e5d1c7a2f-1138"
	readToken  = "read-6f2a8c4e1b9d-1138"
)

// entry are lines of the table [cluster] that keep new sessions away from a node.
const entry = "entry_only = true"

// httpLines are lines of a node with an HTTP server.
func httpLines(tb testing.TB, name, url string, more ...string) string {
	tb.Helper()
	tokens := filepath.Join(tb.TempDir(), "tokens")
	text := "ops:write:" + opsToken + "\nother:write:" + otherToken + "\nci:read:" + readToken + "\n"
	if err := os.WriteFile(tokens, []byte(text), 0o600); err != nil {
		tb.Fatal(err)
	}
	return fmt.Sprintf("[local]\nhttp = true\n[server.http]\ntokens_file = %q\nisolate = true\n", tokens) + lines(name, url, more...)
}

// A served node has an HTTP server.
type served struct {
	*process
	url string
}

// serve starts a node with an HTTP server. It ends with the test.
func serve(tb testing.TB, lines string) *served {
	tb.Helper()
	s := &served{process: run(tb, program(tb, lines, "mcp", "--transport", "http", "--listen", "127.0.0.1:0"))}
	tb.Cleanup(func() {
		_ = s.cmd.Process.Signal(syscall.SIGTERM) // it may have ended
		<-s.ended
		if tb.Failed() {
			tb.Logf("the node has logged:\n%s", s.log)
		}
	})
	natstest.Eventually(tb, "the node serves", func() bool {
		found := servingAt.FindStringSubmatch(s.log.String())
		if found != nil {
			s.url = found[1] + "/mcp"
		}
		return found != nil && strings.Contains(s.log.String(), "this node answers the calls of the other nodes")
	})
	return s
}

// dial makes a client with a token.
func (s *served) dial(tb testing.TB, token string) *caller {
	tb.Helper()
	over, err := transport.NewStreamableHTTP(s.url, transport.WithHTTPHeaders(map[string]string{"Authorization": "Bearer " + token}))
	if err != nil {
		tb.Fatal(err)
	}
	c := handshake(tb, over, s.log)
	tb.Cleanup(func() { _ = c.client.Close() })
	return c
}

// sshHost starts an SSH server with sh as its shell and OpenSSH's sftp-server for its files. It returns the lines of a
// configuration that names it far1.
func sshHost(tb testing.TB, policy string) (lines string) {
	tb.Helper()
	s, err := sshserver.Listen(sshserver.Config{
		NoAuth: true, Shell: "/bin/sh", Subsystems: map[string]string{"sftp": "/usr/lib/openssh/sftp-server"}, // of scripts/install-test-deps
	})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = s.Close() })
	_, port, err := net.SplitHostPort(s.Addr())
	if err != nil {
		tb.Fatal(err)
	}
	dir := tb.TempDir()
	config, known := filepath.Join(dir, "ssh_config"), filepath.Join(dir, "known_hosts")
	for path, text := range map[string]string{
		config: "Host far1 far2\nHostName 127.0.0.1\nPort " + port + "\nUser alice\nIdentityAgent none\nIdentityFile none\n", known: "",
	} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			tb.Fatal(err)
		}
	}
	return fmt.Sprintf("[ssh]\nconfig_path = %q\nknown_hosts_path = %q\nhost_key_policy = %q\n", config, known, policy)
}

// marks counts the lines of a file; 0: the file does not exist.
func marks(tb testing.TB, path string) int {
	tb.Helper()
	text, err := os.ReadFile(path)
	if err != nil && !os.IsNotExist(err) {
		tb.Fatal(err)
	}
	return strings.Count(string(text), "\n")
}
