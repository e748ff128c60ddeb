package hostkeys

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha1"
	"encoding/base64"
	"errors"
	"strings"
)

// hashMagic starts a hashed name, "|1|salt|hash": the HMAC-SHA1 of the name with the salt,
// both in base64 (HashKnownHosts in ssh_config(5)).
const hashMagic = "|1|"

var errBadHash = errors.New("the hashed host name is not |1|salt|hash")

// hashedName is a parsed "|1|salt|hash".
type hashedName struct {
	salt, sum [sha1.Size]byte
}

// parseHashedName parses "|1|salt|hash".
func parseHashedName(s string) (hashedName, error) {
	var h hashedName
	rest, ok := strings.CutPrefix(s, hashMagic)
	salt, sum, ok2 := strings.Cut(rest, "|")
	if !ok || !ok2 || !decodeExactly(h.salt[:], salt) || !decodeExactly(h.sum[:], sum) {
		return hashedName{}, errBadHash
	}
	return h, nil
}

// decodeExactly decodes base64 text that must fill dst.
func decodeExactly(dst []byte, text string) bool {
	raw, err := base64.StdEncoding.DecodeString(text)
	return err == nil && len(raw) == len(dst) && copy(dst, raw) == len(dst)
}

// matches reports whether the hash is that of name.
func (h *hashedName) matches(name string) bool {
	mac := hmac.New(sha1.New, h.salt[:])
	mac.Write([]byte(name))
	var sum [sha1.Size]byte
	return bytes.Equal(mac.Sum(sum[:0]), h.sum[:])
}
