package auth_test

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"

	"golang.org/x/crypto/ssh"

	"ptyctl/internal/sshserver"
	"ptyctl/sshx/internal/sshtest"
	"ptyctl/term"
)

// TestEncryptedIdentity checks that the passphrase is asked only for a key that
// the server accepts.
func TestEncryptedIdentity(t *testing.T) {
	key, pem := sshtest.SealedKey(t)
	other, _ := sshtest.NewKey(t)
	for _, tc := range []struct {
		name    string
		accepts ssh.PublicKey // instead of the key
		pass    string
		p       *sshtest.Prompter
		works   bool
		asked   int
	}{
		{name: "right", p: sshtest.Answering("sealed-1138"), works: true, asked: 1},
		{name: "right at last", p: sshtest.Answering("a-1138-no", "b-1138-no", "sealed-1138"), works: true, asked: 3},
		{name: "wrong", p: sshtest.Answering("a-1138-no", "b-1138-no", "c-1138-no"), asked: 3},
		{name: "not accepted", accepts: other.PublicKey(), p: sshtest.Answering()},
		{name: "given", pass: "sealed-1138", p: sshtest.Answering(), works: true},
		{name: "given wrong", pass: "x-1138-no", p: sshtest.Answering()},
	} {
		t.Run(tc.name, func(t *testing.T) {
			sshtest.InBubble(t, func(t *testing.T, l *sshtest.Lab) {
				accepts := key.PublicKey()
				if tc.accepts != nil {
					accepts = tc.accepts
				}
				srv := l.Server(sshtest.Addr1, sshserver.Config{AuthorizedKeys: []ssh.PublicKey{accepts}})
				l.Write(".ssh/id_ed25519", pem)
				inner := tc.p.Answer
				tc.p.Answer = func(ctx context.Context, q term.Prompt) (string, error) {
					if n := srv.Stats(); len(n.KeysOffered) != 1 {
						t.Errorf("asked before the server had seen the key: %+v", n)
					}
					if q.Kind != term.PromptPassphrase || !strings.Contains(q.Text, "id_ed25519") {
						t.Errorf("question %+v", q)
					}
					return inner(ctx, q)
				}
				target := sshtest.To(sshtest.Host1, "")
				target.Auth.Passphrase = term.Secret(tc.pass)
				if tc.works {
					l.Client(target, tc.p)
				} else if e := l.Fails(target, tc.p, term.AuthFailed); tc.accepts == nil && !strings.Contains(e.Msg, "passphrase") {
					t.Errorf("%q does not name the passphrase", e.Msg)
				}
				if len(tc.p.Asked) != tc.asked {
					t.Errorf("asked %d times, want %d", len(tc.p.Asked), tc.asked)
				}
			})
		})
	}
}

// TestCallerKey checks the key of the call.
func TestCallerKey(t *testing.T) {
	key, plain := sshtest.NewKey(t)
	sshtest.InBubble(t, func(t *testing.T, l *sshtest.Lab) {
		srv := l.Server(sshtest.Addr1, sshserver.Config{AuthorizedKeys: []ssh.PublicKey{key.PublicKey()}})
		_, other := sshtest.NewKey(t)
		l.Write(".ssh/id_ed25519", other)
		target := sshtest.To(sshtest.Host1, "")
		target.Auth = term.Auth{Method: "private_key", PrivateKeyPEM: term.Secret(plain)}
		l.Client(target, nil)
		for _, offered := range srv.Stats().KeysOffered {
			if offered != ssh.FingerprintSHA256(key.PublicKey()) {
				t.Error("another key was offered too")
			}
		}
		target.Auth.Method = "auto"
		before := len(srv.Stats().KeysOffered)
		l.Client(target, nil)
		if first := srv.Stats().KeysOffered[before]; first != ssh.FingerprintSHA256(key.PublicKey()) {
			t.Errorf("method auto offers %s first, want the key of the call", first)
		}
		target.Auth.Method = "private_key"
		for _, bad := range []string{"", "nonsense-1138", strings.Replace(plain, "b3Blb", "AAAA", 1)} {
			target.Auth.PrivateKeyPEM = term.Secret(bad)
			e := l.Fails(target, sshtest.NoPrompter(t), term.InvalidArgument)
			if term.FactOf[term.ArgumentFault](e).Field != term.FieldPrivateKey {
				t.Errorf("field %q", term.FactOf[term.ArgumentFault](e).Field)
			}
		}
	})
}

// TestTooManyFailures checks that keys refused before the server hung up are not
// offered again on the next connection.
func TestTooManyFailures(t *testing.T) {
	sshtest.InBubble(t, func(t *testing.T, l *sshtest.Lab) {
		right, pem := sshtest.NewKey(t)
		srv := l.Server(sshtest.Addr1, sshserver.Config{AuthorizedKeys: []ssh.PublicKey{right.PublicKey()}, MaxAuthTries: 4})
		var config strings.Builder
		for i := range 7 {
			text := pem
			if i < 6 {
				_, text = sshtest.NewKey(t)
			}
			fmt.Fprintf(&config, "IdentityFile %s\n", l.Write(fmt.Sprintf("key%d", i), text))
		}
		l.Config(config.String())
		l.Client(sshtest.To(sshtest.Host1, ""), sshtest.NoPrompter(t))
		if n := srv.Stats(); n.Accepted != 2 {
			t.Errorf("%d connections, want 2", n.Accepted)
		}
	})
}

// TestKeyFilesThatCannotBeUsed checks that the error names each file with the
// reason, and that none prevents the use of the others.
func TestKeyFilesThatCannotBeUsed(t *testing.T) {
	sshtest.InBubble(t, func(t *testing.T, l *sshtest.Lab) {
		l.Server(sshtest.Addr1, sshserver.Config{AuthorizedKeys: []ssh.PublicKey{}})
		key, pem := sshtest.NewKey(t)
		open := l.Write("open", pem)
		if err := os.Chmod(open, 0o644); err != nil {
			t.Fatal(err)
		}
		l.Config("IdentityFile " + open + "\nIdentityFile " + l.Write("ppk", "PuTTY-User-Key-File-3: x") +
			"\nIdentityFile " + l.Write("key.pub", string(ssh.MarshalAuthorizedKey(key.PublicKey()))) +
			"\nIdentityFile /dev/zero\nIdentityFile " + l.Home + "\nIdentityFile " + l.Write("big", strings.Repeat("x", 1<<20)) +
			"\nIdentityFile ~/missing\nCertificateFile " + l.Write("cert", "x") + "\n")
		e := l.Fails(sshtest.To(sshtest.Host1, ""), nil, term.AuthFailed)
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

// TestQuestionNamesUnusedKeys checks that the first question of a login says which files of keys cannot be used, as
// ssh(1) does, and that the Answerer, whose patterns are about the server's words, is asked without that.
func TestQuestionNamesUnusedKeys(t *testing.T) {
	sshtest.InBubble(t, func(t *testing.T, l *sshtest.Lab) {
		l.Server(sshtest.Addr1, sshserver.Config{
			AuthorizedKeys: []ssh.PublicKey{}, Passwords: map[string]string{"u": "pass-1138"},
		})
		_, pem := sshtest.NewKey(t)
		open := l.Write("open", pem)
		if err := os.Chmod(open, 0o644); err != nil {
			t.Fatal(err)
		}
		l.Config("IdentityFile " + open + "\nIdentityFile ~/missing\n")
		auto := new(silentAnswerer)
		l.Opts.Answerer = auto
		p := sshtest.Answering("wrong-1138", "pass-1138")
		l.Client(sshtest.To(sshtest.Host1, ""), p)
		ask := "u@" + sshtest.Host1 + "'s password: "
		want := []string{
			open + " was ignored: its mode 0644 lets others read it; run chmod 600 on it.\r\n" + ask,
			"Permission denied, please try again.\r\n" + ask,
		}
		for i, q := range p.Asked {
			if q.Text != want[i] {
				t.Errorf("question %d: %q, want %q", i+1, q.Text, want[i])
			}
		}
		if len(auto.asked) == 0 || auto.asked[0] != ask {
			t.Errorf("the Answerer was asked %q, want %q", auto.asked, ask)
		}
	})
}

// A silentAnswerer knows no answer.
type silentAnswerer struct{ asked []string }

func (*silentAnswerer) Expects(term.Login) bool { return true }

func (a *silentAnswerer) Answer(_ context.Context, _ term.Login, q term.Prompt) (answer, name string, err error) {
	a.asked = append(a.asked, q.Text)
	return "", "", nil
}

// TestUserCertificate checks that a certificate beside an identity is offered
// before the plain key.
func TestUserCertificate(t *testing.T) {
	sshtest.InBubble(t, func(t *testing.T, l *sshtest.Lab) {
		key, pem := sshtest.NewKey(t)
		ca, _ := sshtest.NewKey(t)
		cert := &ssh.Certificate{
			Key:             key.PublicKey(),
			CertType:        ssh.UserCert,
			ValidPrincipals: []string{"u"},
			ValidBefore:     ssh.CertTimeInfinity,
		}
		if err := cert.SignCert(strings.NewReader(strings.Repeat("r", 1024)), ca); err != nil {
			t.Fatal(err)
		}
		srv := l.Server(sshtest.Addr1, sshserver.Config{AuthorizedKeys: []ssh.PublicKey{cert}})
		l.Write(".ssh/id_ed25519", pem)
		l.Write(".ssh/id_ed25519-cert.pub", string(ssh.MarshalAuthorizedKey(cert)))
		l.Client(sshtest.To(sshtest.Host1, ""), nil)
		if got, want := srv.Stats().KeysOffered[0], ssh.FingerprintSHA256(cert); got != want {
			t.Errorf("offered %s first, want the certificate %s", got, want)
		}
	})
}
