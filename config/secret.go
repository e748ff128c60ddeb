package config

import (
	"fmt"
	"io"
)

// Secret is a value that must not reach a log, an error or a dump. Formatting or
// marshaling it gives "[redacted]", or "" when it is empty; only Reveal gives the
// value. The zero Secret is empty.
type Secret struct {
	// A pointer, because fmt calls no methods on what it finds in unexported
	// fields of other structs: it prints an address there, where it would
	// print a string.
	value *string
}

// NewSecret returns a Secret that holds value.
func NewSecret(value string) Secret {
	if value == "" {
		return Secret{}
	}
	return Secret{&value}
}

// Reveal returns the value itself.
func (s Secret) Reveal() string {
	if s.value == nil {
		return ""
	}
	return *s.value
}

// String returns "[redacted]", or "" for an empty secret.
func (s Secret) String() string {
	if s.value == nil {
		return ""
	}
	return "[redacted]"
}

// Format writes what String returns, whatever the verb: fmt would look into the
// value for a verb that does not fit a string, such as %d.
func (s Secret) Format(f fmt.State, _ rune) {
	_, _ = io.WriteString(f, s.String()) // fmt gives no way to report an error
}

// MarshalText keeps the value out of JSON and TOML, and out of loggers.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }
