package integration

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

	"ptyctl/term"
)

func labPassword(t *testing.T, l *lab) {
	server := l.sshd(t, labSSHD{pam: labPAMPassword, config: "PasswordAuthentication yes"})
	o := l.operator(t, server)
	for _, name := range []string{"bob", "oddpass"} {
		s := o.mustOpen(server.withPassword(l.users[name]))
		labWantExec(t, s, "id -un; exit 3", name+"\n", 3)
		if m := s.Info().About.AuthMethod; m != "password" {
			t.Errorf("logged in by %s; want password", m)
		}
	}
	// Nobody gave the password, so it is asked for.
	s := o.mustAsk(server.target(l.users["bob"]), `bob@127\.0\.0\.1's password: `)
	labAnswer(t, s, "not it-1138")
	labWantPrompt(t, s, `try again`)
	labAnswer(t, s, l.users["bob"].password)
	labWantOpen(t, s)
}

func labWrongPassword(t *testing.T, l *lab) {
	server := l.sshd(t, labSSHD{pam: labPAMPassword, config: "PasswordAuthentication yes"})
	target := server.withPassword(l.users["bob"])
	target.Auth.Password = "a wrong one-1138"
	target.Auth.NoInteractive = true
	e := l.operator(t, server).refused(target, term.AuthFailed)
	if strings.Contains(e.Error(), "a wrong one-1138") {
		t.Errorf("the error tells the password: %v", e)
	}
	if d := e.Details; d == nil || !slices.Contains(d.MethodsTried, "password") ||
		!slices.Contains(d.MethodsAllowed, "password") {
		t.Errorf("the details do not say that a password was tried, and may be: %+v", e.Details)
	}
}

func labTwoFactor(t *testing.T, l *lab) {
	server := l.sshd(
		t,
		labSSHD{
			pam:    labPAMCode,
			config: "KbdInteractiveAuthentication yes\nAuthenticationMethods publickey,keyboard-interactive",
		},
	)
	o := l.operator(t, server)
	s := o.mustAsk(server.withKeyFile(o, l.users["carol"]), `Verification code: `)
	labAnswer(t, s, labCode())
	labWantOpen(t, s)
	labWantExec(t, s, "id -un", "carol\n", 0)

	s = o.mustAsk(server.withKeyFile(o, l.users["carol"]), `Verification code: `)
	labAnswer(t, s, "000000")
	if q := labWantPrompt(t, s, `Verification code: `); q.Kind != term.PromptChallenge || q.User != "carol" {
		t.Errorf("the question is %+v", q)
	}
	labAnswer(t, s, labCode())
	labWantOpen(t, s)

	target := server.withKeyFile(o, l.users["carol"])
	target.Auth.NoInteractive = true
	o.refused(target, term.AuthFailed)
}

func labTwoRounds(t *testing.T, l *lab) {
	server := l.sshd(
		t,
		labSSHD{
			pam:    labPAMPasswordCode,
			config: "KbdInteractiveAuthentication yes\nAuthenticationMethods keyboard-interactive",
		},
	)
	o := l.operator(t, server)

	s := o.mustAsk(server.target(l.users["bob"]), `Password: `)
	labAnswer(t, s, l.users["bob"].password)
	labWantPrompt(t, s, `Verification code: `)
	labAnswer(t, s, labCode())
	labWantOpen(t, s)

	// The password that comes with the call answers the one question, and not the other.
	s = o.mustAsk(server.withPassword(l.users["bob"]), `Verification code: `)
	labAnswer(t, s, labCode())
	labWantOpen(t, s)
	labWantExec(t, s, "id -un", "bob\n", 0)
	if m := s.Info().About.AuthMethod; m != "keyboard-interactive" {
		t.Errorf("logged in by %s; want keyboard-interactive", m)
	}
}

// The dialogue about an expired password is passwd's, in the terminal; the login itself succeeds.
func labExpiredPassword(t *testing.T, l *lab) {
	server := l.sshd(t, labSSHD{pam: labPAMPassword, config: "PasswordAuthentication yes"})
	o := l.operator(t, server)
	frank := l.users["frank"]
	s := o.mustOpen(server.withPassword(frank))
	labRead(t, s, 0, `(?i)password has expired[\s\S]*current password: `)
	labType(t, s, frank.password+"\r", `New password: `)
	labType(t, s, "another Passphrase-1138\r", `Retype new password: `)
	labType(t, s, "another Passphrase-1138\r", `updated successfully`)
	labWantEnd(t, s, 10*time.Second)

	target := server.withPassword(frank)
	target.Auth.Password = "another Passphrase-1138"
	labWantExec(t, o.mustOpen(target), "id -un", "frank\n", 0)
}

func labUserCertificate(t *testing.T, l *lab) {
	ca := newLabKey(t, "ed25519")
	l.file(t, "/etc/ssh/lab/user_ca.pub", "644", ca.authorized())
	server := l.sshd(t, labSSHD{config: "TrustedUserCAKeys /etc/ssh/lab/user_ca.pub\nAuthorizedKeysFile none"})
	o := l.operator(t, server)
	key, now := newLabKey(t, "ed25519"), time.Now()
	o.options.ConfigPath = o.write("config", fmt.Sprintf("IdentityFile %s\nIdentitiesOnly yes\n", o.write("id", key.pem)))

	o.write("id-cert.pub", ca.certify(t, key, ssh.UserCert, "alice", now.Add(-2*time.Hour), now.Add(-time.Hour)))
	e := o.refused(server.target(l.users["alice"]), term.AuthFailed)
	if d := e.Details; d == nil || len(d.KeysOffered) == 0 {
		t.Errorf("the expired certificate is not among what was offered: %+v", d)
	}
	o.write("id-cert.pub", ca.certify(t, key, ssh.UserCert, "bob", now.Add(-time.Hour), now.Add(time.Hour)))
	o.refused(server.target(l.users["alice"]), term.AuthFailed)

	o.write("id-cert.pub", ca.certify(t, key, ssh.UserCert, "alice", now.Add(-time.Hour), now.Add(time.Hour)))
	labWantExec(t, o.mustOpen(server.target(l.users["alice"])), "id -un", "alice\n", 0)
}

// A server that has closed the connection takes no answer any more. sshd says nothing when it does so, so that it is
// known only by its time; the session may end before the answer or because of it.
func labLoginGraceTime(t *testing.T, l *lab) {
	server := l.sshd(t, labSSHD{pam: labPAMCode, config: "KbdInteractiveAuthentication yes\nLoginGraceTime 1"})
	s := l.operator(t, server).mustAsk(server.target(l.users["carol"]), `Verification code: `)
	select {
	case <-s.Ended():
	case <-time.After(2500 * time.Millisecond):
		labAnswer(t, s, labCode())
	}
	end := labWantEnd(t, s, 5*time.Second)
	e := labWantError(t, end.Err, term.AuthFailed)
	if !strings.Contains(e.Message(), "ended the connection") || e.Details == nil || len(e.Details.Ladder) != 1 {
		t.Errorf(
			"the error does not say that the server ended the connection during the login: %s, %+v",
			e.Message(),
			e.Details,
		)
	}
}

// labAgent is an ssh-agent of the test's own. Its socket is returned.
func labAgent(t *testing.T, o *labOperator, keys ...labKey) string {
	t.Helper()
	ring := agent.NewKeyring()
	for _, k := range keys {
		private, err := ssh.ParseRawPrivateKey([]byte(k.pem))
		if err != nil {
			t.Fatal(err)
		}
		if err := ring.Add(agent.AddedKey{PrivateKey: private}); err != nil {
			t.Fatal(err)
		}
	}
	socket := filepath.Join(o.home, "agent")
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
		if o.m != nil {
			o.m.Close(context.Background()) // so that nobody uses the agent any more
		}
		serving.Wait()
	})
	return socket
}

func labMaxAuthTries(t *testing.T, l *lab) {
	server := l.sshd(t, labSSHD{config: "MaxAuthTries 3"})
	good := l.users["alice"].key
	var bad []labKey
	for range 7 {
		bad = append(bad, newLabKey(t, "ed25519"))
	}
	for _, test := range []struct {
		name string
		keys []labKey
		conf string
		ok   bool
	}{
		{"the second key is right", slices.Concat(bad[:1], []labKey{good}, bad[1:]), "", true},
		{"the fifth key is right", slices.Concat(bad[:4], []labKey{good}, bad[4:]), "", true}, // after one more connection
		{"the last key is right", append(slices.Clone(bad), good), "", false},
		{"the last key is named", append(slices.Clone(bad), good), "IdentityFile %s\n", true},
		{"the last key is the only one", append(slices.Clone(bad), good), "IdentityFile %s\nIdentitiesOnly yes\n", true},
	} {
		t.Run(test.name, func(t *testing.T) {
			o := l.operator(t, server)
			if test.conf != "" {
				public := o.write("good.pub", good.authorized())
				o.options.ConfigPath = o.write("config", fmt.Sprintf(test.conf, strings.TrimSuffix(public, ".pub")))
			}
			o.options.IdentityAgent = labAgent(t, o, test.keys...)
			if test.ok {
				labWantExec(t, o.mustOpen(server.target(l.users["alice"])), "id -un", "alice\n", 0)
				return
			}
			e := o.refused(server.target(l.users["alice"]), term.AuthFailed)
			if d := e.Details; d == nil || !slices.Contains(d.MethodsTried, "publickey") || len(d.KeysOffered) < 3 {
				t.Errorf("the details do not say which keys were offered: %+v", d)
			}
		})
	}
}

func labNoMethodOfOurs(t *testing.T, l *lab) {
	server := l.sshd(t, labSSHD{config: "HostbasedAuthentication yes\nAuthenticationMethods hostbased"})
	e := l.operator(t, server).refused(server.withKey(l.users["alice"]), term.AuthFailed)
	if d := e.Details; d == nil || !slices.Equal(d.MethodsAllowed, []string{"hostbased"}) || len(d.MethodsTried) != 0 {
		t.Errorf("the details do not say that the server allows hostbased only: %+v", d)
	}
	if !regexp.MustCompile(`hostbased`).MatchString(e.Message()) {
		t.Errorf("the message does not name the method that is allowed: %s", e.Message())
	}
}

// withKeyFile is the server for a user whose key lies in a file that the operator's ssh_config names: unlike one that
// comes with the call, it leaves the other methods open.
func (s *labServer) withKeyFile(o *labOperator, u *labUser) term.Target {
	o.write(
		"config",
		fmt.Sprintf("Host 127.0.0.1\n\tIdentityFile %s\n\tIdentitiesOnly yes\n", o.write("id_"+u.name, u.key.pem)),
	)
	return s.target(u)
}
