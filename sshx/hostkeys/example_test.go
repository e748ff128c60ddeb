package hostkeys_test

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/crypto/ssh"

	"ptyctl/sshx/hostkeys"
)

func newHostKey() ssh.PublicKey {
	public, _, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		panic(err)
	}
	key, err := ssh.NewPublicKey(public)
	if err != nil {
		panic(err)
	}
	return key
}

// The first connection records the key; a later one gets a different key.
func ExampleVerifier_Verify() {
	dir, err := os.MkdirTemp("", "hostkeys")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	options := hostkeys.Options{
		Policy:    hostkeys.AcceptNew,
		UserFiles: []string{filepath.Join(dir, "known_hosts")},
	}

	first, err := hostkeys.NewVerifier("web1.example.org", 2201, nil, options)
	if err != nil {
		panic(err)
	}
	if err := first.Verify(context.Background(), newHostKey()); err != nil {
		panic(err)
	}
	fmt.Println(first.Result().Decision, first.Result().Name)

	later, err := hostkeys.NewVerifier("web1.example.org", 2201, nil, options)
	if err != nil {
		panic(err)
	}
	if mismatch, ok := errors.AsType[*hostkeys.MismatchError](later.Verify(context.Background(), newHostKey())); ok {
		fmt.Println("not the key on record in line", mismatch.Recorded[0].Line)
	}
	// Output:
	// added [web1.example.org]:2201
	// not the key on record in line 1
}
