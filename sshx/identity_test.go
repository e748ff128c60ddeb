package sshx_test

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"

	"golang.org/x/crypto/ssh"

	"ptyctl/internal/sshserver"
	"ptyctl/term"
)

// TestEncryptedIdentity checks that the passphrase is asked only for a key that
// the server accepts.
func TestEncryptedIdentity(t *testing.T) {
	key, pem := sealedKey(t)
	other, _ := newKey(t)
	for _, tc := range []struct {
		name    string
		accepts ssh.PublicKey // instead of the key
		pass    string
		p       *prompter
		works   bool
		asked   int
	}{
		{name: "right", p: answering("sealed-1138"), works: true, asked: 1},
		{name: "right at last", p: answering("a-1138-no", "b-1138-no", "sealed-1138"), works: true, asked: 3},
		{name: "wrong", p: answering("a-1138-no", "b-1138-no", "c-1138-no"), asked: 3},
		{name: "not accepted", accepts: other.PublicKey(), p: answering()},
		{name: "given", pass: "sealed-1138", p: answering(), works: true},
		{name: "given wrong", pass: "x-1138-no", p: answering()},
	} {
		t.Run(tc.name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, l *lab) {
				accepts := key.PublicKey()
				if tc.accepts != nil {
					accepts = tc.accepts
				}
				srv := l.server(addr1, sshserver.Config{AuthorizedKeys: []ssh.PublicKey{accepts}})
				l.write(".ssh/id_ed25519", pem)
				inner := tc.p.f
				tc.p.f = func(ctx context.Context, q term.Prompt) (string, error) {
					if n := srv.Stats(); len(n.KeysOffered) != 1 {
						t.Errorf("asked before the server had seen the key: %+v", n)
					}
					if q.Kind != term.PromptPassphrase || !strings.Contains(q.Text, "id_ed25519") {
						t.Errorf("question %+v", q)
					}
					return inner(ctx, q)
				}
				target := to(host1, "")
				target.Auth.Passphrase = term.Secret(tc.pass)
				if tc.works {
					l.client(target, tc.p)
				} else if e := l.fails(target, tc.p, term.AuthFailed); tc.accepts == nil && !strings.Contains(e.Msg, "passphrase") {
					t.Errorf("%q does not name the passphrase", e.Msg)
				}
				if len(tc.p.asked) != tc.asked {
					t.Errorf("asked %d times, want %d", len(tc.p.asked), tc.asked)
				}
			})
		})
	}
}

// TestCallerKey checks the key of the call.
func TestCallerKey(t *testing.T) {
	key, plain := newKey(t)
	inBubble(t, func(t *testing.T, l *lab) {
		srv := l.server(addr1, sshserver.Config{AuthorizedKeys: []ssh.PublicKey{key.PublicKey()}})
		_, other := newKey(t)
		l.write(".ssh/id_ed25519", other)
		target := to(host1, "")
		target.Auth = term.Auth{Method: "private_key", PrivateKeyPEM: term.Secret(plain)}
		l.client(target, nil)
		for _, offered := range srv.Stats().KeysOffered {
			if offered != ssh.FingerprintSHA256(key.PublicKey()) {
				t.Error("another key was offered too")
			}
		}
		for _, bad := range []string{"", "nonsense-1138", strings.Replace(plain, "b3Blb", "AAAA", 1)} {
			target.Auth.PrivateKeyPEM = term.Secret(bad)
			e := l.fails(target, noPrompter(t), term.InvalidArgument)
			if term.FactOf[term.ArgumentFault](e).Field != term.FieldPrivateKey {
				t.Errorf("field %q", term.FactOf[term.ArgumentFault](e).Field)
			}
		}
	})
}

// TestTooManyFailures checks that keys refused before the server hung up are not
// offered again on the next connection.
func TestTooManyFailures(t *testing.T) {
	inBubble(t, func(t *testing.T, l *lab) {
		right, pem := newKey(t)
		srv := l.server(addr1, sshserver.Config{AuthorizedKeys: []ssh.PublicKey{right.PublicKey()}, MaxAuthTries: 4})
		var config strings.Builder
		for i := range 7 {
			text := pem
			if i < 6 {
				_, text = newKey(t)
			}
			fmt.Fprintf(&config, "IdentityFile %s\n", l.write(fmt.Sprintf("key%d", i), text))
		}
		l.config(config.String())
		l.client(to(host1, ""), noPrompter(t))
		if n := srv.Stats(); n.Accepted != 2 {
			t.Errorf("%d connections, want 2", n.Accepted)
		}
	})
}

// TestKeyFilesThatCannotBeUsed checks that the error names each file with the
// reason, and that none prevents the use of the others.
func TestKeyFilesThatCannotBeUsed(t *testing.T) {
	inBubble(t, func(t *testing.T, l *lab) {
		l.server(addr1, sshserver.Config{AuthorizedKeys: []ssh.PublicKey{}})
		key, pem := newKey(t)
		open := l.write("open", pem)
		if err := os.Chmod(open, 0o644); err != nil {
			t.Fatal(err)
		}
		l.config("IdentityFile " + open + "\nIdentityFile " + l.write("ppk", "PuTTY-User-Key-File-3: x") +
			"\nIdentityFile " + l.write("key.pub", string(ssh.MarshalAuthorizedKey(key.PublicKey()))) +
			"\nIdentityFile /dev/zero\nIdentityFile " + l.home + "\nIdentityFile " + l.write("big", strings.Repeat("x", 1<<20)) +
			"\nIdentityFile ~/missing\nCertificateFile " + l.write("cert", "x") + "\n")
		e := l.fails(to(host1, ""), nil, term.AuthFailed)
		for _, want := range []string{
			"open was ignored: its mode 0644", "PuTTY", "the agent does not have",
			"/dev/zero cannot be read: it is not a regular file", "too large", "is not a certificate",
		} {
			if !strings.Contains(e.Msg, want) {
				t.Errorf("%q lacks %q", e.Msg, want)
			}
		}
		if strings.Contains(e.Msg, "missing") {
			t.Errorf("%q names a default that need not exist", e.Msg)
		}
	})
}

// TestUserCertificate checks that a certificate beside an identity is offered
// before the plain key.
func TestUserCertificate(t *testing.T) {
	inBubble(t, func(t *testing.T, l *lab) {
		key, pem := newKey(t)
		ca, _ := newKey(t)
		cert := &ssh.Certificate{
			Key:             key.PublicKey(),
			CertType:        ssh.UserCert,
			ValidPrincipals: []string{"u"},
			ValidBefore:     ssh.CertTimeInfinity,
		}
		if err := cert.SignCert(strings.NewReader(strings.Repeat("r", 1024)), ca); err != nil {
			t.Fatal(err)
		}
		srv := l.server(addr1, sshserver.Config{AuthorizedKeys: []ssh.PublicKey{cert}})
		l.write(".ssh/id_ed25519", pem)
		l.write(".ssh/id_ed25519-cert.pub", string(ssh.MarshalAuthorizedKey(cert)))
		l.client(to(host1, ""), nil)
		if got, want := srv.Stats().KeysOffered[0], ssh.FingerprintSHA256(cert); got != want {
			t.Errorf("offered %s first, want the certificate %s", got, want)
		}
	})
}
