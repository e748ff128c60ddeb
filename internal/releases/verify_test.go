package releases

import (
	"crypto/ed25519"
	"crypto/rand"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/crypto/ssh"

	"ptyctl/internal/sshsig"
)

func newSigner(t *testing.T) ssh.Signer {
	t.Helper()
	_, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	signer, err := ssh.NewSignerFromKey(private)
	if err != nil {
		t.Fatal(err)
	}
	return signer
}

func write(t *testing.T, path string, text []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, text, 0o644); err != nil {
		t.Fatal(err)
	}
}

// signedRelease makes a folder with files, their sums and a signature.
func signedRelease(t *testing.T, signer ssh.Signer) string {
	t.Helper()
	dir := t.TempDir()
	write(t, filepath.Join(dir, "a.tar.gz"), []byte("archive"))
	write(t, filepath.Join(dir, "manifests", "aur", "PKGBUILD"), []byte("manifest"))
	sums, err := SumFolder(dir)
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, SumsFile), sums.Text())
	signature, err := sshsig.Sign(rand.Reader, signer, Namespace, sums.Text())
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, SignatureFile), signature)
	return dir
}

func TestVerify(t *testing.T) {
	signer := newSigner(t)
	keys := []ssh.PublicKey{newSigner(t).PublicKey(), signer.PublicKey()}
	dir := signedRelease(t, signer)
	elsewhere := filepath.Join(t.TempDir(), "PKGBUILD")
	write(t, elsewhere, []byte("manifest"))
	for _, c := range []struct{ file, sums, name string }{
		{filepath.Join(dir, "a.tar.gz"), "", "a.tar.gz"},
		{filepath.Join(dir, SumsFile), "", ""},
		{filepath.Join(dir, "manifests", "aur", "PKGBUILD"), filepath.Join(dir, SumsFile), "manifests/aur/PKGBUILD"},
		{elsewhere, filepath.Join(dir, SumsFile), "manifests/aur/PKGBUILD"},
	} {
		r, err := Verify(c.file, c.sums, keys)
		if err != nil || r.Name != c.name || r.Size != 2 || !strings.HasSuffix(r.Key, ssh.FingerprintSHA256(signer.PublicKey())) {
			t.Errorf("Verify(%s, %s) = %+v, %v; want %q, signed", c.file, c.sums, r, err, c.name)
		}
	}
	t.Chdir(dir)
	if r, err := Verify("a.tar.gz", "", keys); err != nil || r.Name != "a.tar.gz" {
		t.Errorf("Verify in the folder = %+v, %v", r, err)
	}
}

func TestVerifyRefuses(t *testing.T) {
	signer := newSigner(t)
	for _, c := range []struct {
		name   string
		change func(t *testing.T, dir string)
		file   string
		want   string
	}{
		{"a changed file", func(t *testing.T, dir string) { write(t, filepath.Join(dir, "a.tar.gz"), []byte("archivE")) }, "a.tar.gz", "a.tar.gz was changed: its SHA-256 is "},
		{"a file that is not listed", func(t *testing.T, dir string) { write(t, filepath.Join(dir, "b"), []byte("b")) }, "b", "b is not listed in "},
		{"a listed file under another name", func(t *testing.T, dir string) { write(t, filepath.Join(dir, "b"), []byte("archive")) }, "b", "its contents are those of a.tar.gz there"},
		{"no file", func(t *testing.T, dir string) {}, "c", "no such file"},
		{"a folder", func(t *testing.T, dir string) {}, "manifests", "manifests is a folder: name one of its files"},
		{"no file of a disk", func(t *testing.T, dir string) {
			if err := os.Symlink(os.DevNull, filepath.Join(dir, "null")); err != nil {
				t.Fatal(err)
			}
		}, "null", "null is a device"},
		{"no sums", func(t *testing.T, dir string) { remove(t, filepath.Join(dir, SumsFile)) }, "a.tar.gz", "there is no "},
		{"no signature", func(t *testing.T, dir string) { remove(t, filepath.Join(dir, SignatureFile)) }, "a.tar.gz", "there is no signature "},
		{"a changed list", func(t *testing.T, dir string) {
			write(t, filepath.Join(dir, "a.tar.gz"), []byte("archivE"))
			sums, err := SumFolder(dir)
			if err != nil {
				t.Fatal(err)
			}
			write(t, filepath.Join(dir, SumsFile), sums.Text())
		}, "a.tar.gz", "is not what was signed"},
		{"another key", func(t *testing.T, dir string) {
			text, err := os.ReadFile(filepath.Join(dir, SumsFile))
			if err != nil {
				t.Fatal(err)
			}
			signature, err := sshsig.Sign(rand.Reader, newSigner(t), Namespace, text)
			if err != nil {
				t.Fatal(err)
			}
			write(t, filepath.Join(dir, SignatureFile), signature)
		}, "a.tar.gz", "signed by another key"},
		{"too long a list", func(t *testing.T, dir string) { write(t, filepath.Join(dir, SumsFile), make([]byte, mostSums+1)) }, "a.tar.gz", "more than"},
		{"the list, changed", func(t *testing.T, dir string) { write(t, filepath.Join(dir, SumsFile), []byte("x")) }, SumsFile, "is not what was signed"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := signedRelease(t, signer)
			c.change(t, dir)
			if _, err := Verify(filepath.Join(dir, c.file), "", []ssh.PublicKey{signer.PublicKey()}); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("Verify = %v, want an error with %q", err, c.want)
			}
		})
	}
}

func TestVerifyRefusesAddress(t *testing.T) {
	if _, err := Verify("https://example.com/a.tar.gz", "", nil); err == nil || !strings.Contains(err.Error(), "is an address: download") {
		t.Errorf("Verify of an address = %v, want an error that says to download it", err)
	}
}

func remove(t *testing.T, path string) {
	t.Helper()
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
}

func TestParseSums(t *testing.T) {
	hash := strings.Repeat("aB", 32)
	for _, c := range []struct{ text, want string }{
		{hash + "  a b\n" + hash + " *c\r\n", ""},
		{hash + "  a\n" + hash + "  a\n", "line 2 lists"},
		{hash + " a\n", "line 1"},
		{hash[1:] + "  a\n", "line 1"},
		{"\n", "line 1"},
		{"", "no file"},
		{hash + "  \n", "line 1"},
	} {
		sums, err := ParseSums([]byte(c.text))
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("ParseSums(%q) = %v, %v; want %q", c.text, sums, err, c.want)
		}
	}
}
