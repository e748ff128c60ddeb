package integration

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"

	"ptyctl/internal/sshserver"
)

// A wrong call is refused with what is wrong, and how it is right.
func TestWrongCalls(t *testing.T) {
	s := startSSHD(t)
	c := homeFor(t, []*sshd{s}).connect(t)
	open, closed := c.open(t, s), c.open(t, s)
	c.close(t, closed)
	tests := []struct {
		name, tool, arguments string
		code                  string
		message               []string // parts of it
	}{
		{"unknown field", toolSession, `{"action":"list","verbose":true}`, "INVALID_ARGUMENT", []string{`"verbose"`, "list"}},
		{"misspelt field", toolExec, `{"session_id":"` + open + `","comand":"ls"}`, "INVALID_ARGUMENT", []string{`"comand"`}},
		{"field of another action", toolIO, `{"action":"write","session_id":"` + open + `","data":"x","mode":"tail"}`, "INVALID_ARGUMENT", []string{"mode", "write"}},
		{"unknown field inside", toolSession, `{"action":"open","protocol":"ssh","host":"h","auth":{"pasword":"misspelt-1138"}}`, "INVALID_ARGUMENT", []string{"auth", "pasword"}},
		{"wrong type", toolExec, `{"session_id":"` + open + `","cmd":["ls"]}`, "INVALID_ARGUMENT", []string{"cmd", "string"}},
		{"number as text", toolSession, `{"action":"open","protocol":"ssh","host":"h","port":"22"}`, "INVALID_ARGUMENT", []string{"port", "whole number"}},
		{"number out of range", toolSession, `{"action":"open","protocol":"ssh","host":"h","port":70000}`, "INVALID_ARGUMENT", []string{"port", "65535"}},
		{"null", toolExec, `{"session_id":null,"cmd":"ls"}`, "INVALID_ARGUMENT", []string{"session_id"}},
		{"wrong enum", toolSession, `{"action":"open","protocol":"rlogin","host":"h"}`, "INVALID_ARGUMENT", []string{"protocol", "rlogin", "ssh"}},
		{"wrong action", toolSession, `{"action":"start"}`, "INVALID_ARGUMENT", []string{"start", "open", "close"}},
		{"wrong key", toolIO, `{"action":"write","session_id":"` + open + `","key":"any"}`, "INVALID_ARGUMENT", []string{"key", "ctrl_c"}},
		{"no action", toolSession, `{}`, "INVALID_ARGUMENT", []string{"action"}},
		{"missing field", toolSession, `{"action":"open","protocol":"ssh"}`, "INVALID_ARGUMENT", []string{"host"}},
		{"missing session", toolExec, `{"cmd":"ls"}`, "INVALID_ARGUMENT", []string{"session_id"}},
		{"empty command", toolExec, `{"session_id":"` + open + `","cmd":""}`, "INVALID_ARGUMENT", []string{"cmd"}},
		{"no command", toolExec, `{"session_id":"` + open + `"}`, "INVALID_ARGUMENT", []string{"cmd"}},
		{"nothing to write", toolIO, `{"action":"write","session_id":"` + open + `"}`, "INVALID_ARGUMENT", []string{"data", "key"}},
		{"bad pattern", toolIO, `{"action":"read","session_id":"` + open + `","until_regex":"a(?=b)"}`, "INVALID_ARGUMENT", []string{"until_regex", "RE2"}},
		{"bad base64", toolIO, `{"action":"write","session_id":"` + open + `","data":"%%%","encoding":"base64"}`, "INVALID_ARGUMENT", []string{"data", "base64"}},
		{"bad cursor", toolIO, `{"action":"read","session_id":"` + open + `","cursor":"-1"}`, "INVALID_ARGUMENT", []string{"cursor", "next_cursor"}},
		{"unknown session", toolExec, `{"session_id":"web1-abcdefgh","cmd":"ls"}`, "NOT_FOUND", []string{"web1-abcdefgh", "list"}},
		{"unknown session to read", toolIO, `{"action":"read","session_id":"no"}`, "NOT_FOUND", []string{`"no"`}},
		{"command in a closed session", toolExec, `{"session_id":"` + closed + `","cmd":"ls"}`, "ALREADY_CLOSED", []string{"open"}},
		{"write to a closed session", toolIO, `{"action":"write","session_id":"` + closed + `","data":"x"}`, "ALREADY_CLOSED", []string{"open"}},
		{"protocol of another kind", toolSession, `{"action":"open","protocol":"local","host":"h"}`, "INVALID_ARGUMENT", []string{"argv"}},
		{"forwarding", toolSession, `{"action":"open","protocol":"ssh","host":"h","ssh_options":{"extra_args":["-L","80:h:80"]}}`, "UNSUPPORTED", []string{"-L"}},
		{"forwarding in one word", toolSession, `{"action":"open","protocol":"ssh","host":"h","ssh_options":{"extra_args":["-D1080"]}}`, "UNSUPPORTED", []string{"-D"}},
		{"credentials that exclude each other", toolSession, `{"action":"open","protocol":"ssh","host":"h","auth":{"method":"agent","password":"excluded-1138"}}`, "INVALID_ARGUMENT", []string{"agent", "leave"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			r := c.refused(t, test.code, test.tool, strings.ReplaceAll(test.arguments, "%", "%%"))
			t.Log(r.Message)
			for _, part := range test.message {
				if !strings.Contains(r.Message, part) {
					t.Errorf("the message %q does not speak of %q", r.Message, part)
				}
			}
		})
	}
	c.close(t, open)
}

// A host that is no SSH server, or none at all, is told apart, and named by the rung that was not reached.
func TestUnreachable(t *testing.T) {
	c := newHome(t).connect(t)
	deaf := serve(t, sshserver.Config{NoAuth: true, Faults: sshserver.Faults{StallBanner: true}})
	const limit = time.Second
	tests := []struct {
		name    string
		host    string
		port    int
		code    string
		message []string // parts of it
		rung    string   // the one that failed
		waits   bool     // until the time is over
	}{
		{"unresolvable", "no-such-host.invalid", 22, "CONNECT_FAILED", []string{"no-such-host.invalid", "resolve", "check the name"}, "dns", false},
		{"refused", "127.0.0.1", freePort(t), "CONNECT_FAILED", []string{"refused", "port"}, "tcp", false},
		{"silent", "127.0.0.1", listen(t, silent), "CONNECT_TIMEOUT", []string{"connect_timeout_ms"}, "banner", true},
		{"half a banner", "127.0.0.1", listen(t, halfBanner), "CONNECT_TIMEOUT", []string{"connect_timeout_ms"}, "banner", true},
		{"silent after its banner", "127.0.0.1", deaf.Port(), "CONNECT_TIMEOUT", []string{"connect_timeout_ms"}, "kex", true},
		{"closing", "127.0.0.1", listen(t, closing), "CONNECT_FAILED", []string{"closed the connection", "port"}, "banner", false},
		{"HTTP", "127.0.0.1", listen(t, speaksHTTP), "CONNECT_FAILED", []string{"HTTP/1.1 400 Bad Request", "port"}, "banner", false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			timeout := 15 * time.Second
			if test.waits {
				timeout = limit
			}
			// A machine that is busy delays this or that attempt, a clock that is wrong all of them.
			var took time.Duration
			for range 3 {
				begin := time.Now()
				r := c.refused(
					t,
					test.code,
					toolSession,
					`{"action":"open","protocol":"ssh","host":%s,"port":%s,"username":"u","timeouts":{"connect_timeout_ms":%s}}`,
					test.host,
					test.port,
					timeout.Milliseconds(),
				)
				took = time.Since(begin)
				t.Log(took, r.Message)
				for _, part := range test.message {
					if !strings.Contains(r.Message, part) {
						t.Errorf("the message %q does not speak of %q", r.Message, part)
					}
				}
				if !r.Retryable {
					t.Errorf("%s is not said to be retryable", test.code)
				}
				if rung := lastRung(r); rung != test.rung {
					t.Errorf("the ladder ends with %q, want %q: %s", rung, test.rung, r.text)
				}
				if !test.waits || took <= limit+200*time.Millisecond {
					break
				}
			}
			if test.waits && (took < limit || took > limit+200*time.Millisecond) {
				t.Errorf("it took %v with a limit of %v", took, limit)
			}
		})
	}
}

// lastRung is the name of the step at which a connection failed.
func lastRung(r result) string {
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

// Credentials that are wrong, missing or unusable are told apart, without showing them.
func TestWrongCredentials(t *testing.T) {
	user, stranger := newKey(t, "ed25519"), newKey(t, "ed25519")
	s := serve(t, sshserver.Config{
		Passwords:      map[string]string{"alice": "right-password-1138"},
		AuthorizedKeys: []ssh.PublicKey{user.PublicKey()},
	})
	h := newHome(t)
	h.trust(t, s.KnownHostsLine())
	c := h.connect(t)
	const passphrase, wrong = "right-passphrase-1138", "wrong-passphrase-1138"
	encrypted := user.encrypted(t, passphrase)
	folder := filepath.Join(h.dir, "id_folder") // as root, too, a folder cannot be read as a key
	if err := os.Mkdir(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	garbled := filepath.Join(h.dir, "id_garbled")
	h.write(t, garbled, "-----BEGIN OPENSSH PRIVATE KEY-----\ngarbledgarbled1138\n-----END OPENSSH PRIVATE KEY-----\n")
	locked := filepath.Join(h.dir, "id_locked")
	h.write(t, locked, encrypted)
	c.hide("right-password-1138", "wrong-password-1138", passphrase, wrong, "garbledgarbled1138",
		secret(encrypted), secret(user.pem), secret(stranger.pem))

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
		{"right key", auth{Key: user.pem}, nil, "", nil},
		{"right passphrase", auth{Key: encrypted, Passphrase: passphrase}, nil, "", nil},
		{"right passphrase of a file", auth{Passphrase: passphrase}, []string{"-i", locked}, "", nil},

		{"wrong password", auth{Password: "wrong-password-1138"}, nil, "AUTH_FAILED", []string{"alice@127.0.0.1", "password"}},
		{"strange key", auth{Key: stranger.pem}, nil, "AUTH_FAILED", []string{"alice@127.0.0.1", "key"}},
		{"wrong passphrase", auth{Key: encrypted, Passphrase: wrong}, nil, "AUTH_FAILED", []string{"passphrase"}},
		{"no passphrase", auth{Key: encrypted}, nil, "AUTH_FAILED", []string{"passphrase", "auth.passphrase"}},
		{"no passphrase for a file", auth{}, []string{"-i", locked}, "AUTH_FAILED", []string{"passphrase", locked}},
		{"garbled key", auth{Key: "-----BEGIN OPENSSH PRIVATE KEY-----\ngarbledgarbled1138\n-----END OPENSSH PRIVATE KEY-----\n"}, nil, "INVALID_ARGUMENT", []string{"private_key_pem"}},
		{"no key at all", auth{Key: "garbledgarbled1138"}, nil, "INVALID_ARGUMENT", []string{"private_key_pem"}},
		{"garbled file", auth{}, []string{"-i", garbled}, "AUTH_FAILED", []string{garbled}},
		{"unreadable file", auth{}, []string{"-i", folder}, "AUTH_FAILED", []string{folder}},
		{"missing file", auth{}, []string{"-i", filepath.Join(h.dir, "id_missing")}, "AUTH_FAILED", []string{"alice@127.0.0.1", "private_key_pem"}},
		{"nothing to offer", auth{}, nil, "AUTH_FAILED", []string{"alice@127.0.0.1"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			r, err := c.try(t.Context(), toolSession, open, s.Port(), test.auth, options{test.args})
			if err != nil {
				t.Fatal(err)
			}
			if r.ErrorCode != test.code || test.code == "" && r.State != "open" {
				t.Fatalf("got %s, want %q", r.text, test.code)
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
	s := startSSHD(t)
	c := homeFor(t, []*sshd{s}, "[session]\nmax_sessions = 2").connect(t)
	first := c.open(t, s)
	c.open(t, s)
	r := c.refused(t, "LIMIT_EXCEEDED", toolSession, openSSH, s.port, s.user)
	if !strings.Contains(r.Message, "2") || !strings.Contains(r.Message, "clos") ||
		r.Details.Limit != "session.max_sessions" ||
		!r.Retryable {
		t.Errorf("got %s, want the limit, its key, and what to do", r.text)
	}
	if n := len(s.sessions(t)); n != 2 {
		t.Errorf("sshd has %d connections, want 2", n)
	}
	c.close(t, first)
	c.open(t, s)
}
