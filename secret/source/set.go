package source

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"filippo.io/age"
	"github.com/zalando/go-keyring"
)

// ErrReadOnly says that a source takes no value: its keeper has a program for that.
var ErrReadOnly = errors.New("a value can be set in keyring: and age: alone; use the program that keeps this one")

// Set stores a value at a source, in place of the one before.
func Set(ctx context.Context, s Source, value []byte) error {
	switch s.(type) {
	case *totp, desktop, encrypted:
	default:
		return ErrReadOnly
	}
	if len(value) == 0 || len(value) > MaxBytes || bytes.ContainsAny(value, "\r\n\x00") {
		return fmt.Errorf("a value is one line of 1 to %d bytes", MaxBytes)
	}
	switch s := s.(type) {
	case *totp:
		g, err := readGenerator(value)
		if err != nil {
			return err
		}
		clear(g.key)
		return Set(ctx, s.key, value)
	case desktop:
		_, err := keys.ask(ctx, func() ([]byte, error) {
			return nil, keyring.Set(s.service, s.user, string(value))
		})
		if err != nil {
			err = fmt.Errorf("the keyring has not taken the value: %w", err)
		}
		return err
	case encrypted:
		return s.set(value)
	}
	return nil
}

// set encrypts the value to the identities that decrypt it, and replaces the file as a whole.
func (e encrypted) set(value []byte) error {
	identities, err := e.identities()
	if err != nil {
		return err
	}
	var to []age.Recipient
	for _, id := range identities {
		switch id := id.(type) {
		case *age.X25519Identity:
			to = append(to, id.Recipient())
		case *age.HybridIdentity:
			to = append(to, id.Recipient())
		}
	}
	if len(to) == 0 {
		return fmt.Errorf("%s: it has no identity to which a value can be encrypted", e.identity)
	}
	var sealed bytes.Buffer
	w, err := age.Encrypt(&sealed, to...)
	if err != nil {
		return err
	}
	_, err = w.Write(append(bytes.Clone(value), '\n'))
	if err = errors.Join(err, w.Close()); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(e.path), ".ptyctl-secret-*") // of mode 0600
	if err != nil {
		return err
	}
	_, err = f.Write(sealed.Bytes())
	err = errors.Join(err, f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), e.path)
	}
	if err != nil {
		_ = os.Remove(f.Name())
	}
	return err
}
