package mcp

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ptyctl/internal/lab"
	"ptyctl/internal/sshserver"
)

// The calls that the Rust program's guide shows, as docs/migrate-from-rust-ptyctl.md describes them.
func TestEarlierCalls(t *testing.T) {
	const password = "earlier-password-1138"
	s := lab.ServeSSH(t, sshserver.Config{Passwords: map[string]string{"root": password}})
	h := lab.NewHome(t)
	h.Trust(t, s.KnownHostsLine())
	c := h.Connect(t)
	c.Hide(password)

	r := c.Call(
		t,
		lab.ToolSession,
		`{"action":"open","protocol":"ssh","host":"127.0.0.1","port":%s,"username":"root","auth":{"password":%s},
		"pty":{"enabled":true,"cols":120,"rows":40,"term":"xterm-256color"},"timeouts":{"connect_timeout_ms":15000,"idle_timeout_ms":0},
		"ssh_options":{"host_key_policy":"strict","use_openssh_config":true,"extra_args":[]},
		"expect":{"prompt_regex":"[#>$]"},"session_type":"normal"}`,
		s.Port(),
		password,
	)
	if r.State != "open" || s.Stats().PasswordsSeen != 1 {
		t.Fatalf("the password was not used: %s", r.Text)
	}
	id := r.SessionID
	r = c.Call(
		t,
		lab.ToolIO,
		`{"action":"read","session_id":%s,"cursor":"0","timeout_ms":10000,"max_bytes":65536,"until_regex":"[#>$]","include_match":true,"encoding":"utf-8"}`,
		id,
	)
	if !r.Matched {
		t.Errorf("no prompt: %s", r.Text)
	}
	// The pattern comes long after the first bytes do.
	c.Call(
		t,
		lab.ToolIO,
		`{"action":"write","session_id":%s,"data":"echo one; sleep 1; echo t''wo\n","encoding":"utf-8"}`,
		id,
	)
	if r = c.Call(
		t, lab.ToolIO, `{"action":"read","session_id":%s,"cursor":%s,"timeout_ms":10000,"until_regex":"two"}`, id,
		r.NextCursor,
	); !r.Matched ||
		!strings.Contains(r.Chunk, "one") {
		t.Errorf("until_regex: %s", r.Text)
	}
	if r = c.Call(t, lab.ToolIO, `{"action":"read","session_id":%s,"mode":"tail","max_lines":5}`, id); !strings.Contains(
		r.Chunk,
		"two",
	) {
		t.Errorf("tail: %s", r.Text)
	}
	for _, key := range []string{
		"ctrl_c", "enter", "tab", "backspace", "delete", "home", "end", "ctrl_a", "ctrl_e", "ctrl_k", "ctrl_u", "ctrl_l",
		"esc", "arrow_up", "page_up", "ctrl_c",
	} {
		c.Call(t, lab.ToolIO, `{"action":"write","session_id":%s,"key":%s}`, id, key)
	}
	for _, key := range []string{"ctrl+c", "ctrl-c", "arrow-up", "page-up"} { // its other names for keys
		c.Call(t, lab.ToolIO, `{"action":"write","session_id":%s,"key":%s}`, id, key)
	}
	// Where the marker behind the command was lost, or forged.
	for command, code := range map[string]int{
		"true # comment": 0, "false": 1, "cat <<EOF\nx\nEOF": 0, "printf '\\036RC=5\\037\\n'; (exit 2)": 2, "echo 'open": 2,
	} {
		for _, marker := range []string{
			``, `,"rc_mode":{"enabled":true,"marker_prefix":"\u001eRC=","marker_suffix":"\u001f"}`,
		} {
			if marker != "" && strings.HasPrefix(command, "printf") {
				continue // which is the caller's own marker then
			}
			c.Call(t, lab.ToolIO, `{"action":"write","session_id":%s,"data":"\n","until_regex":"[#$] $"}`, id)
			r := c.Call(
				t,
				lab.ToolExec,
				`{"session_id":%s,"cmd":%s,"timeout_ms":20000,"lane":"terminal","expect":{"prompt_regex":"[#$] $"}`+marker+`}`,
				id,
				command,
			)
			if r.ExitCode == nil || *r.ExitCode != code {
				t.Errorf("%q %s: %s", command, marker, r.Text)
			}
		}
	}
	c.Call(t, lab.ToolConfig, `{"action":"resize","session_id":%s,"cols":100,"rows":50}`, id)
	c.Call(
		t,
		lab.ToolConfig,
		`{"action":"expect","session_id":%s,"expect":{"prompt_regex":"[$#] $","pager_regexes":["--More--"],"error_regexes":["(?i)denied"]}}`,
		id,
	)
	c.Call(t, lab.ToolConfig, `{"action":"get","session_id":%s}`, id)
	for _, call := range []string{
		`{"action":"lock","session_id":%s,"task_id":"t1","lock_ttl_ms":60000}`,
		`{"action":"heartbeat","session_id":%s,"task_id":"t1","lock_ttl_ms":60000}`, `{"action":"status","session_id":%s}`,
		`{"action":"unlock","session_id":%s,"task_id":"t1"}`,
	} {
		c.Call(t, lab.ToolSession, call, id)
	}
	c.Call(t, lab.ToolSession, `{"action":"list"}`)
	c.Call(t, lab.ToolSession, `{"action":"close","session_id":%s,"force":true}`, id)
	c.Call(t, lab.ToolSession, `{"action":"close","session_id":%s}`, id)

	// The calls that ptyctl refuses now.
	const open = `{"action":"open","protocol":"ssh","host":"127.0.0.1","port":%s,"username":"root","auth":{"password":%s},"ssh_options":`
	c.Refused(
		t,
		"HOSTKEY_MISMATCH",
		lab.ToolSession,
		open+`{"host_key_fingerprint":"SHA256:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"}}`,
		s.Port(),
		password,
	)
	seen := s.Stats().PasswordsSeen
	if seen != 1 {
		t.Errorf("%d passwords went to a server with another key", seen-1)
	}
	if r := c.Refused(
		t, "UNSUPPORTED", lab.ToolSession, open+`{"extra_args":["-o","ProxyCommand=touch stolen"]}}`, s.Port(), password,
	); !strings.Contains(
		r.Message,
		"ProxyJump",
	) {
		t.Errorf("refusal of ProxyCommand = %s, want a message with ProxyJump", r.Text)
	}
	c.Call(t, lab.ToolIO, `{"action":"read","session_id":%s,"encoding":"utf8"}`, id)
	c.Refused(
		t,
		"INVALID_ARGUMENT",
		lab.ToolSession,
		`{"action":"open","protocol":"telnet","host":"127.0.0.1","username":"admin","auth":{"password":%s}}`,
		password,
	)
	c.Refused(
		t,
		"INVALID_ARGUMENT",
		lab.ToolSession,
		`{"action":"open","protocol":"ssh","host":"-oProxyCommand=touch stolen","username":"root"}`,
	)
	if _, err := os.Stat(filepath.Join(h.Dir, "stolen")); err == nil {
		t.Error("a program was run")
	}
}

// ptyctl must accept the earlier program's configuration, variables and flags, or say why not.
func TestEarlierConfiguration(t *testing.T) {
	h := lab.NewHome(t)
	h.Write(t, h.Config, `[server]
transport = "stdio"
[server.http]
listen = "127.0.0.1:8765"
auth_token = ""
[server.control]
control_socket_path = "`+filepath.Join(h.Dir, "run", "ptyctl.sock")+`"
control_mode = "readonly"
control_auth_token = ""
[session]
max_sessions = 100
idle_timeout_ms = 0
output_buffer_max_lines = 20000
output_buffer_max_bytes = 2097152
record_tx_events = false
default_exec_timeout_ms = 60000
[ssh]
openssh_path = "ssh"
use_openssh_config = true
config_path = ""
host_key_policy = "strict"
known_hosts_path = ""
[telnet]
telnet_path = "telnet"
[logging]
level = "info"
format = "text"
`)
	for _, c := range []struct {
		env, more string
		status    int
		says      string
	}{
		{"", "", 0, "ssh.openssh_path has no effect"},
		{"", "", 0, "telnet.telnet_path has no effect"},
		{"", "[session]\ndefault_read_timeout_ms = 2000\n", 2, "there is no key session.default_read_timeout_ms"},
		{"", "[telnet]\nline_ending = 'cr'\n", 2, "there is no key telnet.line_ending"},
		{"PTYCTL_CONTROL_MODE=sometimes", "", 2, "PTYCTL_CONTROL_MODE"},
		{"PTYCTL_TRANSPORT=carrier", "", 2, "PTYCTL_TRANSPORT"},
		{"PTYCTL_HTTP_LISTEN=here", "", 2, "PTYCTL_HTTP_LISTEN"},
		{"PTYCTL_LOG_LEVEL=chatty", "", 2, "PTYCTL_LOG_LEVEL"},
		{"PTYCTL_CONTROL_SOCKET=relative", "", 2, "PTYCTL_CONTROL_SOCKET"},
	} {
		file := h.Config
		if c.more != "" {
			file = filepath.Join(h.Dir, "more.toml")
			h.Write(t, file, c.more)
		}
		h.Env = nil
		if c.env != "" {
			h.Env = []string{c.env}
		}
		stdout, stderr, status := h.Run(t, "config", "check", "--config", file)
		if status != c.status || !strings.Contains(stdout+stderr, c.says) {
			t.Errorf("%s%s: status %d, want %q: %s%s", c.env, c.more, status, c.says, stdout, stderr)
		}
	}
	h.Env = nil
	for _, c := range []struct{ args, says string }{
		{"serve --transport http --http-listen 127.0.0.1:0", "http-listen"},
		{"serve --transport http --auth-token something", "tokens_file"},
		{"sessions --control-socket x", "control-socket"},
		{"tail --max-lines 5 x", "max-lines"},
	} {
		if stdout, stderr, status := h.Run(t, strings.Fields(c.args)...); status != 2 || !strings.Contains(stderr, c.says) {
			t.Errorf("%s: status %d: %s%s", c.args, status, stdout, stderr)
		}
	}
	// serve is an alias of mcp, the socket is at the configured path, and the commands find it.
	h.Write(t, h.Config, "")
	socket := filepath.Join(t.TempDir(), "run", "ptyctl.sock")
	p := h.Start(
		t,
		"--transport",
		"stdio",
		"--control-socket",
		socket,
		"--control-mode",
		"readonly",
		"--log-level",
		"info",
	)
	lab.Eventually(t, "the socket", func() bool {
		_, err := os.Stat(socket)
		return err == nil
	})
	if stdout, stderr, status := h.Run(t, "sessions", "--socket", socket); status != 0 {
		t.Errorf("status %d: %s%s; its log:\n%s", status, stdout, stderr, p.Log)
	}
}
