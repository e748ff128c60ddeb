package sshsig

import (
	"bytes"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/crypto/ssh"
)

const namespace = "test-space"

// keygen runs ssh-keygen, and returns its output.
func keygen(t *testing.T, input []byte, words ...string) (string, error) {
	t.Helper()
	cmd := exec.Command("ssh-keygen", words...)
	cmd.Stdin = bytes.NewReader(input)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// newKey has ssh-keygen make a key and returns its file and the signer.
func newKey(t *testing.T, words ...string) (string, ssh.Signer) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "key")
	if out, err := keygen(t, nil, append([]string{"-q", "-N", "", "-f", file}, words...)...); err != nil {
		t.Fatalf("ssh-keygen %q: %v\n%s", words, err, out)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	signer, err := ssh.ParsePrivateKey(text)
	if err != nil {
		t.Fatal(err)
	}
	return file, signer
}

// accepts has ssh-keygen check a signature.
func accepts(t *testing.T, key ssh.PublicKey, signature, message []byte) (string, error) {
	t.Helper()
	dir := t.TempDir()
	signers, file := filepath.Join(dir, "allowed_signers"), filepath.Join(dir, "signature")
	for path, text := range map[string][]byte{signers: append([]byte("release "), ssh.MarshalAuthorizedKey(key)...), file: signature} {
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return keygen(t, message, "-Y", "verify", "-f", signers, "-I", "release", "-n", namespace, "-s", file)
}

// TestKeygen has ssh-keygen check the signatures of Sign, and Verify those of ssh-keygen, with each type of key.
func TestKeygen(t *testing.T) {
	message := []byte("the checksums\nof a release\n")
	for _, words := range [][]string{{"-t", "ed25519"}, {"-t", "rsa", "-b", "2048"}, {"-t", "ecdsa"}} {
		file, signer := newKey(t, words...)
		key := signer.PublicKey()
		ours, err := Sign(rand.Reader, signer, namespace, message)
		if err != nil {
			t.Fatalf("Sign with %q: %v", words, err)
		}
		if out, err := accepts(t, key, ours, message); err != nil {
			t.Errorf("ssh-keygen refuses the signature of Sign with %q: %v\n%s", words, err, out)
		}
		if out, err := accepts(t, key, ours, []byte("another")); err == nil {
			t.Errorf("ssh-keygen accepts another message: %s", out)
		}
		path := filepath.Join(t.TempDir(), "message")
		if err := os.WriteFile(path, message, 0o600); err != nil {
			t.Fatal(err)
		}
		for _, hash := range []string{"sha512", "sha256"} {
			if out, err := keygen(t, nil, "-Y", "sign", "-O", "hashalg="+hash, "-f", file, "-n", namespace, path); err != nil {
				t.Fatalf("ssh-keygen -Y sign: %v\n%s", err, out)
			}
			theirs, err := os.ReadFile(path + ".sig")
			if err != nil {
				t.Fatal(err)
			}
			if got, err := Verify(theirs, namespace, message, []ssh.PublicKey{key}); err != nil || !bytes.Equal(got.Marshal(), key.Marshal()) {
				t.Errorf("Verify of ssh-keygen's signature with %q and %s: %v", words, hash, err)
			}
			if err := os.Remove(path + ".sig"); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// securityKey is a security key in software: its signatures have the form of PROTOCOL.u2f.
type securityKey struct {
	private ed25519.PrivateKey
	public  ssh.PublicKey
	flags   byte
}

const application = "ssh:test"

func newSecurityKey(t *testing.T, flags byte) *securityKey {
	t.Helper()
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	key, err := ssh.ParsePublicKey(ssh.Marshal(struct {
		Type        string
		Key         []byte
		Application string
	}{ssh.KeyAlgoSKED25519, public, application}))
	if err != nil {
		t.Fatal(err)
	}
	return &securityKey{private, key, flags}
}

func (k *securityKey) PublicKey() ssh.PublicKey { return k.public }

// Sign signs as the agent of a security key does.
func (k *securityKey) Sign(_ io.Reader, data []byte) (*ssh.Signature, error) {
	app, sum := sha256.Sum256([]byte(application)), sha256.Sum256(data)
	rest := []byte{k.flags, 0, 0, 0, 7} // and a counter
	return &ssh.Signature{
		Format: ssh.KeyAlgoSKED25519, Blob: ed25519.Sign(k.private, bytes.Join([][]byte{app[:], rest, sum[:]}, nil)), Rest: rest,
	}, nil
}

func TestSecurityKey(t *testing.T) {
	message := []byte("text")
	k := newSecurityKey(t, userPresent)
	text, err := Sign(rand.Reader, k, namespace, message)
	if err != nil {
		t.Fatal(err)
	}
	if out, err := accepts(t, k.public, text, message); err != nil {
		t.Fatalf("ssh-keygen refuses the signature: %v\n%s", err, out)
	}
	if _, err := Verify(text, namespace, message, []ssh.PublicKey{k.public}); err != nil {
		t.Errorf("Verify of a security key's signature: %v", err)
	}
	k.flags = 0
	if _, err := Sign(rand.Reader, k, namespace, message); err == nil || !strings.Contains(err.Error(), "touch") {
		t.Errorf("Sign without a touch: %v, want an error that says so", err)
	}
}

func TestVerifyRefuses(t *testing.T) {
	message := []byte("text")
	_, signer := newKey(t, "-t", "ed25519")
	_, other := newKey(t, "-t", "ed25519")
	_, rsaKey := newKey(t, "-t", "rsa", "-b", "1024")
	keys := []ssh.PublicKey{signer.PublicKey()}
	good, err := Sign(rand.Reader, signer, namespace, message)
	if err != nil {
		t.Fatal(err)
	}
	damaged := func(change func(*blob)) []byte {
		b, err := decode(good)
		if err != nil {
			t.Fatal(err)
		}
		change(&b)
		return b.encode()
	}
	for _, c := range []struct {
		name      string
		text      []byte
		namespace string
		message   string
		keys      []ssh.PublicKey
		is        error
		want      string
	}{
		{"another message", good, namespace, "texT", keys, ErrMismatch, "does not match"},
		{"another key", good, namespace, "text", []ssh.PublicKey{other.PublicKey()}, ErrOtherKey, ssh.FingerprintSHA256(other.PublicKey())},
		{"no key", good, namespace, "text", nil, ErrOtherKey, ""},
		{"another namespace", good, "file", "text", keys, nil, `for the namespace "test-space", want "file"`},
		{"the namespace changed", damaged(func(b *blob) { b.Namespace = "file" }), "file", "text", keys, ErrMismatch, ""},
		{"the hash changed", damaged(func(b *blob) { b.Hash = "sha256" }), namespace, "text", keys, ErrMismatch, ""},
		{"an unknown hash", damaged(func(b *blob) { b.Hash = "md5" }), namespace, "text", keys, nil, "md5"},
		{"an unknown version", damaged(func(b *blob) { b.Version = 2 }), namespace, "text", keys, nil, "version 2"},
		{"another key claimed", damaged(func(b *blob) { b.PublicKey = other.PublicKey().Marshal() }), namespace, "text", []ssh.PublicKey{other.PublicKey()}, ErrMismatch, ""},
		{"a short RSA key", damaged(func(b *blob) { b.PublicKey = rsaKey.PublicKey().Marshal() }), namespace, "text", keys, nil, "too short"},
		{"no key in it", damaged(func(b *blob) { b.PublicKey = nil }), namespace, "text", keys, nil, "cannot be read"},
		{"no signature in it", damaged(func(b *blob) { b.Signature = nil }), namespace, "text", keys, nil, "damaged"},
		{"text before it", append([]byte("x\n"), good...), namespace, "text", keys, nil, "no SSH signature"},
		{"text behind it", append(bytes.Clone(good), "x"...), namespace, "text", keys, nil, "more behind"},
		{"half of it", good[:len(good)/2], namespace, "text", keys, nil, "no SSH signature"},
		{"nothing", nil, namespace, "text", keys, nil, "no SSH signature"},
	} {
		_, err := Verify(c.text, c.namespace, []byte(c.message), c.keys)
		if err == nil || c.is != nil && !errors.Is(err, c.is) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: Verify = %v, want %v with %q", c.name, err, c.is, c.want)
		}
	}
	if _, err := Sign(rand.Reader, signer, "", message); err == nil {
		t.Error("Sign without a namespace succeeds, want an error")
	}
}

// TestSHA1 makes an RSA signature as ssh-rsa, which hashes with SHA-1.
func TestSHA1(t *testing.T) {
	_, signer := newKey(t, "-t", "rsa", "-b", "2048")
	b := blob{Version: version, PublicKey: signer.PublicKey().Marshal(), Namespace: namespace, Hash: "sha512"}
	data, err := b.signedData([]byte("text"))
	if err != nil {
		t.Fatal(err)
	}
	signature, err := signer.(ssh.AlgorithmSigner).SignWithAlgorithm(rand.Reader, data, ssh.KeyAlgoRSA)
	if err != nil {
		t.Fatal(err)
	}
	b.Signature = ssh.Marshal(signature)
	if _, err := Verify(b.encode(), namespace, []byte("text"), []ssh.PublicKey{signer.PublicKey()}); err == nil || !strings.Contains(err.Error(), "ssh-rsa") {
		t.Errorf("Verify of ssh-rsa: %v, want an error that names it", err)
	}
}

func TestParseKeys(t *testing.T) {
	_, signer := newKey(t, "-t", "ed25519")
	line := strings.TrimSpace(string(ssh.MarshalAuthorizedKey(signer.PublicKey())))
	for _, c := range []struct {
		text  string
		count int
		err   string
	}{
		{line, 1, ""},
		{line + " a comment of words\n", 1, ""},
		{"# comment\n\n  \n" + line + "\r\n" + line, 2, ""},
		{"release " + line, 1, ""},
		{"a@example.com,b\t" + line, 1, ""},
		{`release namespaces="file,test-space" ` + line, 1, ""},
		{`release NAMESPACES="test-space" ` + line, 1, ""},
		{`namespaces="test-space" ` + line, 1, ""},
		{"# only a comment\n", 0, ""},
		{"", 0, ""},
		{`release namespaces="file" ` + line, 0, `not for "test-space"`},
		{`release valid-before="20300101" ` + line, 0, "valid-before"},
		{`release namespaces="test-space",cert-authority ` + line, 0, "cert-authority"},
		{"cert-authority " + line, 0, "cert-authority"},
		{`command="echo a b" ` + line, 0, "command"},
		{"a b c " + line, 0, "3 words"},
		{"ssh-ed25519", 0, "no public key"},
		{"ssh-rsa " + strings.Fields(line)[1], 0, "no public key"},
		{"ssh-ed25519 " + base64.StdEncoding.EncodeToString([]byte("x")), 0, "no public key"},
		{line + "\n-----BEGIN OPENSSH PRIVATE KEY-----\n", 0, "line 2: it is a private key"},
	} {
		keys, err := ParseKeys([]byte(c.text), namespace)
		if len(keys) != c.count || (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
			t.Errorf("ParseKeys(%q) = %d keys, %v; want %d and %q", c.text, len(keys), err, c.count, c.err)
		}
	}
}

// FuzzVerify looks for signatures that make Verify fail otherwise than by an error, or that it takes for another message.
func FuzzVerify(f *testing.F) {
	_, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		f.Fatal(err)
	}
	signer, err := ssh.NewSignerFromKey(private)
	if err != nil {
		f.Fatal(err)
	}
	good, err := Sign(rand.Reader, signer, namespace, []byte("text"))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(good)
	f.Add([]byte("-----BEGIN SSH SIGNATURE-----\nU1NIU0lH\n-----END SSH SIGNATURE-----\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		if _, err := Verify(text, namespace, []byte("another"), []ssh.PublicKey{signer.PublicKey()}); err == nil {
			t.Errorf("Verify takes %q for another message", text)
		}
	})
}
