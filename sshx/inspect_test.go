package sshx_test

import (
	"crypto/ed25519"
	"crypto/rand"
	"encoding/pem"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"

	"ptyctl/sshx"
	"ptyctl/term"
)

// TestInspect inspects a route over a jump host, with every kind of key file,
// without any connection.
func TestInspect(t *testing.T) {
	home := t.TempDir()
	write := func(name, text string, mode os.FileMode) string {
		t.Helper()
		path := filepath.Join(home, name)
		if err := os.WriteFile(path, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	_, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	signer, err := ssh.NewSignerFromKey(private)
	if err != nil {
		t.Fatal(err)
	}
	plain, err := ssh.MarshalPrivateKey(private, "")
	if err != nil {
		t.Fatal(err)
	}
	sealed, err := ssh.MarshalPrivateKeyWithPassphrase(private, "", []byte("hunter2"))
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	cert := &ssh.Certificate{
		Key: signer.PublicKey(), CertType: ssh.UserCert, KeyId: "me", ValidPrincipals: []string{"deploy"},
		ValidAfter: uint64(now.Add(-2 * time.Hour).Unix()), ValidBefore: uint64(now.Add(-time.Hour).Unix()),
	}
	if err := cert.SignCert(rand.Reader, signer); err != nil {
		t.Fatal(err)
	}
	text := string(pem.EncodeToMemory(plain))
	good := write("good", text, 0o600)
	write("good-cert.pub", string(ssh.MarshalAuthorizedKey(cert)), 0o644)
	locked := write("locked", string(pem.EncodeToMemory(sealed)), 0o600)
	open := write("open", text, 0o644)
	public := write("public.pub", string(ssh.MarshalAuthorizedKey(signer.PublicKey())), 0o644)
	garbage := write("garbage", "PuTTY-User-Key-File-3: ssh-ed25519\n", 0o600)
	config := write("config", fmt.Sprintf(`Host web
  HostName 192.0.2.1
  User deploy
  ProxyJump gate
  IdentityFile %s
  IdentityFile %s
  IdentityFile %s
  IdentityFile %s
  IdentityFile %s
  IdentityFile %s/missing
Host tunnel
  ProxyJump gate
  Tunnel yes
`, good, locked, open, public, garbage, home), 0o600)
	o := sshx.Options{ConfigPath: config, HomeDir: home, IdentityAgent: "none"}

	in, err := sshx.Inspect(t.Context(), term.Target{Host: "web", Port: 2222}, o)
	if err != nil {
		t.Fatal(err)
	}
	if len(in.Way) != 2 || !strings.HasSuffix(in.Way[0], "@gate:22") || in.Way[1] != "deploy@192.0.2.1:2222" {
		t.Errorf("the way is %q", in.Way)
	}
	if len(in.Hosts) != 2 || in.Hosts[0].Name != "web" || in.Hosts[1].Name != "gate" || !in.Hosts[0].Planned() ||
		!in.Hosts[1].Planned() {
		t.Fatalf("the hosts are %+v", in.Hosts)
	}
	if at := in.Hosts[0].Config.Origin("User"); at.File != config || at.Line != 3 {
		t.Errorf("User is set at %v", at)
	}
	for _, s := range in.Hosts[0].Config.Settings() {
		if s.Keyword == "IdentityFile" && (len(s.Values) != 6 || s.Values[5].Origin.Line != 10) {
			t.Errorf("IdentityFile is %+v", s.Values)
		}
	}

	ids, agentErr := in.Hosts[0].Identities(t.Context())
	if agentErr != nil {
		t.Error(agentErr)
	}
	fingerprint := ssh.FingerprintSHA256(signer.PublicKey())
	want := []struct{ from, fingerprint, problem string }{
		{"good", fingerprint, ""},
		{"good-cert.pub", fingerprint, "expired on"},
		{"locked", fingerprint, ""},
		{"open", fingerprint, "chmod 600"},
		{"public.pub", fingerprint, "public half"},
		{"garbage", "", "PuTTY"},
		{"missing", "", "does not exist"},
	}
	if len(ids) != len(want) {
		t.Fatalf("%d keys, want %d: %+v", len(ids), len(want), ids)
	}
	for i, w := range want {
		id := ids[i]
		if filepath.Base(id.From) != w.from || id.Fingerprint != w.fingerprint || (id.Problem == "") != (w.problem == "") ||
			!strings.Contains(id.Problem, w.problem) {
			t.Errorf("key %d is %+v, want %+v", i, id, w)
		}
	}
	if !ids[2].Encrypted || ids[0].Encrypted {
		t.Error("the wrong key is said to be encrypted")
	}
	if c := ids[1].Certificate; c == nil || c.KeyID != "me" || !slices.Equal(c.Principals, []string{"deploy"}) ||
		c.Authority != fingerprint {
		t.Errorf("the certificate is %+v", c)
	}
	if all := fmt.Sprintf("%+v", ids); strings.Contains(all, strings.Split(text, "\n")[2]) {
		t.Error("a key is shown")
	}

	// The inspection of a refused target must have the hosts found before the
	// refusal.
	in, err = sshx.Inspect(t.Context(), term.Target{Host: "tunnel"}, o)
	if err == nil || len(in.Hosts) != 1 || in.Hosts[0].Planned() || len(in.Hosts[0].Config.Unsupported) != 1 ||
		in.Way != nil {
		t.Errorf("refused with %v: %+v", err, in)
	}
	if ids, err := in.Hosts[0].Identities(t.Context()); ids != nil || err != nil {
		t.Errorf("a host that is not planned has keys: %v, %v", ids, err)
	}
	refused := term.Target{Host: "web", SSH: term.SSHOptions{ExtraArgs: []string{"-L", "1:2:3"}}}
	if in, err := sshx.Inspect(t.Context(), refused, o); err == nil ||
		len(in.Hosts) != 0 {
		t.Errorf("extra_args: %v, %+v", err, in)
	}
}
