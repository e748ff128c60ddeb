package hostkeys

import (
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"strings"

	"golang.org/x/crypto/ssh"
)

// krlMagic starts a binary key revocation list (PROTOCOL.krl of OpenSSH).
const krlMagic = "SSHKRL\n\x00"

// revocations has the keys of the RevokedHostKeys files, by their wire form, so that it
// includes keys of unsupported types.
type revocations struct {
	byBlob map[string]Entry
}

// readRevocations reads the files. Any unreadable file or line is an error, because an
// overlooked revocation would mean an accepted stolen key.
func readRevocations(files []string) (*revocations, error) {
	r := &revocations{byBlob: make(map[string]Entry)}
	for _, name := range files {
		info, err := os.Stat(name)
		if err == nil && !info.Mode().IsRegular() && !info.IsDir() {
			err = errors.New("it is not a regular file")
		}
		var text string
		if err == nil {
			text, err = readText(name)
		}
		if err != nil {
			return nil, fmt.Errorf("hostkeys: RevokedHostKeys cannot be read, so no host key can be trusted: %w: "+
				"make the file readable, or take it out of the configuration", unreadable(name, err))
		}
		if strings.HasPrefix(text, krlMagic) {
			return nil, fmt.Errorf(
				"hostkeys: RevokedHostKeys %s is a binary key revocation list (KRL), which is not supported, "+
					"so no host key can be trusted: list the revoked public keys in a text file, one per line",
				name,
			)
		}
		if err := r.parse(name, text); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// parse adds the keys of one file.
func (r *revocations) parse(file, text string) error {
	n := 0
	for line := range strings.SplitSeq(text, "\n") {
		n++
		line = strings.Trim(line, " \t\r")
		if line == "" || line[0] == '#' {
			continue
		}
		keyType, rest := cutField(line)
		keyText, _ := cutField(rest)
		keyText = strings.TrimRight(keyText, "=")
		if !framesKey(keyType, keyText) {
			return fmt.Errorf("hostkeys: RevokedHostKeys %s:%d is not a public key, so no host key can be trusted: "+
				"write one key per line, as in an id_*.pub file", file, n)
		}
		blob, err := base64.RawStdEncoding.DecodeString(keyText)
		if err != nil {
			return err
		}
		r.add(blob, Entry{File: file, Line: n, Marker: Revoked, Type: keyType})
	}
	return nil
}

// add records a revoked key; its first line counts.
func (r *revocations) add(blob []byte, e Entry) {
	if _, ok := r.byBlob[string(blob)]; !ok {
		r.byBlob[string(blob)] = e
	}
}

// find returns the line that revokes the offered key, the whole certificate, or its
// authority.
func (r *revocations) find(o *offer) (Entry, bool) {
	keys := []ssh.PublicKey{o.key}
	if o.cert != nil {
		keys = append(keys, o.cert, o.cert.SignatureKey)
	}
	for _, k := range keys {
		if e, ok := r.byBlob[string(k.Marshal())]; ok {
			e.Fingerprint = ssh.FingerprintSHA256(k)
			return e, true
		}
	}
	return Entry{}, false
}
