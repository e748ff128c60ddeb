package integration

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// TestOfficialClients has the official clients complete what every client must be able to, on each transport.
func TestOfficialClients(t *testing.T) {
	t.Parallel()
	s, telnet := startSSHD(t), startInetutils(t)
	h := homeFor(t, []*sshd{s})
	open, url := h.startHTTP(t)
	guarded := homeFor(t, []*sshd{s}, "[server.http]\nauth_token = '"+opsToken+"'")
	guarded.secrets = append(guarded.secrets, opsToken)
	closed, guardedURL := guarded.startHTTP(t)
	for _, client := range []struct {
		name    string
		connect func(*testing.T) tools
	}{
		{"Go SDK, stdio", func(t *testing.T) tools { return h.connect(t).tools }},
		{"Go SDK, HTTP", func(t *testing.T) tools { return open.dial(t, url, "").tools }},
		{"Go SDK, HTTP with a token", func(t *testing.T) tools { return closed.dial(t, guardedURL, opsToken).tools }},
		{"TypeScript SDK, stdio", func(t *testing.T) tools { return h.typescript(t).tools }},
		{"TypeScript SDK, HTTP", func(t *testing.T) tools { return startTypescript(t, nil, "http", url).tools }},
		{"TypeScript SDK, HTTP with a token", func(t *testing.T) tools { return startTypescript(t, nil, "http", guardedURL, opsToken).tools }},
		{"Inspector, HTTP", func(t *testing.T) tools {
			return inspector{node: installedNode(t), t: t, server: []string{url, "--transport", "http"}}.tools()
		}},
	} {
		t.Run(client.name, func(t *testing.T) {
			t.Parallel()
			acceptance(t, client.connect(t), s, telnet)
		})
	}
}

// TestInspectorStdio lists the tools, and makes a call, with a ptyctl that the Inspector has started.
func TestInspectorStdio(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	i := inspector{node: installedNode(t), t: t, server: []string{h.program, "mcp"}, env: h.command().Env}
	if names := i.listTools(); !slices.Equal(
		names,
		[]string{toolHealth, toolRun, toolSession, toolConfig, toolExec, toolIO},
	) {
		t.Errorf("the tools are %v", names)
	}
	if r := i.tools().call(t, toolSession, `{"action":"list"}`); r.Sessions == nil || len(r.Sessions) != 0 {
		t.Errorf("list: %s", r.text)
	}
}

// acceptance runs a command on a host, works in a shell there, and talks to a Telnet server.
func acceptance(t *testing.T, c tools, s *sshd, telnet *telnetServer) {
	if err := os.WriteFile(filepath.Join(s.home, "a-file-to-list"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	id := c.open(t, s)
	if r := c.call(t, toolExec, `{"session_id":%s,"cmd":"echo hello"}`, id); r.Stdout != "hello\n" || r.ExitCode == nil ||
		*r.ExitCode != 0 {
		t.Errorf("exec: %s", r.text)
	}

	// The quotes within the words keep the echo of what was typed apart from what is waited for.
	c.enter(t, id, "cd; PS1='rea''dy> ' exec bash --norc --noprofile -i\r", `ready> `)
	c.enter(t, id, "ls\n", `a-file-to-list\s+.*ready> `)
	c.enter(t, id, "sh -c 'echo beg''un; exec sleep 999'\r", `begun\s`)
	r := c.call(
		t,
		toolIO,
		`{"action":"write","session_id":%s,"key":"ctrl_c","until_regex":"ready> ","timeout_ms":20000}`,
		id,
	)
	if !r.Matched {
		t.Errorf("ctrl_c: %s", r.text)
	}
	c.enter(t, id, "echo sta''tus=$?\r", `status=130\s+.*ready> `)
	c.close(t, id)

	id, _ = c.openTelnet(t, telnet, "")
	c.loginTelnet(t, telnet, id)
	c.enter(t, id, "echo o''ver telnet\r", `\nover telnet\r\n`)
	r = c.call(t, toolIO, `{"action":"read","session_id":%s,"until_regex":"never-there","timeout_ms":300}`, id)
	if !r.TimedOut || r.Matched {
		t.Errorf("a read that must time out: %s", r.text)
	}
	c.close(t, id)

	c.refused(t, "NOT_FOUND", toolSession, `{"action":"status","session_id":"no-such-session"}`)
}
