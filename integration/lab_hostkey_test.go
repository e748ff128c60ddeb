package integration

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"

	"ptyctl/session"
	"ptyctl/term"
)

func labHostCertificate(t *testing.T, l *lab) {
	ca, key, now := newLabKey(t, "ed25519"), newLabKey(t, "ed25519"), time.Now()
	certified := func(name, principal string, from time.Time) *labServer {
		path := "/etc/ssh/lab/" + name + "-cert.pub"
		l.file(t, path, "644", ca.certify(t, key, ssh.HostCert, principal, from, from.Add(2*time.Hour)))
		return l.sshd(t, labSSHD{hostKeys: []labKey{key}, config: "HostCertificate " + path})
	}
	good := certified("good", "127.0.0.1", now.Add(-time.Hour))
	elsewhere := certified("elsewhere", "another.example", now.Add(-time.Hour))
	expired := certified("expired", "127.0.0.1", now.Add(-3*time.Hour))

	o := l.operator(t) // knows no host, only who vouches for them
	o.refused(good.withKey(l.users["alice"]), term.HostKeyUnknown)
	o.knows("@cert-authority * " + ca.authorized())
	labWantExec(t, o.mustOpen(good.withKey(l.users["alice"])), "id -un", "alice\n", 0)
	for _, bad := range []*labServer{elsewhere, expired} {
		r, err := o.open(bad.withKey(l.users["alice"]))
		if err == nil {
			t.Fatalf("a session with a host whose certificate is not for it is %s", r.State)
		}
		if k := term.KindOf(err); k != term.HostKeyUnknown && k != term.HostKeyMismatch {
			t.Errorf("%s: %v; want HOSTKEY_UNKNOWN or HOSTKEY_MISMATCH", k, err)
		}
		bad.wantNoLogin(t)
	}
}

func labChangedHostKey(t *testing.T, l *lab) {
	for _, policy := range []string{"strict", "accept_new"} {
		t.Run(policy, func(t *testing.T) {
			server := l.sshd(t, labSSHD{pam: labPAMPassword, config: "PasswordAuthentication yes"})
			before := newLabKey(t, "ed25519")
			o := l.operator(t)
			o.knows(labKnown(server.port, before))
			target := server.withPassword(l.users["bob"])
			target.SSH.HostKeyPolicy = policy
			e := o.refused(target, term.HostKeyMismatch)
			if d := e.Details; d == nil || d.Fingerprint != server.keys[0].fingerprint() || len(d.Recorded) != 1 ||
				d.Recorded[0].Fingerprint != before.fingerprint() ||
				d.Recorded[0].Line != 1 {
				t.Errorf("the details do not say which key came and which is recorded where: %+v", d)
			}
			server.wantNoLogin(t)
		})
	}
	// Where the operator lets every key pass, a host with the wrong one still gets nothing that it could use.
	t.Run("disabled", func(t *testing.T) {
		server := l.sshd(
			t,
			labSSHD{pam: labPAMPasswordCode, config: "PasswordAuthentication yes\nKbdInteractiveAuthentication yes"},
		)
		o := l.operator(t)
		o.options.HostKeyPolicy, o.options.HostKeyFloor = "disabled", "disabled"
		o.knows(labKnown(server.port, newLabKey(t, "ed25519")))
		o.refused(server.withPassword(l.users["bob"]), term.AuthFailed)
		if line := server.log.find(`userauth-request .* method (password|keyboard-interactive)`); line != "" {
			t.Errorf("a host that may be another was offered a password: %s", line)
		}
		labWantExec(t, o.mustOpen(server.withKey(l.users["alice"])), "id -un", "alice\n", 0)
	})
	t.Run("unknown", func(t *testing.T) {
		server := l.sshd(t, labSSHD{pam: labPAMPassword, config: "PasswordAuthentication yes"})
		o := l.operator(t)
		o.refused(server.withPassword(l.users["bob"]), term.HostKeyUnknown)
		server.wantNoLogin(t)
	})
	t.Run("accept_new records", func(t *testing.T) {
		server := l.sshd(t, labSSHD{})
		o := l.operator(t)
		target := server.withKey(l.users["alice"])
		target.SSH.HostKeyPolicy = "accept_new"
		o.mustOpen(target)
		target.SSH.HostKeyPolicy = "strict"
		o.mustOpen(target)
	})
}

// A hop whose key is wrong learns neither who we are nor where we go.
func labChangedHostKeyOnHop(t *testing.T, l *lab) {
	for wrong := range 3 {
		t.Run(fmt.Sprintf("hop %d", wrong), func(t *testing.T) {
			servers := []*labServer{l.sshd(t, labSSHD{}), l.sshd(t, labSSHD{}), l.sshd(t, labSSHD{})}
			o := l.operator(t)
			o.chain(l.users["alice"], servers...)
			for i, s := range servers {
				if i == wrong {
					o.knows(labKnown(s.port, newLabKey(t, "ed25519")))
				} else {
					o.knows(s.known())
				}
			}
			e := o.refused(term.Target{Protocol: "ssh", Host: "hop2"}, term.HostKeyMismatch)
			if want := fmt.Sprintf("alice@127.0.0.1:%d", servers[wrong].port); e.Details == nil || e.Details.Hop != want ||
				len(e.Details.Ladder) != wrong+1 {
				t.Errorf("the details do not say that it was %s: %+v", want, e.Details)
			}
			servers[wrong].wantNoLogin(t)
			for _, s := range servers[wrong+1:] {
				if line := s.log.find(`Connection from`); line != "" {
					t.Errorf("a server beyond the wrong one was reached: %s", line)
				}
			}
		})
	}
}

func labOneKnownKeyOfThree(t *testing.T, l *lab) {
	server := l.sshd(t, labSSHD{hostKeys: []labKey{newLabKey(t, "ed25519"), newLabKey(t, "ecdsa"), l.rsa}})
	for _, k := range server.keys {
		t.Run(k.PublicKey().Type(), func(t *testing.T) {
			o := l.operator(t)
			o.knows(labKnown(server.port, k))
			s := o.mustOpen(server.withKey(l.users["alice"]))
			if got := s.Info().About.HostKey; got != k.fingerprint() {
				t.Errorf("the server was accepted for its key %s; want %s, which is the one known", got, k.fingerprint())
			}
		})
	}
	t.Run("another", func(t *testing.T) {
		o := l.operator(t)
		o.knows(labKnown(server.port, newLabKey(t, "ecdsa")))
		o.refused(server.withKey(l.users["alice"]), term.HostKeyMismatch)
	})
}

func labLegacyAlgorithms(t *testing.T, l *lab) {
	server := l.sshd(
		t,
		labSSHD{
			hostKeys: []labKey{l.rsa},
			config:   "KexAlgorithms diffie-hellman-group1-sha1\nCiphers 3des-cbc\nMACs hmac-sha1\nHostKeyAlgorithms ssh-rsa\n",
		},
	)
	alice := l.users["alice"]

	o := l.operator(t, server)
	e := o.refused(server.withKey(alice), term.ConnectFailed)
	if d := e.Details; d == nil || !slices.Contains(d.ServerOffers, "diffie-hellman-group1-sha1") {
		t.Errorf("the details do not say what the server offers: %+v", d)
	}
	server.wantNoLogin(t)

	check := func(t *testing.T, s *session.Session) {
		labWantExec(t, s, "id -un", "alice\n", 0)
		about := s.Info().About
		if a := about.Algorithms; a.Kex != "diffie-hellman-group1-sha1" || a.Cipher != "3des-cbc" || a.HostKey != "ssh-rsa" ||
			a.MAC != "hmac-sha1" {
			t.Errorf("the algorithms are %+v", a)
		}
		if !strings.Contains(strings.Join(about.Warnings, "\n"), "3des-cbc") {
			t.Errorf("nothing warns of 3des-cbc: %q", about.Warnings)
		}
	}
	t.Run("configured", func(t *testing.T) {
		o := l.operator(t, server)
		o.write("config", "KexAlgorithms +diffie-hellman-group1-sha1\nCiphers +3des-cbc\nHostKeyAlgorithms +ssh-rsa\n")
		check(t, o.mustOpen(server.withKey(alice)))
	})
	t.Run("legacy", func(t *testing.T) {
		o := l.operator(t, server)
		target := server.withKey(alice)
		target.SSH.Legacy = true
		check(t, o.mustOpen(target))
	})
}

// The keys are changed after every mebibyte, and nothing of it is seen.
func labRekey(t *testing.T, l *lab) {
	server := l.sshd(t, labSSHD{config: "RekeyLimit 1M"})
	s := l.operator(t, server).mustOpen(server.withKey(l.users["alice"]))
	const size = 8 << 20
	r := labExec(t, s, fmt.Sprintf("head -c %d /dev/zero", size))
	if r.Stdout.Total != size || r.Exit.Code != 0 {
		t.Errorf("%d bytes and %+v; want %d and status 0", r.Stdout.Total, r.Exit, size)
	}
	rekeyings := 0
	server.log.mu.Lock()
	for _, line := range server.log.lines {
		if strings.Contains(line, "SSH2_MSG_NEWKEYS received") {
			rekeyings++
		}
	}
	server.log.mu.Unlock()
	if rekeyings < 5 {
		t.Errorf("the keys were exchanged %d times only", rekeyings)
	}
	labWantExec(t, s, "echo still here", "still here\n", 0)
}
