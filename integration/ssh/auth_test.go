package ssh

import (
	"context"
	"fmt"
	"net"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/agent"

	"ptyctl/internal/lab"
	"ptyctl/internal/leaktest"
	"ptyctl/session"
	"ptyctl/term"
)

func labPassword(t *testing.T, l *lab.Namespace) {
	server := l.SSHD(t, lab.ServerConfig{PAM: lab.PAMPassword, Config: "PasswordAuthentication yes"})
	o := l.Operator(t, server)
	for _, name := range []string{"bob", "oddpass"} {
		s := o.MustOpen(server.WithPassword(l.Users[name]))
		lab.WantExec(t, s, "id -un; exit 3", name+"\n", 3)
		if m := s.Info().About.AuthMethod; m != "password" {
			t.Errorf("logged in by %s; want password", m)
		}
	}
	// No password came with the call, so ptyctl must ask.
	s := o.MustAsk(server.Target(l.Users["bob"]), `bob@127\.0\.0\.1's password: `)
	lab.AnswerLogin(t, s, "not it-1138")
	lab.WantQuestion(t, s, `try again`)
	lab.AnswerLogin(t, s, l.Users["bob"].Password)
	lab.WantOpen(t, s)
}

func labWrongPassword(t *testing.T, l *lab.Namespace) {
	server := l.SSHD(t, lab.ServerConfig{PAM: lab.PAMPassword, Config: "PasswordAuthentication yes"})
	target := server.WithPassword(l.Users["bob"])
	target.Auth.Password = "a wrong one-1138"
	target.Auth.NoInteractive = true
	e := l.Operator(t, server).Refused(target, term.AuthFailed)
	if strings.Contains(e.Error(), "a wrong one-1138") {
		t.Errorf("the error tells the password: %v", e)
	}
	if d := term.FactOf[term.ConnectFailure](e); !slices.Contains(d.MethodsTried, "password") ||
		!slices.Contains(d.MethodsAllowed, "password") {
		t.Errorf("the details do not say that a password was tried, and may be: %+v", e.Facts)
	}
}

func labTwoFactor(t *testing.T, l *lab.Namespace) {
	server := l.SSHD(
		t,
		lab.ServerConfig{
			PAM:    lab.PAMCode,
			Config: "KbdInteractiveAuthentication yes\nAuthenticationMethods publickey,keyboard-interactive",
		},
	)
	o := l.Operator(t, server)
	s := o.MustAsk(withKeyFile(server, o, l.Users["carol"]), `Verification code: `)
	lab.AnswerLogin(t, s, lab.OneTimeCode())
	lab.WantOpen(t, s)
	lab.WantExec(t, s, "id -un", "carol\n", 0)

	s = o.MustAsk(withKeyFile(server, o, l.Users["carol"]), `Verification code: `)
	lab.AnswerLogin(t, s, "000000")
	if q := lab.WantQuestion(t, s, `Verification code: `); q.Kind != term.PromptChallenge || q.User != "carol" {
		t.Errorf("the question is %+v", q)
	}
	lab.AnswerLogin(t, s, lab.OneTimeCode())
	lab.WantOpen(t, s)

	target := withKeyFile(server, o, l.Users["carol"])
	target.Auth.NoInteractive = true
	o.Refused(target, term.AuthFailed)
}

func labTwoRounds(t *testing.T, l *lab.Namespace) {
	server := l.SSHD(
		t,
		lab.ServerConfig{
			PAM:    lab.PAMPasswordCode,
			Config: "KbdInteractiveAuthentication yes\nAuthenticationMethods keyboard-interactive",
		},
	)
	o := l.Operator(t, server)

	s := o.MustAsk(server.Target(l.Users["bob"]), `Password: `)
	lab.AnswerLogin(t, s, l.Users["bob"].Password)
	lab.WantQuestion(t, s, `Verification code: `)
	lab.AnswerLogin(t, s, lab.OneTimeCode())
	lab.WantOpen(t, s)

	// The password that comes with the call answers the one question, and not the other.
	s = o.MustAsk(server.WithPassword(l.Users["bob"]), `Verification code: `)
	lab.AnswerLogin(t, s, lab.OneTimeCode())
	lab.WantOpen(t, s)
	lab.WantExec(t, s, "id -un", "bob\n", 0)
	if m := s.Info().About.AuthMethod; m != "keyboard-interactive" {
		t.Errorf("logged in by %s; want keyboard-interactive", m)
	}
}

// The dialogue about an expired password is passwd's, in the terminal; the login itself succeeds.
func labExpiredPassword(t *testing.T, l *lab.Namespace) {
	server := l.SSHD(t, lab.ServerConfig{PAM: lab.PAMPassword, Config: "PasswordAuthentication yes"})
	o := l.Operator(t, server)
	frank := l.Users["frank"]
	s := o.MustOpen(server.WithPassword(frank))
	lab.ReadUntil(t, s, 0, `(?i)password has expired[\s\S]*current password: `)
	lab.TypeUntil(t, s, frank.Password+"\r", `New password: `)
	lab.TypeUntil(t, s, "another Passphrase-1138\r", `Retype new password: `)
	lab.TypeUntil(t, s, "another Passphrase-1138\r", `updated successfully`)
	lab.WantEnd(t, s)

	target := server.WithPassword(frank)
	target.Auth.Password = "another Passphrase-1138"
	lab.WantExec(t, o.MustOpen(target), "id -un", "frank\n", 0)
}

func labUserCertificate(t *testing.T, l *lab.Namespace) {
	ca := lab.NewKey(t, "ed25519")
	l.WriteFile(t, "/etc/ssh/lab/user_ca.pub", "644", ca.Authorized())
	server := l.SSHD(t, lab.ServerConfig{Config: "TrustedUserCAKeys /etc/ssh/lab/user_ca.pub\nAuthorizedKeysFile none"})
	o := l.Operator(t, server)
	key, now := lab.NewKey(t, "ed25519"), time.Now()
	o.Options.ConfigPath = o.Write("config", fmt.Sprintf("IdentityFile %s\nIdentitiesOnly yes\n", o.Write("id", key.PEM)))

	o.Write("id-cert.pub", ca.Certify(t, key, ssh.UserCert, "alice", now.Add(-2*time.Hour), now.Add(-time.Hour)))
	e := o.Refused(server.Target(l.Users["alice"]), term.AuthFailed)
	if d := term.FactOf[term.ConnectFailure](e); len(d.KeysOffered) == 0 {
		t.Errorf("the details lack the offer of the expired certificate: %+v", d)
	}
	o.Write("id-cert.pub", ca.Certify(t, key, ssh.UserCert, "bob", now.Add(-time.Hour), now.Add(time.Hour)))
	o.Refused(server.Target(l.Users["alice"]), term.AuthFailed)

	o.Write("id-cert.pub", ca.Certify(t, key, ssh.UserCert, "alice", now.Add(-time.Hour), now.Add(time.Hour)))
	lab.WantExec(t, o.MustOpen(server.Target(l.Users["alice"])), "id -un", "alice\n", 0)
}

// A server that has closed the connection takes no answer any more. sshd says nothing when it does so, so that it is
// known only by its process; the session may end before the answer or because of it.
func labLoginGraceTime(t *testing.T, l *lab.Namespace) {
	var s *session.Session
	lab.InTime(t, "a question within LoginGraceTime", time.Second, func(d time.Duration) bool {
		config := fmt.Sprintf("KbdInteractiveAuthentication yes\nLoginGraceTime %d", d/time.Second)
		server := l.SSHD(t, lab.ServerConfig{PAM: lab.PAMCode, Config: config})
		r, err := l.Operator(t, server).Open(server.Target(l.Users["carol"]))
		_, child, _ := strings.Cut(server.Log.Wait(t, `Forked child \d+`), "Forked child ")
		lab.Eventually(t, "the end of sshd's process for the connection", func() bool {
			return l.Run(t, "test -e /proc/"+strings.TrimRight(child, ".")+" || echo gone") != ""
		})
		if err != nil || r.Prompt == nil || !strings.Contains(r.Prompt.Text, "Verification code: ") {
			t.Logf("LoginGraceTime %v: it asks %+v, %v", d, r.Prompt, err)
			return false
		}
		s = r.Session
		return true
	})
	code := lab.OneTimeCode()
	leaktest.Typed(t, code)
	if _, err := s.Write(t.Context(), []byte(code+"\r"), session.WriteOptions{}); err != nil {
		lab.WantError(t, err, term.AlreadyClosed)
	}
	end := lab.WantEnd(t, s)
	e := lab.WantError(t, end.Err, term.AuthFailed)
	if !strings.Contains(e.Message(), "ended the connection") || len(term.FactOf[term.ConnectFailure](e).Ladder) != 1 {
		t.Errorf(
			"the error does not say that the server ended the connection during the login: %s, %+v",
			e.Message(),
			e.Facts,
		)
	}
}

// keyring is an agent in this process with keys.
func keyring(t *testing.T, keys ...lab.Key) agent.Agent {
	t.Helper()
	ring := agent.NewKeyring()
	for _, k := range keys {
		if err := ring.Add(k.Held(t, "")); err != nil {
			t.Fatal(err)
		}
	}
	return ring
}

// labAgent is an ssh-agent of the test's own. Its socket is returned.
func labAgent(t *testing.T, o *lab.Operator, keys ...lab.Key) string {
	t.Helper()
	ring := keyring(t, keys...)
	socket := filepath.Join(o.Home, "agent")
	listener, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	var serving sync.WaitGroup
	serving.Go(func() {
		for {
			c, err := listener.Accept()
			if err != nil {
				return
			}
			serving.Go(func() {
				defer c.Close()
				_ = agent.ServeAgent(ring, c) // ends with the client
			})
		}
	})
	t.Cleanup(func() {
		_ = listener.Close()
		if o.Manager != nil {
			o.Manager.Close(context.Background()) // so that the agent has no more users
		}
		serving.Wait()
	})
	return socket
}

func labMaxAuthTries(t *testing.T, l *lab.Namespace) {
	server := l.SSHD(t, lab.ServerConfig{Config: "MaxAuthTries 3"})
	good := l.Users["alice"].Key
	var bad []lab.Key
	for range 7 {
		bad = append(bad, lab.NewKey(t, "ed25519"))
	}
	for _, test := range []struct {
		name string
		keys []lab.Key
		conf string
		ok   bool
	}{
		{"the second key is right", slices.Concat(bad[:1], []lab.Key{good}, bad[1:]), "", true},
		{"the fifth key is right", slices.Concat(bad[:4], []lab.Key{good}, bad[4:]), "", true}, // after one more connection
		{"the last key is right", append(slices.Clone(bad), good), "", false},
		{"the last key is named", append(slices.Clone(bad), good), "IdentityFile %s\n", true},
		{"the last key is the only one", append(slices.Clone(bad), good), "IdentityFile %s\nIdentitiesOnly yes\n", true},
	} {
		t.Run(test.name, func(t *testing.T) {
			o := l.Operator(t, server)
			if test.conf != "" {
				public := o.Write("good.pub", good.Authorized())
				o.Options.ConfigPath = o.Write("config", fmt.Sprintf(test.conf, strings.TrimSuffix(public, ".pub")))
			}
			o.Options.IdentityAgent = labAgent(t, o, test.keys...)
			if test.ok {
				lab.WantExec(t, o.MustOpen(server.Target(l.Users["alice"])), "id -un", "alice\n", 0)
				return
			}
			e := o.Refused(server.Target(l.Users["alice"]), term.AuthFailed)
			if d := term.FactOf[term.ConnectFailure](e); !slices.Contains(d.MethodsTried, "publickey") ||
				len(d.KeysOffered) < 3 {
				t.Errorf("the details do not say which keys were offered: %+v", d)
			}
			d := term.FactOf[term.ConnectFailure](e)
			if !slices.Contains(d.KeysUntried, good.Fingerprint()) {
				t.Errorf("the details do not name the key that was never tried: %+v, want %s", d.KeysUntried, good.Fingerprint())
			}
			for _, want := range []string{"never tried: ", good.Fingerprint(), "IdentitiesOnly"} {
				if text := e.Message(); !strings.Contains(text, want) {
					t.Errorf("the message does not say %q: %s", want, text)
				}
			}
		})
	}
	t.Run("as many keys as tries, all wrong", func(t *testing.T) {
		o := l.Operator(t, server)
		o.Options.IdentityAgent = labAgent(t, o, bad[:3]...)
		e := o.Refused(server.Target(l.Users["alice"]), term.AuthFailed)
		for _, want := range []string{"(publickey)", "after 3 keys, all refused", "keys offered is authorized"} {
			if text := e.Message(); !strings.Contains(text, want) {
				t.Errorf("the message does not say %q: %s", want, text)
			}
		}
		if d := term.FactOf[term.ConnectFailure](e); !slices.Equal(d.MethodsTried, []string{"publickey"}) ||
			len(d.KeysOffered) != 3 {
			t.Errorf("the details do not say which keys were offered: %+v", d)
		}
	})
}

func labNoMethodOfOurs(t *testing.T, l *lab.Namespace) {
	server := l.SSHD(t, lab.ServerConfig{Config: "HostbasedAuthentication yes\nAuthenticationMethods hostbased"})
	e := l.Operator(t, server).Refused(server.WithKey(l.Users["alice"]), term.AuthFailed)
	if d := term.FactOf[term.ConnectFailure](e); !slices.Equal(d.MethodsAllowed, []string{"hostbased"}) ||
		len(d.MethodsTried) != 0 {
		t.Errorf("the details do not say that the server allows hostbased only: %+v", d)
	}
	if !regexp.MustCompile(`hostbased`).MatchString(e.Message()) {
		t.Errorf("the message does not name the method that is allowed: %s", e.Message())
	}
}

// withKeyFile returns the server as a target for a user with a key in a file that the operator's ssh_config names:
// unlike a key that comes with the call, it leaves the other methods open.
func withKeyFile(s *lab.Server, o *lab.Operator, u *lab.User) term.Target {
	o.Write(
		"config",
		fmt.Sprintf("Host 127.0.0.1\n\tIdentityFile %s\n\tIdentitiesOnly yes\n", o.Write("id_"+u.Name, u.Key.PEM)),
	)
	return s.Target(u)
}
