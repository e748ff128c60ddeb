package mcp

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"ptyctl/internal/lab"
)

// TestOfficialClients has the official clients complete the steps that every client must be able to do, on each
// transport.
func TestOfficialClients(t *testing.T) {
	t.Parallel()
	s, telnet := lab.StartSSHD(t), lab.StartInetutils(t)
	h := lab.HomeFor(t, []*lab.SSHD{s})
	open, url := h.StartHTTP(t)
	guarded := lab.HomeFor(t, []*lab.SSHD{s}, "[server.http]\nauth_token = '"+lab.OpsToken+"'")
	guarded.Secrets = append(guarded.Secrets, lab.OpsToken)
	closed, guardedURL := guarded.StartHTTP(t)
	for _, client := range []struct {
		name    string
		connect func(*testing.T) lab.Tools
	}{
		{"Go SDK, stdio", func(t *testing.T) lab.Tools { return h.Connect(t).Tools }},
		{"Go SDK, HTTP", func(t *testing.T) lab.Tools { return open.Dial(t, url, "").Tools }},
		{"Go SDK, HTTP with a token", func(t *testing.T) lab.Tools { return closed.Dial(t, guardedURL, lab.OpsToken).Tools }},
		{"TypeScript SDK, stdio", func(t *testing.T) lab.Tools { return typescript(t, h).Tools }},
		{"TypeScript SDK, HTTP", func(t *testing.T) lab.Tools { return startTypescript(t, nil, "http", url).Tools }},
		{"TypeScript SDK, HTTP with a token", func(t *testing.T) lab.Tools { return startTypescript(t, nil, "http", guardedURL, lab.OpsToken).Tools }},
		{"TypeScript SDK 2 auto, stdio", func(t *testing.T) lab.Tools { return typescript2(t, h, "auto").Tools }},
		{"TypeScript SDK 2 pinned, stdio", func(t *testing.T) lab.Tools { return typescript2(t, h, "2026-07-28").Tools }},
		{"TypeScript SDK 2 auto, HTTP", func(t *testing.T) lab.Tools { return startTypescript2(t, "auto", nil, "http", url).Tools }},
		{"TypeScript SDK 2 pinned, HTTP with a token", func(t *testing.T) lab.Tools {
			return startTypescript2(t, "2026-07-28", nil, "http", guardedURL, lab.OpsToken).Tools
		}},
		{"Inspector, HTTP", func(t *testing.T) lab.Tools {
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
	h := lab.NewHome(t)
	i := inspector{node: installedNode(t), t: t, server: []string{h.Program, "mcp"}, env: h.Command().Env}
	if names := i.listTools(); !slices.Equal(
		names,
		[]string{lab.ToolHealth, lab.ToolRun, lab.ToolSession, lab.ToolConfig, lab.ToolExec, lab.ToolIO},
	) {
		t.Errorf("the tools are %v", names)
	}
	if r := i.tools().Call(t, lab.ToolSession, `{"action":"list"}`); r.Sessions == nil || len(r.Sessions) != 0 {
		t.Errorf("list: %s", r.Text)
	}
}

// acceptance runs a command on a host, works in a shell there, and talks to a Telnet server.
func acceptance(t *testing.T, c lab.Tools, s *lab.SSHD, telnet *lab.TelnetServer) {
	if err := os.WriteFile(filepath.Join(s.Home, "a-file-to-list"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	id := c.Open(t, s)
	if r := c.Call(t, lab.ToolExec, `{"session_id":%s,"cmd":"echo hello"}`, id); r.Stdout != "hello\n" ||
		r.ExitCode == nil ||
		*r.ExitCode != 0 {
		t.Errorf("exec: %s", r.Text)
	}

	// The quotes within the words keep the echo of the typed text from matching the pattern.
	c.Enter(t, id, "cd; PS1='rea''dy> ' exec bash --norc --noprofile -i\r", `ready> `)
	c.Enter(t, id, "ls\n", `a-file-to-list\s+.*ready> `)
	c.Enter(t, id, "sh -c 'echo beg''un; exec sleep 999'\r", `begun\s`)
	r := c.Call(
		t,
		lab.ToolIO,
		`{"action":"write","session_id":%s,"key":"ctrl_c","until_regex":"ready> ","timeout_ms":20000}`,
		id,
	)
	if !r.Matched {
		t.Errorf("ctrl_c: %s", r.Text)
	}
	c.Enter(t, id, "echo sta''tus=$?\r", `status=130\s+.*ready> `)
	c.Close(t, id)

	id, _ = c.OpenTelnet(t, telnet, "")
	c.LoginTelnet(t, telnet, id)
	c.Enter(t, id, "echo o''ver telnet\r", `\nover telnet\n`)
	r = c.Call(t, lab.ToolIO, `{"action":"read","session_id":%s,"until_regex":"never-there","timeout_ms":300}`, id)
	if !r.TimedOut || r.Matched {
		t.Errorf("a read that must time out: %s", r.Text)
	}
	c.Close(t, id)

	c.Refused(t, "NOT_FOUND", lab.ToolSession, `{"action":"status","session_id":"no-such-session"}`)
}
