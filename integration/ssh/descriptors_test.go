package ssh

import (
	"slices"
	"testing"

	"golang.org/x/crypto/ssh"

	"ptyctl/internal/lab"
	"ptyctl/internal/sshserver"
)

// TestNoDescriptorsLeft fills ptyctl's table of descriptors with sessions. After each one it opens a host with a
// changed key, and one with a revoked key, under accept_new: a file that cannot be read must not make a host unknown.
func TestNoDescriptorsLeft(t *testing.T) {
	old, stolen := lab.NewKey(t, "ed25519"), lab.NewKey(t, "ed25519")
	good := lab.StartSSHD(t)
	serve := func(key ssh.Signer) *sshserver.Server {
		return lab.ServeSSH(t, sshserver.Config{
			HostKeys: []ssh.Signer{key}, Passwords: map[string]string{"alice": hostKeyPassword},
		})
	}
	changed, revoked := serve(lab.NewKey(t, "ed25519")), serve(stolen)
	h := lab.HomeFor(t, []*lab.SSHD{good})
	h.Trust(t, lab.KnownHostsLine(changed.Port(), old), "@revoked * "+stolen.Public())
	h.Wrap = []string{"/bin/sh", "-c", `ulimit -n 40 && exec "$@"`, "sh"}
	c := h.Connect(t)
	c.Hide(hostKeyPassword)

	hostile := func(known string, s *sshserver.Server, codes ...string) string {
		t.Helper()
		r, err := c.Try(t.Context(), lab.ToolSession, openWith, s.Port(), trustOptions{Policy: "accept_new"})
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Contains(codes, r.ErrorCode) {
			t.Errorf("open of a host whose key is %s = %s, want one of %v", known, r.Text, codes)
		}
		if n := s.Stats(); len(n.Attempts) != 0 || n.PasswordsSeen != 0 {
			t.Errorf("the host whose key is %s was asked to let us in: %+v", known, n)
		}
		return r.ErrorCode
	}
	var open []string
	for full := false; !full; {
		if len(open) > 40 {
			t.Fatal("40 descriptors are enough for 40 sessions")
		}
		r, err := c.Try(t.Context(), lab.ToolSession, lab.OpenSSH, good.Port, good.User)
		if err != nil {
			t.Fatal(err)
		}
		if r.ErrorCode == "" {
			open = append(open, r.SessionID)
		} else {
			full = true
			if r.ErrorCode != "LIMIT_EXCEEDED" || !r.Retryable || r.Details.Limit != "RLIMIT_NOFILE" {
				t.Errorf("open without descriptors = %s, want LIMIT_EXCEEDED of RLIMIT_NOFILE, retryable", r.Text)
			}
			t.Logf("after %d sessions: %s", len(open), r.Message)
		}
		hostile("changed", changed, "HOSTKEY_MISMATCH", "LIMIT_EXCEEDED")
		hostile("revoked", revoked, "HOSTKEY_REVOKED", "LIMIT_EXCEEDED")
	}
	for _, id := range open {
		c.Close(t, id)
	}
	hostile("changed", changed, "HOSTKEY_MISMATCH")
	hostile("revoked", revoked, "HOSTKEY_REVOKED")
	c.Close(t, c.Open(t, good))
}

// TestKnownHostsUnreadable: a file that is not there means no host is known, and one that cannot be read means nothing.
func TestKnownHostsUnreadable(t *testing.T) {
	s := lab.ServeSSH(t, sshserver.Config{Passwords: map[string]string{"alice": hostKeyPassword}})
	h := lab.NewHome(t)
	c := h.Connect(t)
	c.Hide(hostKeyPassword)
	folder := t.TempDir()
	for name, o := range map[string]struct {
		options trustOptions
		code    string
	}{
		"a folder":   {trustOptions{KnownHosts: folder}, "IO_ERROR"},
		"EIO":        {trustOptions{KnownHosts: "/proc/self/mem"}, "IO_ERROR"},
		"not there":  {trustOptions{KnownHosts: folder + "/none"}, "HOSTKEY_UNKNOWN"},
		"new hosts":  {trustOptions{KnownHosts: folder, Policy: "accept_new"}, "IO_ERROR"},
		"the system": {trustOptions{ExtraArgs: []string{"-o", "GlobalKnownHostsFile=" + folder}}, "IO_ERROR"},
	} {
		r := c.Refused(t, o.code, lab.ToolSession, openWith, s.Port(), o.options)
		if want := o.code == "IO_ERROR"; r.Retryable != want {
			t.Errorf("%s: retryable = %v, want %v: %s", name, r.Retryable, want, r.Text)
		}
		if n := s.Stats(); len(n.Attempts) != 0 || n.PasswordsSeen != 0 {
			t.Errorf("%s: the host was asked to let us in: %+v", name, n)
		}
		t.Logf("%s: %s", name, r.Message)
	}
}
