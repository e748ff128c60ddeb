package sshx_test

import (
	"slices"
	"strings"
	"testing"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/agent"
	"golang.org/x/crypto/ssh/knownhosts"

	"ptyctl/internal/sshserver"
	"ptyctl/sshx/internal/sshtest"
	"ptyctl/term"
)

// Keys of the program are offered before those of its agent, and those before files. Nothing else lends a key: not the
// agent of ssh_config.
func TestKeysOfTheProgram(t *testing.T) {
	raw, lent := sshtest.RawKey(t)
	_, own := sshtest.RawKey(t)
	inFile, pem := sshtest.NewKey(t)
	ring := agent.NewKeyring()
	if err := ring.Add(agent.AddedKey{PrivateKey: raw}); err != nil {
		t.Fatal(err)
	}
	l := sshtest.New(t)
	srv := l.Server(sshtest.Addr1, sshserver.Config{AuthorizedKeys: []ssh.PublicKey{inFile.PublicKey()}})
	l.Config("IdentityAgent /nowhere\nIdentityFile " + l.Write("id", pem) + "\n")
	l.Opts.Agent, l.Opts.Signers = ring, []ssh.Signer{own}
	c := l.Client(sshtest.To(sshtest.Host1, ""), nil)
	defer c.Close()
	var want []string
	for _, s := range []ssh.Signer{own, lent, inFile} {
		want = append(want, ssh.FingerprintSHA256(s.PublicKey()))
	}
	if got := slices.Compact(srv.Stats().KeysOffered); !slices.Equal(got, want) {
		t.Errorf("offered %v, want %v", got, want)
	}
}

// A caller must not name another agent than the program's.
func TestAgentOfTheProgramStays(t *testing.T) {
	l := sshtest.New(t)
	l.Server(sshtest.Addr1, sshserver.Config{})
	l.Opts.Agent = agent.NewKeyring()
	target := sshtest.To(sshtest.Host1, "")
	target.SSH.ExtraArgs = []string{"-o", "IdentityAgent=/tmp/other"}
	l.Fails(target, nil, term.PolicyDenied)
}

// With KnownHosts no file decides, and none is changed.
func TestKnownHostsOfTheProgram(t *testing.T) {
	for _, tc := range []struct {
		name   string
		lines  func(key ssh.PublicKey) string
		policy string
		kind   term.Kind // empty: the login succeeds
	}{
		{"on record", func(k ssh.PublicKey) string { return knownhosts.Line([]string{sshtest.Host1}, k) }, "strict", ""},
		{"empty", func(ssh.PublicKey) string { return "" }, "strict", term.HostKeyUnknown},
		{"empty, new keys accepted", func(ssh.PublicKey) string { return "# none\n" }, "accept_new", term.HostKeyUnknown},
		{"another key", func(ssh.PublicKey) string {
			_, other := sshtest.RawKey(t)
			return knownhosts.Line([]string{sshtest.Host1}, other.PublicKey())
		}, "strict", term.HostKeyMismatch},
	} {
		t.Run(tc.name, func(t *testing.T) {
			l := sshtest.New(t)
			srv := l.Server(sshtest.Addr1, sshserver.Config{}) // its key is in the file
			l.Opts.KnownHosts, l.Opts.HostKeyPolicy = []byte(tc.lines(srv.HostKey())), tc.policy
			if tc.kind != "" {
				err := l.Fails(sshtest.To(sshtest.Host1, ""), nil, tc.kind)
				if !strings.Contains(err.Error(), "KnownHosts") {
					t.Errorf("the error %q does not name KnownHosts", err)
				}
				return
			}
			_ = l.Client(sshtest.To(sshtest.Host1, ""), nil).Close()
		})
	}
}
