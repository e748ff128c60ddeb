package sshx_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"golang.org/x/crypto/ssh"

	"ptyctl/internal/sshserver"
	"ptyctl/sshx/internal/sshtest"
	"ptyctl/term"
)

// TestHostKeyBeforeCredentials checks that a host with a wrong key receives no
// credential: as the target, as a jump host, and behind one.
func TestHostKeyBeforeCredentials(t *testing.T) {
	other, _ := sshtest.NewKey(t)
	for _, key := range []struct {
		name    string
		kind    term.Kind
		record  func(l *sshtest.Lab, address string, srv *sshserver.Server)
		options term.SSHOptions
	}{
		{"unknown", term.HostKeyUnknown, func(*sshtest.Lab, string, *sshserver.Server) {}, term.SSHOptions{}},
		{"mismatch", term.HostKeyMismatch, func(l *sshtest.Lab, address string, _ *sshserver.Server) { l.Trust(address, other.PublicKey()) }, term.SSHOptions{}},
		{"mismatch, accept_new", term.HostKeyMismatch, func(l *sshtest.Lab, address string, _ *sshserver.Server) { l.Trust(address, other.PublicKey()) }, term.SSHOptions{HostKeyPolicy: "accept_new"}},
		{"revoked", term.HostKeyRevoked, func(l *sshtest.Lab, address string, srv *sshserver.Server) {
			l.Known = append(l.Known, "@revoked * "+strings.TrimSpace(string(ssh.MarshalAuthorizedKey(srv.HostKey()))))
			l.Trust(address, srv.HostKey())
		}, term.SSHOptions{}},
		{
			"pinned", term.HostKeyMismatch, func(l *sshtest.Lab, address string, srv *sshserver.Server) { l.Trust(address, srv.HostKey()) },
			term.SSHOptions{HostKeyFingerprint: ssh.FingerprintSHA256(other.PublicKey())},
		},
	} {
		for _, place := range []string{"target", "jump host", "behind a jump host"} {
			if place == "jump host" && key.name == "pinned" {
				continue // a pin applies to the target
			}
			t.Run(key.name+" "+place, func(t *testing.T) {
				sshtest.InBubble(t, func(t *testing.T, l *sshtest.Lab) {
					config := sshserver.Config{Passwords: map[string]string{"u": "pass-1138"}, AllowForward: true}
					bad := l.Unrecorded(sshtest.Addr1, config)
					target, hop := sshtest.To(sshtest.Host1, "pass-1138"), "u@192.0.2.1:22"
					l.Config("User u\n")
					switch place {
					case "jump host":
						l.Server(sshtest.Addr2, config)
						l.Config("Host 192.0.2.2\n ProxyJump 192.0.2.1\nHost *\n User u\n")
						target.Host = "192.0.2.2"
					case "behind a jump host":
						l.Server(sshtest.Addr2, sshserver.Config{AllowForward: true})
						l.Config("Host 192.0.2.1\n ProxyJump 192.0.2.2\nHost *\n User u\n")
					}
					key.record(l, sshtest.Addr1, bad)
					target.SSH = key.options
					e := l.Fails(target, sshtest.NoPrompter(t), key.kind)
					if term.FactOf[term.ConnectFailure](e).Hop != hop || !strings.Contains(e.Msg, hop) ||
						term.FactOf[term.HostKeyFailure](e).Fingerprint != ssh.FingerprintSHA256(bad.HostKey()) {
						t.Errorf("hop %q, fingerprint %q, message %q", term.FactOf[term.ConnectFailure](e).Hop,
							term.FactOf[term.HostKeyFailure](e).Fingerprint, e.Msg)
					}
					if sshtest.LastStep(term.FactOf[term.ConnectFailure](e).Ladder) != "hostkey!" {
						t.Errorf("stopped at %v", sshtest.Steps(term.FactOf[term.ConnectFailure](e).Ladder))
					}
					sshtest.Untouched(t, bad)
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
		p      *sshtest.Prompter
		kind   term.Kind // empty: connected
		answer error
	}{
		{name: "yes", p: sshtest.Answering("yes")},
		{name: "no", p: sshtest.Answering("no"), kind: term.HostKeyUnknown},
		{name: "stop", p: &sshtest.Prompter{Answer: func(context.Context, term.Prompt) (string, error) { return "", stop }}, kind: term.Canceled, answer: stop},
		{name: "nobody", kind: term.HostKeyUnknown},
	} {
		t.Run(tc.name, func(t *testing.T) {
			sshtest.InBubble(t, func(t *testing.T, l *sshtest.Lab) {
				srv := l.Unrecorded(sshtest.Addr1, sshserver.Config{Passwords: map[string]string{"u": "pass-1138"}})
				l.Opts.HostKeyPolicy = "ask"
				var p term.Prompter
				if tc.p != nil {
					p = tc.p
				}
				if tc.kind == "" {
					l.Client(sshtest.To(sshtest.Host1, "pass-1138"), p)
					l.Client(sshtest.To(sshtest.Host1, "pass-1138"), sshtest.NoPrompter(t)) // it is recorded now
				} else {
					e := l.Fails(sshtest.To(sshtest.Host1, "pass-1138"), p, tc.kind)
					if tc.answer != nil && !errors.Is(e, tc.answer) {
						t.Errorf("%v is not the prompter's error", e)
					}
					sshtest.Untouched(t, srv)
				}
				if tc.p != nil {
					if q := tc.p.Asked[0]; q.Kind != term.PromptHostKey || !q.Echo || q.Host != sshtest.Host1 || q.User != "u" ||
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
	sshtest.InBubble(t, func(t *testing.T, l *sshtest.Lab) {
		key, pem := sshtest.NewKey(t)
		srv := l.Unrecorded(sshtest.Addr1, sshserver.Config{
			Passwords: map[string]string{"u": "pass-1138"}, AuthorizedKeys: []ssh.PublicKey{key.PublicKey()},
			KeyboardInteractive: func(string, ssh.KeyboardInteractiveChallenge) error { return nil },
		})
		other, _ := sshtest.NewKey(t)
		l.Trust(sshtest.Addr1, other.PublicKey())
		l.Opts.HostKeyPolicy, l.Opts.HostKeyFloor = "disabled", "disabled"
		e := l.Fails(sshtest.To(sshtest.Host1, "pass-1138"), sshtest.NoPrompter(t), term.AuthFailed)
		if !strings.Contains(e.Msg, "contradicts") {
			t.Errorf("message %q", e.Msg)
		}
		if n := srv.Stats(); n.PasswordsSeen != 0 ||
			n.Attempts[sshserver.Attempt{User: "u", Method: "keyboard-interactive"}] != 0 {
			t.Errorf("the server was told %+v", n)
		}
		target := sshtest.To(sshtest.Host1, "")
		target.Auth = term.Auth{Method: "private_key", PrivateKeyPEM: term.Secret(pem)}
		l.Client(target, nil)
	})
}
