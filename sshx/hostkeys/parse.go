package hostkeys

import (
	"encoding/base64"
	"encoding/binary"
	"errors"
	"strings"

	"golang.org/x/crypto/ssh"

	"ptyctl/sshx/patterns"
)

// Marker is the optional first field of a line.
type Marker string

const (
	// NoMarker means that the key is one of the host's own.
	NoMarker Marker = ""
	// CertAuthority means that the key signs certificates of the host.
	CertAuthority Marker = "@cert-authority"
	// Revoked means that the key must never be accepted, for the host or as its authority.
	Revoked Marker = "@revoked"
)

// record is one well-formed line of a known_hosts file. Its strings share the file's text.
type record struct {
	file    string
	line    int // from 1
	marker  Marker
	names   string     // as written: patterns or one hashed name
	hash    hashedName // valid if hashed
	hashed  bool
	keyType string
	keyText string // base64 of the key, without padding
}

var (
	errMarker    = errors.New("the marker is neither @cert-authority nor @revoked")
	errTruncated = errors.New("the line has no host names, key type and key")
	errKeyText   = errors.New("the key is not valid base64 of a key of the type before it")
)

// parseLine parses one line without its line end (sshd(8) "SSH_KNOWN_HOSTS FILE FORMAT"). It
// returns false for a comment or an empty line. It checks only the frame of the key, because
// most lines are about other hosts.
func parseLine(text string) (r record, ok bool, err error) {
	text = strings.Trim(text, " \t\r")
	if text == "" || text[0] == '#' {
		return record{}, false, nil
	}
	if text[0] == '@' {
		var marker string
		marker, text = cutField(text)
		r.marker = Marker(marker)
		if r.marker != CertAuthority && r.marker != Revoked {
			return record{}, false, errMarker
		}
	}
	r.names, text = cutField(text)
	r.keyType, text = cutField(text)
	r.keyText, _ = cutField(text)
	r.keyText = strings.TrimRight(r.keyText, "=")
	if r.keyText == "" || r.keyType[0] == '#' {
		return record{}, false, errTruncated
	}
	if r.hashed = r.names[0] == '|'; r.hashed {
		if r.hash, err = parseHashedName(r.names); err != nil {
			return record{}, false, err
		}
	}
	if !framesKey(r.keyType, r.keyText) {
		return record{}, false, errKeyText
	}
	return r, true, nil
}

// cutField splits s at the first blank, and drops the blanks after the field.
func cutField(s string) (field, rest string) {
	i := strings.IndexAny(s, " \t")
	if i < 0 {
		return s, ""
	}
	return s[:i], strings.TrimLeft(s[i:], " \t")
}

// framesKey reports whether keyText is base64 of a blob that begins with the string keyType
// (RFC 4253 section 6.6).
func framesKey(keyType, keyText string) bool {
	blob, err := base64.RawStdEncoding.DecodeString(keyText)
	if err != nil || len(blob) < 4 {
		return false
	}
	n := binary.BigEndian.Uint32(blob)
	return uint64(n) < uint64(len(blob)-4) && string(blob[4:4+n]) == keyType
}

// matches reports whether the line is about name, which must be in lower case.
func (r *record) matches(name string) bool {
	if r.hashed {
		return r.hash.matches(name)
	}
	return patterns.MatchList(name, strings.ToLower(r.names))
}

// key parses the line's key.
func (r *record) key() (ssh.PublicKey, error) {
	blob, err := base64.RawStdEncoding.DecodeString(r.keyText)
	if err != nil {
		return nil, err
	}
	return ssh.ParsePublicKey(blob)
}
