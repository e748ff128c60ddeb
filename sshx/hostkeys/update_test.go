package hostkeys

import (
	"crypto/rand"
	"net"
	"os"
	"slices"
	"strings"
	"testing"

	"golang.org/x/crypto/ssh"
)

func public(signers ...ssh.Signer) []ssh.PublicKey {
	var keys []ssh.PublicKey
	for _, s := range signers {
		keys = append(keys, s.PublicKey())
	}
	return keys
}

func sshString(b []byte) []byte { return ssh.Marshal(struct{ B []byte }{b}) }

func TestParseHostKeys(t *testing.T) {
	k := keys()
	announce := func(blobs ...[]byte) []byte {
		var b []byte
		for _, blob := range blobs {
			b = append(b, sshString(blob)...)
		}
		return b
	}
	ed, rs := k.ed.PublicKey().Marshal(), k.rsa.PublicKey().Marshal()
	many := make([][]byte, maxAnnounced+1)
	for _, c := range []struct {
		name    string
		payload []byte
		want    int
		bad     bool
	}{
		{"none", nil, 0, false},
		{"two", announce(ed, rs), 2, false},
		{"a certificate and an unknown type", announce(hostCert(t, k.ca, k.ed, nil, "server").PublicKey().Marshal(), sshString([]byte("ssh-new")), ed), 1, false},
		{"twice the same", announce(ed, ed), 0, true},
		{"cut", announce(ed)[:20], 0, true},
		{"three bytes", []byte{0, 0, 1}, 0, true},
		{"huge length", []byte{0xff, 0xff, 0xff, 0xff, 1}, 0, true},
		{"too many", announce(many...), 0, true},
	} {
		got, err := ParseHostKeys(c.payload)
		if len(got) != c.want || (err != nil) != c.bad {
			t.Errorf("%s: %d keys, %v", c.name, len(got), err)
		}
	}
}

// prove returns a server's proof; each key signs with the given algorithm ("" for its own).
func prove(t *testing.T, sessionID string, algorithm string, signers ...ssh.Signer) []byte {
	t.Helper()
	var answer []byte
	for _, s := range signers {
		data := append(append(sshString([]byte("hostkeys-prove-00@openssh.com")), sshString([]byte(sessionID))...),
			sshString(s.PublicKey().Marshal())...)
		alg := ""
		if s.PublicKey().Type() == ssh.KeyAlgoRSA {
			alg = algorithm
		}
		sig, err := s.(ssh.AlgorithmSigner).SignWithAlgorithm(rand.Reader, data, alg)
		if err != nil {
			t.Fatal(err)
		}
		answer = append(answer, sshString(ssh.Marshal(sig))...)
	}
	return answer
}

func TestVerifyProof(t *testing.T) {
	k := keys()
	all := public(k.ed, k.ecdsa, k.rsa)
	good := prove(t, "id", ssh.KeyAlgoRSASHA512, k.ed, k.ecdsa, k.rsa)
	if got := string(ProveRequest(all)); got != string(
		sshString(all[0].Marshal()),
	)+string(
		sshString(all[1].Marshal()),
	)+string(
		sshString(all[2].Marshal()),
	) {
		t.Error("the request is not one string for each key")
	}
	for _, c := range []struct {
		name      string
		answer    []byte
		session   string
		algorithm string
		want      int
		bad       bool
	}{
		{"good", good, "id", ssh.KeyAlgoED25519, 3, false},
		{"good, RSA exchange", good, "id", ssh.KeyAlgoRSASHA512, 3, false},
		{"another session", good, "di", ssh.KeyAlgoED25519, 0, true},
		{"RSA by another algorithm than the exchange", good, "id", ssh.KeyAlgoRSASHA256, 2, false},
		{"RSA with SHA-1", prove(t, "id", ssh.KeyAlgoRSA, k.ed, k.ecdsa, k.rsa), "id", ssh.KeyAlgoED25519, 2, false},
		{"RSA with SHA-1, as the exchange", prove(t, "id", ssh.KeyAlgoRSA, k.ed, k.ecdsa, k.rsa), "id", ssh.KeyAlgoRSA, 3, false},
		{"another order", prove(t, "id", ssh.KeyAlgoRSASHA512, k.ecdsa, k.ed, k.rsa), "id", ssh.KeyAlgoED25519, 0, true},
		{"another's signature", prove(t, "id", "", k.otherEd, k.ecdsa, k.ed), "id", ssh.KeyAlgoED25519, 0, true},
		{"one too few", prove(t, "id", "", k.ed, k.ecdsa), "id", ssh.KeyAlgoED25519, 0, true},
		{"one too many", append(slices.Clip(good), sshString(nil)...), "id", ssh.KeyAlgoED25519, 0, true},
		{"cut", good[:len(good)-1], "id", ssh.KeyAlgoED25519, 0, true},
		{"empty signature", sshString(nil), "id", ssh.KeyAlgoED25519, 0, true},
		{"nothing", nil, "id", ssh.KeyAlgoED25519, 0, true},
	} {
		got, err := VerifyProof(c.answer, []byte(c.session), all, c.algorithm)
		if len(got) != c.want || (err != nil) != c.bad {
			t.Errorf("%s: %d keys, %v", c.name, len(got), err)
		}
	}
}

func mode(t *testing.T, name string) os.FileMode {
	t.Helper()
	info, err := os.Stat(name)
	if err != nil {
		t.Fatal(err)
	}
	return info.Mode().Perm()
}

func TestUpdate(t *testing.T) {
	k := keys()
	ed, ec, rs, old := text(k.ed), text(k.ecdsa), text(k.rsa), text(k.otherEd)
	for _, c := range []struct {
		name    string
		before  string
		second  string // the second user file
		server  []ssh.Signer
		proven  []ssh.Signer
		after   string
		second2 string
		skipped bool
	}{
		{name: "nothing to do", before: "server " + ed + "\n", server: []ssh.Signer{k.ed}, after: "server " + ed + "\n"},
		{
			name: "a new key", before: "server " + ed, server: []ssh.Signer{k.ed, k.rsa}, proven: []ssh.Signer{k.rsa},
			after: "server " + ed + "\nserver " + rs + "\n",
		},
		{name: "not proven", before: "server " + ed + "\n", server: []ssh.Signer{k.ed, k.rsa}, after: "server " + ed + "\n"},
		{
			name:   "an old key goes, foreign lines stay byte for byte",
			before: "# me\r\n\n  server " + old + " old\nserver " + ed + " mine\nbad line\n\tother " + rs + "\r\n@nonsense x\nlast",
			server: []ssh.Signer{k.ed, k.ecdsa}, proven: []ssh.Signer{k.ecdsa},
			after: "# me\r\n\nserver " + ed + " mine\nbad line\n\tother " + rs + "\r\n@nonsense x\nlast\nserver " + ec + "\n",
		},
		{
			name: "two files", before: "server " + ed + "\n", second: "server " + old + "\nother " + rs + "\n", server: []ssh.Signer{k.ed},
			after: "server " + ed + "\n", second2: "other " + rs + "\n",
		},
		{name: "pattern", before: "server " + ed + "\nserv* " + old + "\n", server: []ssh.Signer{k.ed}, skipped: true},
		{name: "list", before: "server,a,b " + ed + "\n", server: []ssh.Signer{k.ed, k.rsa}, proven: []ssh.Signer{k.rsa}, skipped: true},
		{name: "marker", before: "server " + ed + "\n@revoked server " + old + "\n", server: []ssh.Signer{k.ed, k.rsa}, skipped: true},
		{
			name: "other name of a new key", before: "server " + ed + "\nother " + rs + "\n", server: []ssh.Signer{k.ed, k.rsa},
			proven: []ssh.Signer{k.rsa}, skipped: true,
		},
		{name: "other name of an old key", before: "server " + ed + "\nserver " + old + "\nother " + old + "\n", server: []ssh.Signer{k.ed}, skipped: true},
		{name: "the key in use is not announced", before: "server " + ed + "\n", server: []ssh.Signer{k.rsa}, proven: []ssh.Signer{k.rsa}, skipped: true},
		{name: "a short key", before: "server " + ed + "\n", server: []ssh.Signer{k.ed, k.rsa1024}, proven: []ssh.Signer{k.rsa1024}, after: "server " + ed + "\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := Options{UserFiles: []string{writeLines(t), writeLines(t)}, RequiredRSASize: 2048}
			for i, s := range []string{c.before, c.second} {
				if err := os.WriteFile(o.UserFiles[i], []byte(s), 0o600); err != nil {
					t.Fatal(err)
				}
				if err := os.Chmod(o.UserFiles[i], 0o644); err != nil {
					t.Fatal(err)
				}
			}
			modeBefore := mode(t, o.UserFiles[0])
			v := verifier(t, 22, o)
			if err := verify(t, v, k.ed); err != nil {
				t.Fatal(err)
			}
			u, err := v.ApplyUpdate(public(c.server...), public(c.proven...))
			if err != nil {
				t.Fatal(err)
			}
			if (u.Skipped != "") != c.skipped {
				t.Errorf("skipped: %q", u.Skipped)
			}
			if c.skipped {
				c.after, c.second2 = c.before, c.second
			}
			if got := read(t, o.UserFiles[0]); got != c.after {
				t.Errorf("the file is\n%q, want\n%q", got, c.after)
			}
			if got := read(t, o.UserFiles[1]); got != c.second2 {
				t.Errorf("the second file is\n%q, want\n%q", got, c.second2)
			}
			if got := mode(t, o.UserFiles[0]); got != modeBefore {
				t.Errorf("the mode went from %o to %o", modeBefore, got)
			}
		})
	}
}

// TestUpdateNeedsTrust: an announcement must have an effect only from a server with a key
// that a person once confirmed.
func TestUpdateNeedsTrust(t *testing.T) {
	k := keys()
	global := writeLines(t, "server "+text(k.ed))
	for _, c := range []struct {
		name string
		port int
		o    Options
		line string
	}{
		{"global file", 22, Options{GlobalFiles: []string{global}}, ""},
		{"just added", 22, Options{Policy: AcceptNew}, ""},
		{"changed", 22, Options{Policy: Disabled}, "server " + text(k.otherEd)},
		{"pinned", 22, Options{Fingerprint: fingerprint(k.ed)}, "server " + text(k.ed)},
		{"known without the port", 2201, Options{}, "server " + text(k.ed)},
	} {
		v := verifier(t, c.port, c.o, c.line)
		u, err := v.PlanUpdate(public(k.ed, k.rsa))
		if err != nil || u.Skipped == "" {
			t.Errorf("%s: before any key was accepted: %+v, %v", c.name, u, err)
		}
		if err := verify(t, v, k.ed); err != nil {
			t.Fatal(c.name, err)
		}
		before := read(t, v.o.UserFiles[0])
		u, err = v.ApplyUpdate(public(k.ed, k.rsa), public(k.rsa))
		if err != nil || u.Skipped == "" || len(u.New) != 0 {
			t.Errorf("%s: %+v, %v", c.name, u, err)
		}
		if read(t, v.o.UserFiles[0]) != before {
			t.Errorf("%s: the file was changed", c.name)
		}
	}
	for _, c := range []struct {
		name string
		ip   string
		user string
	}{
		{"known by the global file, another key in the user's", "", "server " + text(k.otherEd)},
		{"CheckHostIP", "192.0.2.7", "server,192.0.2.7 " + text(k.ed)},
	} {
		v, err := NewVerifier("server", 22, net.ParseIP(c.ip), Options{
			UserFiles: []string{writeLines(t, c.user)}, GlobalFiles: []string{global}, CheckIP: true,
		})
		if err != nil {
			t.Fatal(err)
		}
		if err := verify(t, v, k.ed); err != nil {
			t.Fatal(c.name, err)
		}
		if u, err := v.PlanUpdate(public(k.ed, k.rsa)); err != nil || u.Skipped == "" {
			t.Errorf("%s: %+v, %v", c.name, u, err)
		}
	}
	v := verifier(t, 22, Options{}, "server "+text(k.ed))
	if err := verify(t, v, k.ed); err != nil {
		t.Fatal(err)
	}
	if u, err := v.PlanUpdate(public(k.ed, k.rsa)); err != nil || u.Skipped != "" || len(u.New) != 1 ||
		!strings.HasPrefix(u.New[0].Type(), "ssh-rsa") {
		t.Errorf("a known host: %+v, %v", u, err)
	}
}
