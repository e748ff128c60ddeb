package releases

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// The names of the files that a release has besides those that users install.
const (
	SumsFile      = "SHA256SUMS"
	SignatureFile = "SHA256SUMS.sig"
)

// Sums has the SHA-256 of each file of a release, as 64 hexadecimal digits. Its keys are paths with slashes below the
// folder of SHA256SUMS.
type Sums map[string]string

// Text returns the sums in the form of sha256sum(1), sorted by name.
func (s Sums) Text() []byte {
	var b bytes.Buffer
	for _, name := range slices.Sorted(maps.Keys(s)) {
		fmt.Fprintf(&b, "%s  %s\n", s[name], name)
	}
	return b.Bytes()
}

// ParseSums reads the form of sha256sum(1). A name that is listed twice is an error: one of its hashes would be ignored.
func ParseSums(text []byte) (Sums, error) {
	sums := make(Sums)
	number := 0
	for line := range strings.Lines(string(text)) {
		number++
		hash, name, ok := strings.Cut(strings.TrimRight(line, "\r\n"), " ")
		name, marked := strings.CutPrefix(name, " ")
		if !marked {
			name, marked = strings.CutPrefix(name, "*") // sha256sum --binary
		}
		if digits, err := hex.DecodeString(hash); !ok || !marked || name == "" || err != nil || len(digits) != sha256.Size {
			return nil, fmt.Errorf("line %d is not a SHA-256, two blanks and a name", number)
		}
		if _, ok := sums[name]; ok {
			return nil, fmt.Errorf("line %d lists %q again", number, name)
		}
		sums[name] = strings.ToLower(hash)
	}
	if len(sums) == 0 {
		return nil, errors.New("it lists no file")
	}
	return sums, nil
}

// SumFolder returns the sums of all files below a folder but SHA256SUMS and its signature.
func SumFolder(folder string) (Sums, error) {
	sums := make(Sums)
	err := filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name, err := filepath.Rel(folder, path)
		if err != nil {
			return err
		}
		if name == SumsFile || name == SignatureFile {
			return nil
		}
		sums[filepath.ToSlash(name)], err = sumFile(path)
		return err
	})
	return sums, err
}

// Homepage returns the address of the project of the release at url: the repository for a release on GitHub, otherwise
// the folder at url.
func Homepage(url string) string {
	url = strings.TrimSuffix(url, "/")
	if project, _, ok := strings.Cut(url, "/releases/download/"); ok {
		return project
	}
	return url
}

// sumFile returns the SHA-256 of a file.
func sumFile(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}
