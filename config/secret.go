package config

import (
	"fmt"
	"io"
)

// Secret is a value that must not reach a log, an error or a dump. Formatted or marshaled
// it is "[redacted]", or "" if it is empty; only Reveal returns the value. The zero
// Secret is empty.
type Secret struct {
	// A pointer, because fmt calls no methods of values in unexported fields of other
	// structs: it then prints an address, where it would print a string.
	value *string
}

// NewSecret returns a Secret that holds value.
func NewSecret(value string) Secret {
	if value == "" {
		return Secret{}
	}
	return Secret{&value}
}

// Reveal returns the value.
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

// Format writes the result of String for every verb. fmt would otherwise print the value
// for a verb that does not fit a string, for example %d.
func (s Secret) Format(f fmt.State, _ rune) {
	_, _ = io.WriteString(f, s.String()) // fmt gives no way to report an error
}

// MarshalText keeps the value out of JSON and TOML, and out of loggers.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }
