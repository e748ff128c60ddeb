package ssh

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/crypto/ssh"

	"ptyctl/internal/lab"
	"ptyctl/internal/sshserver"
)

const hostKeyPassword = "password-for-the-right-host-1138"

// openWith opens a session with a password, which only the right host may ever get; %s are the port and ssh_options.
const openWith = `{"action":"open","protocol":"ssh","host":"127.0.0.1","port":%s,"username":"alice","auth":{"password":"` + hostKeyPassword + `"},"ssh_options":%s}`

// trustOptions are the ssh_options that decide about host keys.
type trustOptions struct {
	Policy      string   `json:"host_key_policy,omitempty"`
	Fingerprint string   `json:"host_key_fingerprint,omitempty"`
	KnownHosts  string   `json:"known_hosts_path,omitempty"`
	UseConfig   *bool    `json:"use_openssh_config,omitempty"`
	ExtraArgs   []string `json:"extra_args,omitempty"`
}

// A host with a wrong key must be refused before it learns anything.
func TestHostKeyRefused(t *testing.T) {
	host, other := lab.NewKey(t, "ed25519"), lab.NewKey(t, "ed25519")
	tests := []struct {
		name       string
		knownHosts func(port int) string
		options    trustOptions
		code       string
		message    []string // parts of it
	}{
		{
			"unknown",
			nil,
			trustOptions{},
			"HOSTKEY_UNKNOWN",
			[]string{host.Fingerprint(), "accept_new", "host_key_fingerprint"},
		},
		{
			"changed",
			func(port int) string { return lab.KnownHostsLine(port, other) },
			trustOptions{},
			"HOSTKEY_MISMATCH",
			[]string{host.Fingerprint(), ":1"},
		},
		{
			"changed, accept_new",
			func(port int) string { return lab.KnownHostsLine(port, other) },
			trustOptions{Policy: "accept_new"},
			"HOSTKEY_MISMATCH",
			[]string{host.Fingerprint(), ":1"},
		},
		{
			"revoked",
			func(port int) string { return lab.KnownHostsLine(port, host) + "\n@revoked * " + host.Public() },
			trustOptions{},
			"HOSTKEY_REVOKED",
			[]string{host.Fingerprint(), "revoked", ":2"},
		},
		{
			"revoked, accept_new",
			func(int) string { return "@revoked * " + host.Public() },
			trustOptions{Policy: "accept_new"},
			"HOSTKEY_REVOKED",
			[]string{"revoked"},
		},
		{
			"revoked, pinned",
			func(int) string { return "@revoked * " + host.Public() },
			trustOptions{Fingerprint: host.Fingerprint()},
			"HOSTKEY_REVOKED",
			[]string{"revoked"},
		},
		{
			"wrong pin",
			nil,
			trustOptions{Fingerprint: other.Fingerprint()},
			"HOSTKEY_MISMATCH",
			[]string{host.Fingerprint(), other.Fingerprint()},
		},
		{
			"wrong pin of a known host",
			func(port int) string { return lab.KnownHostsLine(port, host) },
			trustOptions{Fingerprint: other.Fingerprint()},
			"HOSTKEY_MISMATCH",
			[]string{other.Fingerprint()},
		},
		{
			"garbled pin",
			nil,
			trustOptions{Fingerprint: "SHA256:short"},
			"INVALID_ARGUMENT",
			[]string{"fingerprint", "SHA256:"},
		},
		{"disabled", nil, trustOptions{Policy: "disabled"}, "POLICY_DENIED", []string{"disabled", "host_key_floor"}},
		{
			"disabled by an argument",
			nil,
			trustOptions{ExtraArgs: []string{"-o", "StrictHostKeyChecking=no"}},
			"POLICY_DENIED",
			[]string{"host_key_floor"},
		},
		{
			"known by another name",
			nil,
			trustOptions{ExtraArgs: []string{"-o", "HostKeyAlias=elsewhere"}},
			"POLICY_DENIED",
			[]string{"HostKeyAlias"},
		},
	}
	h := lab.NewHome(t)
	c := h.Connect(t)
	c.Hide(hostKeyPassword)
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := lab.ServeSSH(
				t,
				sshserver.Config{HostKeys: []ssh.Signer{host}, Passwords: map[string]string{"alice": hostKeyPassword}},
			)
			known := ""
			if test.knownHosts != nil {
				known = test.knownHosts(s.Port()) + "\n"
			}
			h.Write(t, h.KnownHosts, known)
			r := c.Refused(t, test.code, lab.ToolSession, openWith, s.Port(), test.options)
			t.Log(r.Message)
			for _, part := range test.message {
				if !strings.Contains(r.Message, part) {
					t.Errorf("the message %q does not speak of %q", r.Message, part)
				}
			}
			if r.Retryable {
				t.Errorf("%s is said to be retryable", test.code)
			}
			if strings.HasPrefix(test.code, "HOSTKEY_") && r.Details.Fingerprint != host.Fingerprint() {
				t.Errorf("the details name the fingerprint %q, want %q", r.Details.Fingerprint, host.Fingerprint())
			}
			if n := s.Stats(); len(n.Attempts) != 0 || n.PasswordsSeen != 0 || len(n.KeysOffered) != 0 {
				t.Errorf("the host was asked to let us in: %+v", n)
			}
			if now, err := os.ReadFile(h.KnownHosts); err != nil || string(now) != known {
				t.Errorf("known_hosts was changed to %q (%v)", now, err)
			}
		})
	}
}

// A host can be trusted by its fingerprint alone.
func TestRightPin(t *testing.T) {
	s := lab.ServeSSH(t, sshserver.Config{Passwords: map[string]string{"alice": hostKeyPassword}})
	c := lab.NewHome(t).Connect(t)
	c.Hide(hostKeyPassword)
	r := c.Call(t, lab.ToolSession, openWith, s.Port(), trustOptions{Fingerprint: ssh.FingerprintSHA256(s.HostKey())})
	if r.State != "open" || s.Stats().PasswordsSeen != 1 {
		t.Errorf("got %s", r.Text)
	}
}

// TestFloorsNarrow checks the retry of a caller that was refused a host key: with the fingerprint that the refusal
// names, or with a known_hosts file of its own that has the key. The operator's record decides, and nothing is sent.
func TestFloorsNarrow(t *testing.T) {
	host, other := lab.NewKey(t, "ed25519"), lab.NewKey(t, "ed25519")
	for _, floor := range []string{"strict", "ask", "accept_new"} {
		h := lab.NewHome(t, "host_key_floor = '"+floor+"'")
		c := h.Connect(t)
		c.Hide(hostKeyPassword)
		for _, recorded := range []bool{false, true} {
			s := lab.ServeSSH(
				t,
				sshserver.Config{HostKeys: []ssh.Signer{host}, Passwords: map[string]string{"alice": hostKeyPassword}},
			)
			known, code := "", "HOSTKEY_UNKNOWN"
			if recorded {
				known, code = lab.KnownHostsLine(s.Port(), other)+"\n", "HOSTKEY_MISMATCH"
			}
			h.Write(t, h.KnownHosts, known)
			callers := filepath.Join(t.TempDir(), "known_hosts")
			h.Write(t, callers, lab.KnownHostsLine(s.Port(), host)+"\n")
			first := c.Refused(t, code, lab.ToolSession, openWith, s.Port(), trustOptions{})
			no := false
			for name, o := range map[string]trustOptions{
				"fingerprint":                {Fingerprint: first.Details.Fingerprint},
				"fingerprint, no ssh_config": {Fingerprint: first.Details.Fingerprint, UseConfig: &no},
				"known_hosts_path":           {KnownHosts: callers},
				"UserKnownHostsFile":         {ExtraArgs: []string{"-o", "UserKnownHostsFile=" + callers}},
				"both":                       {KnownHosts: callers, Fingerprint: first.Details.Fingerprint},
			} {
				t.Run(fmt.Sprintf("%s, recorded %t, %s", floor, recorded, name), func(t *testing.T) {
					if floor == "accept_new" && !recorded {
						if r := c.Call(t, lab.ToolSession, openWith, s.Port(), o); r.State != "open" {
							t.Errorf("a host that is not on record: %s", r.Text)
						}
						return
					}
					r := c.Refused(t, code, lab.ToolSession, openWith, s.Port(), o)
					if floor != "accept_new" && strings.Contains(r.Message, "pin it") {
						t.Errorf("the message %q advises a setting that the floor forbids", r.Message)
					}
					if n := s.Stats(); len(n.Attempts) != 0 || n.PasswordsSeen != 0 {
						t.Errorf("the host was asked to let us in: %+v", n)
					}
				})
			}
		}
	}
}

// accept_new records a new host once, for its owner's eyes, and is as strict as ever from then on.
func TestAcceptNew(t *testing.T) {
	config := sshserver.Config{Passwords: map[string]string{"alice": hostKeyPassword}}
	s := lab.ServeSSH(t, config)
	h := lab.NewHome(t)
	if err := os.Remove(h.KnownHosts); err != nil {
		t.Fatal(err)
	}
	c := h.Connect(t)
	c.Hide(hostKeyPassword)
	accept := trustOptions{Policy: "accept_new"}
	c.Call(t, lab.ToolSession, openWith, s.Port(), accept)
	if text := recordedKeys(t, h); text != s.KnownHostsLine()+"\n" {
		t.Errorf("known_hosts has %q, want %q", text, s.KnownHostsLine())
	}
	c.Call(t, lab.ToolSession, openWith, s.Port(), accept)
	c.Call(t, lab.ToolSession, openWith, s.Port(), trustOptions{Policy: "strict"})
	if text := recordedKeys(t, h); text != s.KnownHostsLine()+"\n" {
		t.Errorf("after another login known_hosts has %q", text)
	}

	// The same address, another host.
	line := s.KnownHostsLine()
	impostor := lab.ServeSSH(t, config)
	moved := strings.Replace(line, fmt.Sprint(s.Port()), fmt.Sprint(impostor.Port()), 1)
	h.Write(t, h.KnownHosts, moved+"\n")
	r := c.Refused(t, "HOSTKEY_MISMATCH", lab.ToolSession, openWith, impostor.Port(), accept)
	if len(r.Details.Recorded) != 1 || r.Details.Recorded[0].File != h.KnownHosts || r.Details.Recorded[0].Line != 1 {
		t.Errorf("the details lack the place of the recorded key: %s", r.Text)
	}
	if n := impostor.Stats(); n.PasswordsSeen != 0 || len(n.Attempts) != 0 {
		t.Errorf("the impostor was asked to let us in: %+v", n)
	}
	if text := recordedKeys(t, h); text != moved+"\n" {
		t.Errorf("the refusal changed known_hosts to %q", text)
	}
}

// recordedKeys returns the text of known_hosts, which must be the owner's alone.
func recordedKeys(tb testing.TB, h *lab.Home) string {
	tb.Helper()
	info, err := os.Stat(h.KnownHosts)
	if err != nil {
		tb.Fatal(err)
	}
	if info.Mode().Perm() != fs.FileMode(0o600) {
		tb.Errorf("known_hosts has mode %v, want 0600", info.Mode())
	}
	text, err := os.ReadFile(h.KnownHosts)
	if err != nil {
		tb.Fatal(err)
	}
	return string(text)
}

// A host with keys of several types is reached by whichever one is known, as ssh(1) does.
func TestOneKnownKeyOfThree(t *testing.T) {
	dir := t.TempDir()
	ecdsa, rsa := lab.NewKey(t, "ecdsa"), lab.NewKey(t, "rsa")
	s := lab.StartSSHD(t, "HostKey "+rsa.Write(t, dir, "rsa"), "HostKey "+ecdsa.Write(t, dir, "ecdsa"))
	h := lab.HomeFor(t, []*lab.SSHD{s})
	c := h.Connect(t)
	unknown := lab.NewKey(t, "ed25519")
	for _, test := range []struct {
		name string
		key  lab.Key
		code string
	}{
		{"ed25519", s.HostKey, ""},
		{"ecdsa", ecdsa, ""},
		{"rsa", rsa, ""},
		{"none of them", unknown, "HOSTKEY_MISMATCH"},
	} {
		t.Run(test.name, func(t *testing.T) {
			h.Write(t, h.KnownHosts, lab.KnownHostsLine(s.Port, test.key)+"\n")
			if test.code != "" {
				c.Refused(t, test.code, lab.ToolSession, lab.OpenSSH, s.Port, s.User)
				return
			}
			c.Close(t, c.Open(t, s))
		})
	}
}
