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

// bytesOf decodes the base64 of a field (RFC 4648 section 4, with padding).
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
			"%s is not base64%s; encode the bytes with the standard alphabet and padding, like base64(1)",
			field,
			where,
		),
	)
}

// programArgs are the arguments that describe a program.
type programArgs struct {
	Argv []string          `json:"argv" need:"*" doc:"program and arguments; no shell"`
	Cwd  string            `json:"cwd"`
	Env  map[string]string `json:"env" doc:"the whole environment: names and values"`
}

// program converts the arguments that describe a program. Bare gives it exactly the
// variables of env, as the contract demands; they are sorted by name, so that the audit
// log is the same for equal calls.
func (c *call) program(in programArgs) (term.LocalOptions, error) {
	o := term.LocalOptions{Argv: in.Argv, Dir: in.Cwd, Bare: true}
	if len(in.Argv) == 0 || in.Argv[0] == "" {
		return o, c.Invalid(
			"argv",
			`argv is empty: pass the program and each argument; no shell runs unless argv names it, `+
				`for example ["sh","-c","ls | wc -l"]`,
		)
	}
	for name, value := range in.Env {
		// The message must not repeat a wrong name, because it may hold the value, too.
		if name == "" || strings.ContainsAny(name, "=\x00") || strings.IndexByte(value, 0) >= 0 {
			return o, c.Invalid(
				"env",
				`env must map names to values, for example {"LANG":"C"}; a name must not be empty or contain "=", `+
					`and neither may contain a NUL byte`,
			)
		}
		o.Env = append(o.Env, term.EnvVar{Name: name, Value: value})
	}
	slices.SortFunc(o.Env, func(a, b term.EnvVar) int { return strings.Compare(a.Name, b.Name) })
	return o, nil
}

// lower returns asked, or limit with a warning if asked exceeds it. The key names the
// operator's setting, which is not secret.
func (c *call) lower(field string, asked, limit int64, key string) int64 {
	if asked <= limit {
		return asked
	}
	c.warnings = append(c.warnings, fmt.Sprintf("%s was lowered to %d (%s)", field, limit, key))
	return limit
}

// wait converts the milliseconds of a field to a duration, lowered to the operator's
// longest wait.
func (c *call) wait(field string, ms int64) time.Duration {
	return time.Duration(c.lower(field, ms, c.Limits().MaxWait.Milliseconds(), "limits.max_wait_ms")) * time.Millisecond
}
