package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/agent"

	"ptyctl/internal/releases"
)

// A key signs; one of an agent has a connection.
type key struct {
	signer ssh.Signer
	conn   net.Conn // nil if there is no agent
}

func (k *key) close() {
	if k.conn != nil {
		k.conn.Close()
	}
}

// open returns the key of a file: a private key, or a public one that the agent at socket has.
func open(ctx context.Context, file, socket string) (*key, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	if !bytes.Contains(text, []byte("PRIVATE KEY-----")) {
		return fromAgent(ctx, text, socket)
	}
	signer, err := ssh.ParsePrivateKey(text)
	if missing := new(ssh.PassphraseMissingError); errors.As(err, &missing) {
		return nil, errors.New("it is encrypted: add it to the agent (ssh-add), and name its public key, the file that ends in .pub")
	}
	if err != nil {
		return nil, fmt.Errorf("it is no private key that can be read (%w); name that of a security key by its .pub file, with an agent", err)
	}
	return &key{signer: signer}, nil
}

func fromAgent(ctx context.Context, public []byte, socket string) (*key, error) {
	keys, err := releases.Keys(public)
	if err != nil {
		return nil, err
	}
	if len(keys) != 1 {
		return nil, fmt.Errorf("it has %d public keys, want 1: name a private key, or the .pub file of one that the agent has", len(keys))
	}
	if socket == "" {
		return nil, errors.New("it is a public key, and there is no agent with the private one: SSH_AUTH_SOCK is not set")
	}
	conn, err := new(net.Dialer).DialContext(ctx, "unix", socket)
	if err != nil {
		return nil, fmt.Errorf("the agent of SSH_AUTH_SOCK: %w", err)
	}
	signers, err := agent.NewClient(conn).Signers()
	if err != nil {
		conn.Close()
		return nil, fmt.Errorf("the agent of SSH_AUTH_SOCK: %w", err)
	}
	for _, s := range signers {
		if bytes.Equal(s.PublicKey().Marshal(), keys[0].Marshal()) {
			return &key{s, conn}, nil
		}
	}
	conn.Close()
	return nil, fmt.Errorf("the agent of SSH_AUTH_SOCK does not have the key %s: add it with ssh-add", ssh.FingerprintSHA256(keys[0]))
}
