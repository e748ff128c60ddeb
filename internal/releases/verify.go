package releases

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"golang.org/x/crypto/ssh"

	"ptyctl/internal/sshsig"
)

// Namespace is the namespace of the signature of SHA256SUMS: ssh-keygen -Y verify -n ptyctl-release. A signature that
// the key has made for another purpose does not sign a release.
const Namespace = "ptyctl-release"

// Keys reads the public keys of maintainers: lines of authorized_keys or of allowed_signers.
func Keys(text []byte) ([]ssh.PublicKey, error) { return sshsig.ParseKeys(text, Namespace) }

// A Report has the findings of Verify.
type Report struct {
	Name string // of the file in SHA256SUMS; "" if SHA256SUMS itself was checked
	SHA  string // the file's SHA-256, as 64 hexadecimal digits
	Sums string // path of SHA256SUMS
	Key  string // type and fingerprint of the key that has signed
	Size int    // files that SHA256SUMS lists
}

// The most that is read of SHA256SUMS and its signature, in bytes.
const mostSums, mostSignature = 1 << 20, 64 << 10

// Verify checks first the signature of SHA256SUMS, and then the hash of a file. The path of SHA256SUMS is sums; if that is
// "", it is beside the file. Its signature is beside it. If the file is SHA256SUMS itself, there is no hash to check.
func Verify(file, sums string, keys []ssh.PublicKey) (r Report, err error) {
	itself := sums == "" && filepath.Base(file) == SumsFile
	r.Sums = sums
	if sums == "" {
		r.Sums = filepath.Join(filepath.Dir(file), SumsFile)
	}
	// Checked first: a wrong path has nothing to do with signatures.
	switch info, err := os.Stat(file); {
	case err != nil && strings.Contains(file, "://"):
		return r, fmt.Errorf("%s is an address: download the file, SHA256SUMS and SHA256SUMS.sig, and name the file", file)
	case err != nil:
		return r, err
	case info.IsDir():
		return r, fmt.Errorf("%s is a folder: name one of its files, or its SHA256SUMS", file)
	case !info.Mode().IsRegular(): // reading it might never end
		return r, fmt.Errorf("%s is a device, a pipe or a socket: name a file of a release", file)
	}
	text, err := readAtMost(r.Sums, mostSums)
	if errors.Is(err, fs.ErrNotExist) {
		return r, fmt.Errorf("there is no %s: download it from the same place as %s, or name it with --sums", r.Sums, filepath.Base(file))
	}
	if err != nil {
		return r, err
	}
	signature, err := readAtMost(r.Sums+".sig", mostSignature)
	if errors.Is(err, fs.ErrNotExist) {
		return r, fmt.Errorf("there is no signature %s.sig: download it from the same place as %s; a release without one was not signed", r.Sums, filepath.Base(r.Sums))
	}
	if err != nil {
		return r, err
	}
	key, err := sshsig.Verify(signature, Namespace, text, keys)
	switch {
	case errors.Is(err, sshsig.ErrMismatch):
		return r, fmt.Errorf("%s is not what was signed: one of it and %[1]s.sig was changed, or is of another release (%w)", r.Sums, err)
	case err != nil:
		return r, fmt.Errorf("%s.sig: %w", r.Sums, err)
	}
	r.Key = key.Type() + " " + ssh.FingerprintSHA256(key)
	list, err := ParseSums(text)
	if err != nil {
		return r, fmt.Errorf("%s: %w", r.Sums, err)
	}
	r.Size = len(list)
	if r.SHA, err = sumFile(file); err != nil || itself {
		return r, err
	}
	r.Name, err = list.check(file, r.Sums, r.SHA)
	return r, err
}

// check finds a file in the list and compares its hash. It returns the name in the list.
func (s Sums) check(file, sums, hash string) (string, error) {
	name, ok := s.find(file, sums)
	if !ok {
		for other, h := range s {
			if h == hash {
				return "", fmt.Errorf("%s is not listed in %s; its contents are those of %s there: give it that name", file, sums, other)
			}
		}
		return "", fmt.Errorf("%s is not listed in %s", file, sums)
	}
	if want := s[name]; want != hash {
		return "", fmt.Errorf("%s was changed: its SHA-256 is %s, and %s, which is signed, has %s", file, hash, sums, want)
	}
	return name, nil
}

// find returns the name under which a file is listed: its path below the folder of SHA256SUMS, or else the one name in the
// list that ends in the file's.
func (s Sums) find(file, sums string) (string, bool) {
	a, errA := filepath.Abs(file)
	b, errB := filepath.Abs(filepath.Dir(sums))
	if errA == nil && errB == nil {
		if rel, err := filepath.Rel(b, a); err == nil {
			if rel = filepath.ToSlash(rel); s[rel] != "" {
				return rel, true
			}
		}
	}
	found := ""
	for name := range s {
		if path.Base(name) == filepath.Base(file) {
			if found != "" {
				return "", false
			}
			found = name
		}
	}
	return found, found != ""
}

// readAtMost reads a file that must be small.
func readAtMost(path string, most int64) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, most+1))
	if err == nil && int64(len(text)) > most {
		err = fmt.Errorf("%s has more than %d bytes: it is no %s", path, most, filepath.Base(path))
	}
	return text, err
}
