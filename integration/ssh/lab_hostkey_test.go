package ssh

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"

	"ptyctl/internal/lab"
	"ptyctl/session"
	"ptyctl/term"
)

func labHostCertificate(t *testing.T, l *lab.Namespace) {
	ca, host, now := lab.NewKey(t, "ed25519"), lab.NewKey(t, "ed25519"), time.Now()
	certified := func(name, principal string, from time.Time) *lab.Server {
		path := "/etc/ssh/lab/" + name + "-cert.pub"
		l.WriteFile(t, path, "644", ca.Certify(t, host, ssh.HostCert, principal, from, from.Add(2*time.Hour)))
		return l.SSHD(t, lab.ServerConfig{HostKeys: []lab.Key{host}, Config: "HostCertificate " + path})
	}
	good := certified("good", "127.0.0.1", now.Add(-time.Hour))
	elsewhere := certified("elsewhere", "another.example", now.Add(-time.Hour))
	expired := certified("expired", "127.0.0.1", now.Add(-3*time.Hour))

	o := l.Operator(t) // knows no host, only the authority that certifies them
	o.Refused(good.WithKey(l.Users["alice"]), term.HostKeyUnknown)
	o.Knows("@cert-authority * " + ca.Authorized())
	lab.WantExec(t, o.MustOpen(good.WithKey(l.Users["alice"])), "id -un", "alice\n", 0)
	for _, bad := range []*lab.Server{elsewhere, expired} {
		r, err := o.Open(bad.WithKey(l.Users["alice"]))
		if err == nil {
			t.Fatalf("session with a host that has another host's certificate: state %s", r.State)
		}
		if k := term.KindOf(err); k != term.HostKeyUnknown && k != term.HostKeyMismatch {
			t.Errorf("%s: %v; want HOSTKEY_UNKNOWN or HOSTKEY_MISMATCH", k, err)
		}
		bad.WantNoLogin(t)
	}
}

func labChangedHostKey(t *testing.T, l *lab.Namespace) {
	for _, policy := range []string{"strict", "accept_new"} {
		t.Run(policy, func(t *testing.T) {
			server := l.SSHD(t, lab.ServerConfig{PAM: lab.PAMPassword, Config: "PasswordAuthentication yes"})
			before := lab.NewKey(t, "ed25519")
			o := l.Operator(t)
			o.Knows(lab.KnownHosts(server.Port, before))
			target := server.WithPassword(l.Users["bob"])
			target.SSH.HostKeyPolicy = policy
			e := o.Refused(target, term.HostKeyMismatch)
			if d := term.FactOf[term.HostKeyFailure](e); d.Fingerprint != server.Keys[0].Fingerprint() || len(d.Recorded) != 1 ||
				d.Recorded[0].Fingerprint != before.Fingerprint() ||
				d.Recorded[0].Line != 1 {
				t.Errorf("the details lack the offered key, or the recorded one and its place: %+v", d)
			}
			server.WantNoLogin(t)
		})
	}
	// Where the operator lets every key pass, a host with the wrong one still gets nothing that it could use.
	t.Run("disabled", func(t *testing.T) {
		server := l.SSHD(
			t,
			lab.ServerConfig{PAM: lab.PAMPasswordCode, Config: "PasswordAuthentication yes\nKbdInteractiveAuthentication yes"},
		)
		o := l.Operator(t)
		o.Options.HostKeyPolicy, o.Options.HostKeyFloor = "disabled", "disabled"
		o.Knows(lab.KnownHosts(server.Port, lab.NewKey(t, "ed25519")))
		o.Refused(server.WithPassword(l.Users["bob"]), term.AuthFailed)
		if line := server.Log.Find(`userauth-request .* method (password|keyboard-interactive)`); line != "" {
			t.Errorf("a host that may be another was offered a password: %s", line)
		}
		lab.WantExec(t, o.MustOpen(server.WithKey(l.Users["alice"])), "id -un", "alice\n", 0)
	})
	t.Run("unknown", func(t *testing.T) {
		server := l.SSHD(t, lab.ServerConfig{PAM: lab.PAMPassword, Config: "PasswordAuthentication yes"})
		o := l.Operator(t)
		o.Refused(server.WithPassword(l.Users["bob"]), term.HostKeyUnknown)
		server.WantNoLogin(t)
	})
	t.Run("accept_new records", func(t *testing.T) {
		server := l.SSHD(t, lab.ServerConfig{})
		o := l.Operator(t)
		target := server.WithKey(l.Users["alice"])
		target.SSH.HostKeyPolicy = "accept_new"
		o.MustOpen(target)
		target.SSH.HostKeyPolicy = "strict"
		o.MustOpen(target)
	})
}

// A hop with a wrong key must learn neither our identity nor our destination.
func labChangedHostKeyOnHop(t *testing.T, l *lab.Namespace) {
	for wrong := range 3 {
		t.Run(fmt.Sprintf("hop %d", wrong), func(t *testing.T) {
			servers := []*lab.Server{l.SSHD(t, lab.ServerConfig{}), l.SSHD(t, lab.ServerConfig{}), l.SSHD(t, lab.ServerConfig{})}
			o := l.Operator(t)
			chain(o, l.Users["alice"], servers...)
			for i, s := range servers {
				if i == wrong {
					o.Knows(lab.KnownHosts(s.Port, lab.NewKey(t, "ed25519")))
				} else {
					o.Knows(s.Known())
				}
			}
			e := o.Refused(term.Target{Protocol: "ssh", Host: "hop2"}, term.HostKeyMismatch)
			if want := fmt.Sprintf("alice@127.0.0.1:%d", servers[wrong].Port); term.FactOf[term.ConnectFailure](e).Hop != want ||
				len(term.FactOf[term.ConnectFailure](e).Ladder) != wrong+1 {
				t.Errorf("the details do not say that it was %s: %+v", want, e.Facts)
			}
			servers[wrong].WantNoLogin(t)
			for _, s := range servers[wrong+1:] {
				if line := s.Log.Find(`Connection from`); line != "" {
					t.Errorf("a server beyond the wrong one was reached: %s", line)
				}
			}
		})
	}
}

func labOneKnownKeyOfThree(t *testing.T, l *lab.Namespace) {
	server := l.SSHD(t, lab.ServerConfig{HostKeys: []lab.Key{lab.NewKey(t, "ed25519"), lab.NewKey(t, "ecdsa"), l.RSAKey}})
	for _, k := range server.Keys {
		t.Run(k.PublicKey().Type(), func(t *testing.T) {
			o := l.Operator(t)
			o.Knows(lab.KnownHosts(server.Port, k))
			s := o.MustOpen(server.WithKey(l.Users["alice"]))
			if got := s.Info().About.HostKey; got != k.Fingerprint() {
				t.Errorf("the server was accepted for its key %s; want %s, which is the one known", got, k.Fingerprint())
			}
		})
	}
	t.Run("another", func(t *testing.T) {
		o := l.Operator(t)
		o.Knows(lab.KnownHosts(server.Port, lab.NewKey(t, "ecdsa")))
		o.Refused(server.WithKey(l.Users["alice"]), term.HostKeyMismatch)
	})
}

func labLegacyAlgorithms(t *testing.T, l *lab.Namespace) {
	server := l.SSHD(
		t,
		lab.ServerConfig{
			HostKeys: []lab.Key{l.RSAKey},
			Config:   "KexAlgorithms diffie-hellman-group1-sha1\nCiphers 3des-cbc\nMACs hmac-sha1\nHostKeyAlgorithms ssh-rsa\n",
		},
	)
	alice := l.Users["alice"]

	o := l.Operator(t, server)
	e := o.Refused(server.WithKey(alice), term.ConnectFailed)
	if d := term.FactOf[term.ConnectFailure](e); !slices.Contains(d.ServerOffers, "diffie-hellman-group1-sha1") {
		t.Errorf("the details lack the server's offer: %+v", d)
	}
	server.WantNoLogin(t)

	check := func(t *testing.T, s *session.Session) {
		lab.WantExec(t, s, "id -un", "alice\n", 0)
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
		o := l.Operator(t, server)
		o.Write("config", "KexAlgorithms +diffie-hellman-group1-sha1\nCiphers +3des-cbc\nHostKeyAlgorithms +ssh-rsa\n")
		check(t, o.MustOpen(server.WithKey(alice)))
	})
	t.Run("legacy", func(t *testing.T) {
		o := l.Operator(t, server)
		target := server.WithKey(alice)
		target.SSH.Legacy = true
		check(t, o.MustOpen(target))
	})
}

// The keys are changed after every mebibyte, and nothing of it is seen.
func labRekey(t *testing.T, l *lab.Namespace) {
	server := l.SSHD(t, lab.ServerConfig{Config: "RekeyLimit 1M"})
	s := l.Operator(t, server).MustOpen(server.WithKey(l.Users["alice"]))
	const size = 8 << 20
	r := lab.ChannelExec(t, s, fmt.Sprintf("head -c %d /dev/zero", size))
	if r.Stdout.Total != size || r.Exit.Code != 0 {
		t.Errorf("%d bytes and %+v; want %d and status 0", r.Stdout.Total, r.Exit, size)
	}
	lab.Eventually(t, "five exchanges of keys in the log",
		func() bool { return server.Log.Count("SSH2_MSG_NEWKEYS received") >= 5 })
	lab.WantExec(t, s, "echo still here", "still here\n", 0)
}
