package sshsig

import (
	"bytes"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"strings"

	"golang.org/x/crypto/ssh"
)

// Parts of PROTOCOL.sshsig.
const (
	preamble  = "SSHSIG"
	version   = 1
	armor     = "SSH SIGNATURE"
	lineWidth = 70 // of ssh-keygen; a reader takes any
)

// A blob is the text between the lines of the armor, behind the preamble.
type blob struct {
	Version   uint32
	PublicKey []byte
	Namespace string
	Reserved  string
	Hash      string
	Signature []byte
}

// signed is the data that the key signs, after the preamble.
type signed struct {
	Namespace string
	Reserved  string
	Hash      string
	Digest    []byte
}

// signedData returns the bytes that the key of b signs for a message.
func (b blob) signedData(message []byte) ([]byte, error) {
	var digest []byte
	switch b.Hash {
	case "sha512":
		sum := sha512.Sum512(message)
		digest = sum[:]
	case "sha256":
		sum := sha256.Sum256(message)
		digest = sum[:]
	default:
		return nil, fmt.Errorf("the hash algorithm %q is not in PROTOCOL.sshsig: want sha512 or sha256", b.Hash)
	}
	return append([]byte(preamble), ssh.Marshal(signed{b.Namespace, b.Reserved, b.Hash, digest})...), nil
}

// encode returns the armored signature.
func (b blob) encode() []byte {
	text := base64.StdEncoding.EncodeToString(append([]byte(preamble), ssh.Marshal(b)...))
	var out bytes.Buffer
	out.WriteString("-----BEGIN " + armor + "-----\n")
	for len(text) > lineWidth {
		out.WriteString(text[:lineWidth] + "\n")
		text = text[lineWidth:]
	}
	out.WriteString(text + "\n-----END " + armor + "-----\n")
	return out.Bytes()
}

// errForm means that a text is no armored signature.
var errForm = errors.New("it is no SSH signature: it must begin with -----BEGIN SSH SIGNATURE-----")

// decode reads an armored signature.
func decode(text []byte) (b blob, err error) {
	p, rest := pem.Decode(text)
	if p == nil || p.Type != armor || len(p.Headers) > 0 || !strings.HasPrefix(string(text), "-----BEGIN ") {
		return b, errForm
	}
	if len(bytes.TrimSpace(rest)) > 0 {
		return b, errors.New("there is more behind the end of the SSH signature")
	}
	raw, ok := bytes.CutPrefix(p.Bytes, []byte(preamble))
	if !ok {
		return b, errForm
	}
	if err := ssh.Unmarshal(raw, &b); err != nil {
		return b, fmt.Errorf("the SSH signature is damaged: %w", err)
	}
	if b.Version != version {
		return b, fmt.Errorf("the SSH signature has version %d, want %d", b.Version, version)
	}
	return b, nil
}
