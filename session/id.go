package session

import (
	"crypto/rand"
	"strings"
)

// maxIDHost is how much of the host's name an id keeps.
const maxIDHost = 24

// NewID returns a fresh session id: the host's name cut to 24 safe characters, a dash, and 8 characters of
// base32 that nobody can guess (40 bits).
func NewID(host string) string { return idHost(host) + "-" + strings.ToLower(rand.Text()[:8]) }

func idHost(host string) string {
	var b strings.Builder
	for _, r := range strings.ToLower(host) {
		if b.Len() == maxIDHost {
			break
		}
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9', r == '.':
			b.WriteRune(r)
		default:
			b.WriteByte('-')
		}
	}
	if s := strings.Trim(b.String(), "-."); s != "" {
		return s
	}
	return "session"
}
