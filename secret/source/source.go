package source

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"ptyctl/internal/locked"
)

const (
	// MaxBytes bounds the value and the output of a helper.
	MaxBytes = 4 << 10

	// Patience is how long a helper may take.
	Patience = 10 * time.Second
)

// ErrPerson says that a person has to give the value.
var ErrPerson = errors.New("a person has to give the value")

// A Source fetches the value of a secret. Its methods may be called by any number of goroutines.
type Source interface {
	// Fetch returns the value in memory that the caller owns and must wipe. It takes no longer than Patience.
	Fetch(ctx context.Context) ([]byte, error)
}

// Options are the surroundings of a source.
type Options struct {
	Env      []string // names of the variables that a helper gets; it gets no others
	Identity string   // a file of age identities, for age:
	Home     string   // in place of a leading ~ of a file

	Lookup func(name string) (string, bool) // the environment; nil: os.LookupEnv
	// Take is Lookup for a variable that is itself a secret, which programs that this process starts must not inherit.
	// It may be called again. Nil: Lookup.
	Take func(name string) (string, bool)
	Now  func() time.Time // for totp:; nil: time.Now
	// Codes remembers the codes that earlier sources returned, so that no code is returned twice. It may be nil.
	Codes *Codes
}

// Words lists the kinds of sources, for messages.
const Words = "one of exec:, git-credential:, docker-credential:, keyring:, age:, file:, systemd-credential:, env: and totp: with " +
	"the rest, or person"

// Parse reads a source. The error describes the mistake in text, but quotes no part of it, because it could be a
// value.
func Parse(text string, o Options) (Source, error) {
	if o.Lookup == nil {
		o.Lookup = os.LookupEnv
	}
	if o.Take == nil {
		o.Take = o.Lookup
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	kind, rest, _ := strings.Cut(text, ":")
	if kind == "person" && rest == "" {
		return person{}, nil
	}
	make, ok := map[string]func(rest string, o Options) (Source, error){
		"exec": newExec, "git-credential": newGit, "docker-credential": newDocker, "keyring": newKeyring, "age": newAge,
		"file": newFile, "systemd-credential": newSystemd, "env": newEnv, "totp": newTOTP,
	}[kind]
	switch {
	case !ok:
		return nil, errors.New("a source is " + Words) // without text, which could be a value
	case rest == "":
		return nil, fmt.Errorf("%s: needs something behind the colon", kind)
	}
	s, err := make(rest, o)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", kind, err)
	}
	return s, nil
}

// person is the source of a value that a person gives each time.
type person struct{}

// IsPerson reports whether a person gives the value of a source each time: its Fetch fails with ErrPerson.
func IsPerson(s Source) bool { return s == person{} }

func (person) Fetch(context.Context) ([]byte, error) { return nil, ErrPerson }

// byteOrderMark is the sign of UTF-8 that editors of Windows write before a text. No one types it into a password.
const byteOrderMark = "\ufeff"

// firstLine returns a copy of the first line of text, and wipes text. A host would refuse a value in UTF-16, and may
// lock the account then.
func firstLine(text []byte) ([]byte, error) {
	defer clear(text)
	line, _, _ := bytes.Cut(text, []byte("\n"))
	line = bytes.TrimPrefix(bytes.TrimSuffix(line, []byte("\r")), []byte(byteOrderMark))
	switch {
	case len(line) == 0:
		return nil, errors.New("its first line is empty")
	case bytes.IndexByte(line, 0) >= 0:
		return nil, errors.New("its first line has a NUL byte; is it UTF-16? Store it as UTF-8")
	}
	return locked.Clone(line), nil
}

// absolute returns a file's path, with the home folder in place of a leading ~.
func (o Options) absolute(path string) (string, error) {
	if rest, ok := strings.CutPrefix(path, "~/"); ok && o.Home != "" {
		path = filepath.Join(o.Home, rest)
	}
	if !filepath.IsAbs(path) {
		return "", errors.New("the path must be absolute")
	}
	return filepath.Clean(path), nil
}
