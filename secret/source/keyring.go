package source

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/zalando/go-keyring"
)

// desktop is keyring:, the Secret Service of freedesktop.org, the Keychain of macOS or the Credential Manager of Windows.
type desktop struct{ service, user string }

func newKeyring(rest string, _ Options) (Source, error) {
	service, user, ok := strings.Cut(rest, "/")
	if !ok || service == "" || user == "" {
		return nil, errors.New("needs SERVICE/USER")
	}
	return desktop{service, user}, nil
}

// keys is the keyring of the user.
var keys = newQuestions()

// questions are put to a keyring one at a time.
type questions struct{ asking chan struct{} } // held by the goroutine that asks

func newQuestions() questions { return questions{make(chan struct{}, 1)} }

// ask calls get, which cannot be canceled: a dialog of the desktop may delay it. It runs get in a goroutine. There is
// at most one such goroutine: the next call waits for it.
func (q questions) ask(ctx context.Context, get func() ([]byte, error)) ([]byte, error) {
	type answer struct {
		value []byte
		err   error
	}
	late := func() error {
		return fmt.Errorf("the keyring has not answered: %w; is it locked, or a dialog open?", ctx.Err())
	}
	select {
	case q.asking <- struct{}{}:
	case <-ctx.Done():
		return nil, late()
	}
	done := make(chan answer, 1)
	go func() {
		defer func() { <-q.asking }()
		value, err := get()
		done <- answer{value, err}
	}()
	select {
	case a := <-done:
		return a.value, a.err
	case <-ctx.Done():
		return nil, late()
	}
}

// Fetch asks the keyring.
func (d desktop) Fetch(ctx context.Context) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, Patience)
	defer cancel()
	return keys.ask(ctx, func() ([]byte, error) {
		value, err := keyring.Get(d.service, d.user)
		switch {
		case errors.Is(err, keyring.ErrNotFound):
			return nil, fmt.Errorf("the keyring has no entry %s/%s; add it with: ptyctl secret set", d.service, d.user)
		case err != nil:
			return nil, fmt.Errorf("the keyring cannot be asked (%w); a server without a desktop session has none: "+
				"use another source there", err)
		}
		return []byte(value), nil
	})
}
