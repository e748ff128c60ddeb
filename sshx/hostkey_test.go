package sshx_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"golang.org/x/crypto/ssh"

	"ptyctl/internal/sshserver"
	"ptyctl/term"
)

// TestHostKeyBeforeCredentials checks that a host with a wrong key receives no
// credential: as the target, as a jump host, and behind one.
func TestHostKeyBeforeCredentials(t *testing.T) {
	other, _ := newKey(t)
	for _, key := range []struct {
		name    string
		kind    term.Kind
		record  func(l *lab, address string, srv *sshserver.Server)
		options term.SSHOptions
	}{
		{"unknown", term.HostKeyUnknown, func(*lab, string, *sshserver.Server) {}, term.SSHOptions{}},
		{"mismatch", term.HostKeyMismatch, func(l *lab, address string, _ *sshserver.Server) { l.trust(address, other.PublicKey()) }, term.SSHOptions{}},
		{"mismatch, accept_new", term.HostKeyMismatch, func(l *lab, address string, _ *sshserver.Server) { l.trust(address, other.PublicKey()) }, term.SSHOptions{HostKeyPolicy: "accept_new"}},
		{"revoked", term.HostKeyRevoked, func(l *lab, address string, srv *sshserver.Server) {
			l.known = append(l.known, "@revoked * "+strings.TrimSpace(string(ssh.MarshalAuthorizedKey(srv.HostKey()))))
			l.trust(address, srv.HostKey())
		}, term.SSHOptions{}},
		{
			"pinned", term.HostKeyMismatch, func(l *lab, address string, srv *sshserver.Server) { l.trust(address, srv.HostKey()) },
			term.SSHOptions{HostKeyFingerprint: ssh.FingerprintSHA256(other.PublicKey())},
		},
	} {
		for _, place := range []string{"target", "jump host", "behind a jump host"} {
			if place == "jump host" && key.name == "pinned" {
				continue // a pin applies to the target
			}
			t.Run(key.name+" "+place, func(t *testing.T) {
				inBubble(t, func(t *testing.T, l *lab) {
					config := sshserver.Config{Passwords: map[string]string{"u": "pass-1138"}, AllowForward: true}
					bad := l.unrecorded(addr1, config)
					target, hop := to(host1, "pass-1138"), "u@192.0.2.1:22"
					l.config("User u\n")
					switch place {
					case "jump host":
						l.server(addr2, config)
						l.config("Host 192.0.2.2\n ProxyJump 192.0.2.1\nHost *\n User u\n")
						target.Host = "192.0.2.2"
					case "behind a jump host":
						l.server(addr2, sshserver.Config{AllowForward: true})
						l.config("Host 192.0.2.1\n ProxyJump 192.0.2.2\nHost *\n User u\n")
					}
					key.record(l, addr1, bad)
					target.SSH = key.options
					e := l.fails(target, noPrompter(t), key.kind)
					if term.FactOf[term.ConnectFailure](e).Hop != hop || !strings.Contains(e.Msg, hop) ||
						term.FactOf[term.HostKeyFailure](e).Fingerprint != ssh.FingerprintSHA256(bad.HostKey()) {
						t.Errorf("hop %q, fingerprint %q, message %q", term.FactOf[term.ConnectFailure](e).Hop, term.FactOf[term.HostKeyFailure](e).Fingerprint, e.Msg)
					}
					if lastStep(term.FactOf[term.ConnectFailure](e).Ladder) != "hostkey!" {
						t.Errorf("stopped at %v", steps(term.FactOf[term.ConnectFailure](e).Ladder))
					}
					untouched(t, bad)
				})
			})
		}
	}
}

// TestHostKeyIsAsked checks policy ask: the question, a yes, a no, a caller that
// does not answer, and no person to ask.
func TestHostKeyIsAsked(t *testing.T) {
	stop := errors.New("not now")
	for _, tc := range []struct {
		name   string
		p      *prompter
		kind   term.Kind // empty: connected
		answer error
	}{
		{name: "yes", p: answering("yes")},
		{name: "no", p: answering("no"), kind: term.HostKeyUnknown},
		{name: "stop", p: &prompter{f: func(context.Context, term.Prompt) (string, error) { return "", stop }}, kind: term.Canceled, answer: stop},
		{name: "nobody", kind: term.HostKeyUnknown},
	} {
		t.Run(tc.name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, l *lab) {
				srv := l.unrecorded(addr1, sshserver.Config{Passwords: map[string]string{"u": "pass-1138"}})
				l.opts.HostKeyPolicy = "ask"
				var p term.Prompter
				if tc.p != nil {
					p = tc.p
				}
				if tc.kind == "" {
					l.client(to(host1, "pass-1138"), p)
					l.client(to(host1, "pass-1138"), noPrompter(t)) // it is recorded now
				} else {
					e := l.fails(to(host1, "pass-1138"), p, tc.kind)
					if tc.answer != nil && !errors.Is(e, tc.answer) {
						t.Errorf("%v is not the prompter's error", e)
					}
					untouched(t, srv)
				}
				if tc.p != nil {
					if q := tc.p.asked[0]; q.Kind != term.PromptHostKey || !q.Echo || q.Host != host1 || q.User != "u" ||
						!strings.Contains(q.Text, ssh.FingerprintSHA256(srv.HostKey())) {
						t.Errorf("question %+v", q)
					}
				}
			})
		})
	}
}

// TestUntrustedHostGetsNoSecret checks that a host with a changed key, accepted
// because the operator has switched checking off, receives neither password nor
// answers.
func TestUntrustedHostGetsNoSecret(t *testing.T) {
	inBubble(t, func(t *testing.T, l *lab) {
		key, pem := newKey(t)
		srv := l.unrecorded(addr1, sshserver.Config{
			Passwords: map[string]string{"u": "pass-1138"}, AuthorizedKeys: []ssh.PublicKey{key.PublicKey()},
			KeyboardInteractive: func(string, ssh.KeyboardInteractiveChallenge) error { return nil },
		})
		other, _ := newKey(t)
		l.trust(addr1, other.PublicKey())
		l.opts.HostKeyPolicy, l.opts.HostKeyFloor = "disabled", "disabled"
		e := l.fails(to(host1, "pass-1138"), noPrompter(t), term.AuthFailed)
		if !strings.Contains(e.Msg, "contradicts") {
			t.Errorf("message %q", e.Msg)
		}
		if n := srv.Stats(); n.PasswordsSeen != 0 ||
			n.Attempts[sshserver.Attempt{User: "u", Method: "keyboard-interactive"}] != 0 {
			t.Errorf("the server was told %+v", n)
		}
		target := to(host1, "")
		target.Auth = term.Auth{Method: "private_key", PrivateKeyPEM: term.Secret(pem)}
		l.client(target, nil)
	})
}
