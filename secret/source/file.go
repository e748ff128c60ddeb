package source

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"filippo.io/age"
	"filippo.io/age/armor"

	"ptyctl/internal/locked"
)

// file is file:.
type file struct{ path string }

func newFile(rest string, o Options) (Source, error) {
	path, err := o.absolute(rest)
	return file{path}, err
}

func (f file) Fetch(context.Context) ([]byte, error) {
	text, err := readPrivate(f.path)
	if err != nil {
		return nil, err
	}
	line, err := firstLine(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.path, err)
	}
	return line, nil
}

// readPrivate reads a regular file of at most MaxBytes that no other user can read.
func readPrivate(path string) ([]byte, error) {
	return readFile(path, func(info os.FileInfo) error {
		if info.Mode().Perm()&0o077 != 0 && ownerOnly {
			return fmt.Errorf("other users may read it (%v); run: chmod 600 %s", info.Mode().Perm(), path)
		}
		return nil
	})
}

func readFile(path string, check func(os.FileInfo) error) ([]byte, error) {
	f, err := openRegular(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = errors.New("it is no regular file")
	}
	if err == nil {
		err = check(info)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	p := locked.Bytes(MaxBytes + 1) // never moved, so that no copy is left behind
	n, err := io.ReadFull(f, p)
	switch {
	case err == nil:
		clear(p)
		return nil, fmt.Errorf("%s: it has more than %d bytes", path, MaxBytes)
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return p[:n], nil
	}
	clear(p)
	return nil, fmt.Errorf("%s: %w", path, err)
}

// systemd is systemd-credential:, see "Credentials" in systemd.exec(5). The service manager guards the folder.
type systemd struct {
	name   string
	lookup func(string) (string, bool)
}

func newSystemd(rest string, o Options) (Source, error) {
	if rest != filepath.Base(rest) || strings.HasPrefix(rest, ".") {
		return nil, errors.New("needs the name of a credential, not a path")
	}
	return systemd{rest, o.Lookup}, nil
}

func (s systemd) Fetch(context.Context) ([]byte, error) {
	dir, ok := s.lookup("CREDENTIALS_DIRECTORY")
	if !ok {
		return nil, errors.New("CREDENTIALS_DIRECTORY is not set; " +
			"add LoadCredential= or SetCredentialEncrypted= to the unit of this service")
	}
	path := filepath.Join(dir, s.name)
	text, err := readFile(path, func(os.FileInfo) error { return nil })
	if err != nil {
		return nil, err
	}
	line, err := firstLine(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return line, nil
}

// env is env:.
type env struct {
	name   string
	lookup func(string) (string, bool)
}

func newEnv(rest string, o Options) (Source, error) {
	if strings.ContainsAny(rest, "= ") {
		return nil, errors.New("needs the name of a variable")
	}
	_, _ = o.Take(rest) // now, before a program is started that would inherit it
	return env{rest, o.Take}, nil
}

func (e env) Fetch(context.Context) ([]byte, error) {
	value, ok := e.lookup(e.name)
	if !ok || value == "" {
		return nil, fmt.Errorf("the variable %s is not set", e.name)
	}
	return firstLine([]byte(value))
}

// encrypted is age:.
type encrypted struct{ path, identity string }

func newAge(rest string, o Options) (Source, error) {
	path, err := o.absolute(rest)
	if err != nil {
		return nil, err
	}
	if o.Identity == "" {
		return nil, errors.New("no file of age identities is configured")
	}
	identity, err := o.absolute(o.Identity)
	return encrypted{path, identity}, err
}

func (e encrypted) identities() ([]age.Identity, error) {
	keys, err := readPrivate(e.identity)
	if err != nil {
		return nil, err
	}
	defer clear(keys)
	identities, err := age.ParseIdentities(bytes.NewReader(keys))
	if err != nil {
		return nil, fmt.Errorf("%s: it is no file of age identities", e.identity) // err could quote a key
	}
	return identities, nil
}

func (e encrypted) Fetch(context.Context) ([]byte, error) {
	identities, err := e.identities()
	if err != nil {
		return nil, err
	}
	text, err := readFile(e.path, func(os.FileInfo) error { return nil })
	if err != nil {
		return nil, err
	}
	var from io.Reader = bytes.NewReader(text)
	if bytes.HasPrefix(text, []byte(armor.Header)) {
		from = armor.NewReader(from)
	}
	plain, err := age.Decrypt(from, identities...)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", e.path, err)
	}
	p := locked.Bytes(MaxBytes)
	n, err := io.ReadFull(plain, p)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		clear(p)
		return nil, fmt.Errorf("%s: %w", e.path, err)
	}
	line, err := firstLine(p[:n])
	if err != nil {
		return nil, fmt.Errorf("%s: %w", e.path, err)
	}
	return line, nil
}
