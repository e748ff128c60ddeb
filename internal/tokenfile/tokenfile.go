// Package tokenfile changes a file of tokens of the HTTP transport (server.http.tokens_file): it adds an entry, and takes
// one out. Comments and other entries stay as they are.
//
//	value, err := tokenfile.Add(path, "ci", "read", time.Now().AddDate(0, 0, 90))
//
// The file gets the SHA-256 of a value, never the value.
package tokenfile

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"ptyctl/config"
	"ptyctl/internal/atomicfile"
	"ptyctl/internal/rundir"
)

// valueBytes is how many random bytes a value has.
const valueBytes = 32

// lockWait limits the wait for another change of the file, which takes a few system calls.
const lockWait = 3 * time.Second

// locked lets one process at a time change a file: otherwise entries of the others would be lost.
func locked(path string, change func() error) error {
	lock := path + ".lock"
	unlock, err := rundir.Lock(context.Background(), lock, lockWait)
	if err != nil {
		return fmt.Errorf("%s cannot be locked: %w", path, err)
	}
	defer func() {
		_ = os.Remove(lock) // Windows keeps it: it is open
		unlock()
	}()
	return change()
}

// Add writes an entry for a new random value, and returns the value: 43 characters, as RFC 6750 allows them. It makes a
// missing file, and its folder, for its user alone. expires may be zero: never.
func Add(path, name, role string, expires time.Time) (value string, err error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return "", err
	}
	err = locked(path, func() (err error) {
		value, err = add(path, name, role, expires)
		return err
	})
	return value, err
}

func add(path, name, role string, expires time.Time) (value string, err error) {
	text, tokens, err := read(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	if slices.ContainsFunc(tokens, func(t config.Token) bool { return t.Name == name }) {
		return "", fmt.Errorf("%s has a token %s already; choose another name, or revoke it first", path, name)
	}
	var random [valueBytes]byte
	if _, err := rand.Read(random[:]); err != nil {
		return "", err
	}
	value = base64.RawURLEncoding.EncodeToString(random[:])
	entry, err := config.HashedToken(name, role, []byte(value), expires)
	if err != nil {
		return "", err
	}
	if len(text) > 0 && !bytes.HasSuffix(text, []byte("\n")) {
		text = append(text, '\n')
	}
	if err := write(path, append(text, entry+"\n"...)); err != nil {
		return "", err
	}
	return value, nil
}

// Revoke takes the entry of a name out.
func Revoke(path, name string) error {
	if _, err := os.Stat(path); err != nil { // and make no lock
		return err
	}
	return locked(path, func() error { return revoke(path, name) })
}

func revoke(path, name string) error {
	text, tokens, err := read(path)
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(tokens, func(t config.Token) bool { return t.Name == name }) {
		return fmt.Errorf("%s has no token %s; `ptyctl tokens list` shows those that it has", path, name)
	}
	var out strings.Builder
	for line := range strings.Lines(string(text)) {
		entries := strings.Fields(line)
		i := slices.IndexFunc(entries, func(e string) bool { return strings.HasPrefix(e, name+":") })
		switch {
		case i < 0 || strings.HasPrefix(entries[0], "#"):
			out.WriteString(line)
		case len(entries) > 1:
			out.WriteString(strings.Join(slices.Delete(entries, i, i+1), " ") + "\n")
		}
	}
	return write(path, []byte(out.String()))
}

// List returns the tokens of a file.
func List(path string) ([]config.Token, error) {
	_, tokens, err := read(path)
	return tokens, err
}

func read(path string) ([]byte, []config.Token, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, nil, err
	}
	tokens, err := config.ParseTokens(string(text))
	if err != nil {
		return nil, nil, fmt.Errorf("%s %w", path, err)
	}
	return text, tokens, nil
}

// write replaces the file at once, with the mode that the server demands. Where a link leads to it, the link stays.
func write(path string, text []byte) error {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	return atomicfile.Replace(path, text, 0o600, nil)
}
