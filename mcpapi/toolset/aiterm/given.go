package aiterm

import (
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"ptyctl/term"
)

// bytesOf decodes a field that has bytes in base64 (RFC 4648 section 4, with padding).
func (c *call) bytesOf(field, text string) ([]byte, error) {
	data, err := base64.StdEncoding.DecodeString(text)
	if err == nil {
		return data, nil
	}
	where := ""
	if at := base64.CorruptInputError(0); errors.As(err, &at) {
		where = fmt.Sprintf(" at byte %d", int64(at))
	}
	return nil, c.Invalid(
		field,
		fmt.Sprintf(
			"%s is no base64%s; encode the bytes with the standard alphabet and padding, as base64(1) does",
			field,
			where,
		),
	)
}

// program is what the arguments say of the program to start.
func (c *call) program(argv []string, cwd string, env map[string]string) (term.LocalOptions, error) {
	o := term.LocalOptions{Argv: argv, Dir: cwd, Bare: true}
	if len(argv) == 0 || argv[0] == "" {
		return o, c.Invalid(
			"argv",
			`argv is empty: pass the program and its arguments, one by one; there is no shell unless it is named, as in ["sh","-c","ls | wc -l"]`,
		)
	}
	for name, value := range env {
		// The name is not shown where it is wrong: it may be anything, and hold the value too.
		if name == "" || strings.ContainsAny(name, "=\x00") || strings.IndexByte(value, 0) >= 0 {
			return o, c.Invalid(
				"env",
				`env is an object of names and values, such as {"LANG":"C"}; a name is not empty and holds no "=", and neither holds a NUL byte`,
			)
		}
		o.Env = append(o.Env, term.EnvVar{Name: name, Value: value})
	}
	slices.SortFunc(o.Env, func(a, b term.EnvVar) int { return strings.Compare(a.Name, b.Name) })
	return o, nil
}

// lower returns a number of the caller's, lowered to the operator's limit with a warning.
func (c *call) lower(field string, asked, limit int64, key string) int64 {
	if asked <= limit {
		return asked
	}
	c.warnings = append(c.warnings, fmt.Sprintf("%s was lowered to %d (%s)", field, limit, key))
	return limit
}

// wait is lower for a number of milliseconds for which a call waits.
func (c *call) wait(field string, ms int64) time.Duration {
	return time.Duration(c.lower(field, ms, c.Options().MaxWait.Milliseconds(), "limits.max_wait_ms")) * time.Millisecond
}
