package mcp

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"

	"ptyctl/internal/lab"
	"ptyctl/internal/sshserver"
)

// The refusal of a wrong call must name the error and the right form.
func TestWrongCalls(t *testing.T) {
	s := lab.StartSSHD(t)
	c := lab.HomeFor(t, []*lab.SSHD{s}).Connect(t)
	open, closed := c.Open(t, s), c.Open(t, s)
	c.Close(t, closed)
	tests := []struct {
		name, tool, arguments string
		code                  string
		message               []string // parts of it
	}{
		{
			"unknown field",
			lab.ToolSession,
			`{"action":"list","verbose":true}`,
			"INVALID_ARGUMENT",
			[]string{`"verbose"`, "list"},
		},
		{
			"misspelt field",
			lab.ToolExec,
			`{"session_id":"` + open + `","comand":"ls"}`,
			"INVALID_ARGUMENT",
			[]string{`"comand"`},
		},
		{
			"field of another action",
			lab.ToolIO,
			`{"action":"write","session_id":"` + open + `","data":"x","mode":"tail"}`,
			"INVALID_ARGUMENT",
			[]string{"mode", "write"},
		},
		{
			"unknown field inside",
			lab.ToolSession,
			`{"action":"open","protocol":"ssh","host":"h","auth":{"pasword":"misspelt-1138"}}`,
			"INVALID_ARGUMENT",
			[]string{"auth", "pasword"},
		},
		{
			"wrong type",
			lab.ToolExec,
			`{"session_id":"` + open + `","stdin":["ls"],"cmd":"cat"}`,
			"INVALID_ARGUMENT",
			[]string{"stdin", "string"},
		},
		{
			"number as text",
			lab.ToolSession,
			`{"action":"open","protocol":"ssh","host":"h","port":"ssh"}`,
			"INVALID_ARGUMENT",
			[]string{"port", "whole number"},
		},
		{
			"number out of range",
			lab.ToolSession,
			`{"action":"open","protocol":"ssh","host":"h","port":70000}`,
			"INVALID_ARGUMENT",
			[]string{"port", "65535"},
		},
		{"null", lab.ToolExec, `{"session_id":null,"cmd":"ls"}`, "INVALID_ARGUMENT", []string{"session_id"}},
		{
			"wrong enum",
			lab.ToolSession,
			`{"action":"open","protocol":"rlogin","host":"h"}`,
			"INVALID_ARGUMENT",
			[]string{"protocol", "rlogin", "ssh"},
		},
		{"wrong action", lab.ToolSession, `{"action":"start"}`, "INVALID_ARGUMENT", []string{"start", "use ptyctl_session open"}},
		{
			"wrong key",
			lab.ToolIO,
			`{"action":"write","session_id":"` + open + `","key":"any"}`,
			"INVALID_ARGUMENT",
			[]string{"key", "ctrl_c"},
		},
		{"no action", lab.ToolSession, `{}`, "INVALID_ARGUMENT", []string{"action"}},
		{"missing field", lab.ToolSession, `{"action":"open","protocol":"ssh"}`, "INVALID_ARGUMENT", []string{"host"}},
		{"missing session", lab.ToolExec, `{"cmd":"ls"}`, "INVALID_ARGUMENT", []string{"session_id"}},
		{"empty command", lab.ToolExec, `{"session_id":"` + open + `","cmd":""}`, "INVALID_ARGUMENT", []string{"cmd"}},
		{"no command", lab.ToolExec, `{"session_id":"` + open + `"}`, "INVALID_ARGUMENT", []string{"cmd"}},
		{
			"nothing to write",
			lab.ToolIO,
			`{"action":"write","session_id":"` + open + `"}`,
			"INVALID_ARGUMENT",
			[]string{"data", "key"},
		},
		{
			"bad pattern",
			lab.ToolIO,
			`{"action":"read","session_id":"` + open + `","until_regex":"a(?=b)"}`,
			"INVALID_ARGUMENT",
			[]string{"until_regex", "RE2"},
		},
		{
			"bad base64",
			lab.ToolIO,
			`{"action":"write","session_id":"` + open + `","data":"%%%","encoding":"base64"}`,
			"INVALID_ARGUMENT",
			[]string{"data", "base64"},
		},
		{
			"bad cursor",
			lab.ToolIO,
			`{"action":"read","session_id":"` + open + `","cursor":"-1"}`,
			"INVALID_ARGUMENT",
			[]string{"cursor", "next_cursor"},
		},
		{
			"unknown session",
			lab.ToolExec,
			`{"session_id":"web1-abcdefgh","cmd":"ls"}`,
			"NOT_FOUND",
			[]string{"web1-abcdefgh", "list"},
		},
		{"unknown session to read", lab.ToolIO, `{"action":"read","session_id":"no"}`, "NOT_FOUND", []string{`"no"`}},
		{
			"command in a closed session",
			lab.ToolExec,
			`{"session_id":"` + closed + `","cmd":"ls"}`,
			"ALREADY_CLOSED",
			[]string{"open"},
		},
		{
			"write to a closed session",
			lab.ToolIO,
			`{"action":"write","session_id":"` + closed + `","data":"x"}`,
			"ALREADY_CLOSED",
			[]string{"open"},
		},
		{
			"protocol of another kind",
			lab.ToolSession,
			`{"action":"open","protocol":"local","host":"h"}`,
			"INVALID_ARGUMENT",
			[]string{"argv"},
		},
		{
			"forwarding",
			lab.ToolSession,
			`{"action":"open","protocol":"ssh","host":"h","ssh_options":{"extra_args":["-L","80:h:80"]}}`,
			"UNSUPPORTED",
			[]string{"-L"},
		},
		{
			"forwarding in one word",
			lab.ToolSession,
			`{"action":"open","protocol":"ssh","host":"h","ssh_options":{"extra_args":["-D1080"]}}`,
			"UNSUPPORTED",
			[]string{"-D"},
		},
		{
			"credentials that exclude each other",
			lab.ToolSession,
			`{"action":"open","protocol":"ssh","host":"h","auth":{"method":"agent","password":"excluded-1138"}}`,
			"INVALID_ARGUMENT",
			[]string{"agent", "leave"},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			r := c.Refused(t, test.code, test.tool, strings.ReplaceAll(test.arguments, "%", "%%"))
			t.Log(r.Message)
			for _, part := range test.message {
				if !strings.Contains(r.Message, part) {
					t.Errorf("the message %q does not speak of %q", r.Message, part)
				}
			}
		})
	}
	c.Close(t, open)
}

// A host that is not an SSH server and a host that does not answer must get different errors, each with the step that
// failed.
func TestUnreachable(t *testing.T) {
	c := lab.NewHome(t).Connect(t)
	deaf := lab.ServeSSH(t, sshserver.Config{NoAuth: true, Faults: sshserver.Faults{StallBanner: true}})
	const limit = time.Second
	tests := []struct {
		name    string
		host    string
		port    int
		code    string
		message []string // parts of it
		step    string   // the one that failed
		waits   bool     // until the time is over
	}{
		{
			"unresolvable",
			"no-such-host.invalid",
			22,
			"CONNECT_FAILED",
			[]string{"no-such-host.invalid", "resolve", "check the name"},
			"dns",
			false,
		},
		{"refused", "127.0.0.1", lab.FreePort(t), "CONNECT_FAILED", []string{"refused", "port"}, "tcp", false},
		{"silent", "127.0.0.1", lab.Listen(t, lab.Silent), "CONNECT_TIMEOUT", []string{"connect_timeout_ms"}, "banner", true},
		{
			"half a banner",
			"127.0.0.1",
			lab.Listen(t, lab.HalfBanner),
			"CONNECT_TIMEOUT",
			[]string{"connect_timeout_ms"},
			"banner",
			true,
		},
		{"silent after its banner", "127.0.0.1", deaf.Port(), "CONNECT_TIMEOUT", []string{"connect_timeout_ms"}, "kex", true},
		{
			"closing",
			"127.0.0.1",
			lab.Listen(t, lab.CloseAtOnce),
			"CONNECT_FAILED",
			[]string{"closed the connection", "port"},
			"banner",
			false,
		},
		{
			"HTTP",
			"127.0.0.1",
			lab.Listen(t, lab.SpeaksHTTP),
			"CONNECT_FAILED",
			[]string{"HTTP/1.1 400 Bad Request", "port"},
			"banner",
			false,
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			timeout := 15 * time.Second
			if test.waits {
				timeout = limit
			}
			begin := time.Now()
			r := c.Refused(
				t,
				test.code,
				lab.ToolSession,
				`{"action":"open","protocol":"ssh","host":%s,"port":%s,"username":"u","timeouts":{"connect_timeout_ms":%s}}`,
				test.host,
				test.port,
				timeout.Milliseconds(),
			)
			took := time.Since(begin)
			t.Log(took, r.Message)
			for _, part := range test.message {
				if !strings.Contains(r.Message, part) {
					t.Errorf("the message %q does not speak of %q", r.Message, part)
				}
			}
			if !r.Retryable {
				t.Errorf("%s is not said to be retryable", test.code)
			}
			if step := lastStep(r); step != test.step {
				t.Errorf("the ladder ends with %q, want %q: %s", step, test.step, r.Text)
			}
			// TestConnectFailures of package sshx checks the exact time, on a clock that no load can slow down.
			if test.waits && (took < limit || took > 10*time.Second) { // without a limit in the call it would be 15 s
				t.Errorf("connecting took %v, want the limit of the call, %v", took, limit)
			}
		})
	}
}

// lastStep is the name of the step at which a connection failed.
func lastStep(r lab.Result) string {
	hops := r.Details.Ladder
	if len(hops) == 0 {
		return ""
	}
	steps := hops[len(hops)-1].Steps
	if len(steps) == 0 || steps[len(steps)-1].OK {
		return ""
	}
	return steps[len(steps)-1].Name
}

// Wrong, missing and unusable credentials must get different errors that do not show them.
func TestWrongCredentials(t *testing.T) {
	user, unknown := lab.NewKey(t, "ed25519"), lab.NewKey(t, "ed25519")
	s := lab.ServeSSH(t, sshserver.Config{
		Passwords:      map[string]string{"alice": "right-password-1138"},
		AuthorizedKeys: []ssh.PublicKey{user.PublicKey()},
	})
	h := lab.NewHome(t)
	h.Trust(t, s.KnownHostsLine())
	c := h.Connect(t)
	const passphrase, wrong = "right-passphrase-1138", "wrong-passphrase-1138"
	encrypted := user.Encrypted(t, passphrase)
	folder := filepath.Join(h.Dir, "id_folder") // as root, too, a folder cannot be read as a key
	if err := os.Mkdir(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	garbled := filepath.Join(h.Dir, "id_garbled")
	h.Write(t, garbled, "-----BEGIN OPENSSH PRIVATE KEY-----\ngarbledgarbled1138\n-----END OPENSSH PRIVATE KEY-----\n")
	locked := filepath.Join(h.Dir, "id_locked")
	h.Write(t, locked, encrypted)
	c.Hide("right-password-1138", "wrong-password-1138", passphrase, wrong, "garbledgarbled1138",
		lab.PrivateKeyLine(encrypted), lab.PrivateKeyLine(user.PEM), lab.PrivateKeyLine(unknown.PEM))

	const open = `{"action":"open","protocol":"ssh","host":"127.0.0.1","port":%s,"username":"alice","auth":%s,"ssh_options":%s}`
	type auth struct {
		Method      string `json:"method,omitempty"`
		Password    string `json:"password,omitempty"`
		Key         string `json:"private_key_pem,omitempty"`
		Passphrase  string `json:"passphrase,omitempty"`
		Interactive bool   `json:"interactive"`
	}
	type options struct {
		ExtraArgs []string `json:"extra_args,omitempty"`
	}
	tests := []struct {
		name    string
		auth    auth
		args    []string
		code    string
		message []string // parts of it
	}{
		{"right password", auth{Password: "right-password-1138"}, nil, "", nil},
		{"right key", auth{Key: user.PEM}, nil, "", nil},
		{"right passphrase", auth{Key: encrypted, Passphrase: passphrase}, nil, "", nil},
		{"right passphrase of a file", auth{Passphrase: passphrase}, []string{"-i", locked}, "", nil},

		{
			"wrong password",
			auth{Password: "wrong-password-1138"},
			nil,
			"AUTH_FAILED",
			[]string{"alice@127.0.0.1", "password"},
		},
		{"strange key", auth{Key: unknown.PEM}, nil, "AUTH_FAILED", []string{"alice@127.0.0.1", "key"}},
		{"wrong passphrase", auth{Key: encrypted, Passphrase: wrong}, nil, "AUTH_FAILED", []string{"passphrase"}},
		{"no passphrase", auth{Key: encrypted}, nil, "AUTH_FAILED", []string{"private key of the call", "its passphrase was not given; pass it", "auth.passphrase"}},
		{"no passphrase for a file", auth{}, []string{"-i", locked}, "AUTH_FAILED", []string{"passphrase", locked}},
		{
			"garbled key",
			auth{Key: "-----BEGIN OPENSSH PRIVATE KEY-----\ngarbledgarbled1138\n-----END OPENSSH PRIVATE KEY-----\n"},
			nil,
			"INVALID_ARGUMENT",
			[]string{"private key of the call", "auth.private_key_pem"},
		},
		{"no key at all", auth{Key: "garbledgarbled1138"}, nil, "INVALID_ARGUMENT", []string{"private key of the call", "auth.private_key_pem"}},
		{"garbled file", auth{}, []string{"-i", garbled}, "AUTH_FAILED", []string{garbled}},
		{"unreadable file", auth{}, []string{"-i", folder}, "AUTH_FAILED", []string{folder}},
		{
			"missing file",
			auth{},
			[]string{"-i", filepath.Join(h.Dir, "id_missing")},
			"AUTH_FAILED",
			[]string{"alice@127.0.0.1", "private_key_pem"},
		},
		{"nothing to offer", auth{}, nil, "AUTH_FAILED", []string{"alice@127.0.0.1"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			r, err := c.Try(t.Context(), lab.ToolSession, open, s.Port(), test.auth, options{test.args})
			if err != nil {
				t.Fatal(err)
			}
			if r.ErrorCode != test.code || test.code == "" && r.State != "open" {
				t.Fatalf("got %s, want %q", r.Text, test.code)
			}
			t.Log(r.Message)
			for _, part := range test.message {
				if !strings.Contains(r.Message, part) {
					t.Errorf("the message %q does not speak of %q", r.Message, part)
				}
			}
		})
	}
}

// The operator's limit of sessions holds, and a session that was closed does not count.
func TestMaxSessions(t *testing.T) {
	s := lab.StartSSHD(t)
	c := lab.HomeFor(t, []*lab.SSHD{s}, "[session]\nmax_sessions = 2").Connect(t)
	first := c.Open(t, s)
	c.Open(t, s)
	r := c.Refused(t, "LIMIT_EXCEEDED", lab.ToolSession, lab.OpenSSH, s.Port, s.User)
	if !strings.Contains(r.Message, "2") || !strings.Contains(r.Message, "clos") ||
		r.Details.Limit != "session.max_sessions" ||
		!r.Retryable {
		t.Errorf("got %s, want the limit, its key, and what to do", r.Text)
	}
	if n := len(s.Sessions(t)); n != 2 {
		t.Errorf("sshd has %d connections, want 2", n)
	}
	c.Close(t, first)
	c.Open(t, s)
}
