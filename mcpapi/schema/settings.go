package schema

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"ptyctl/internal/lazyregexp"
)

// Settings are the operator's values that hold, as texts, by their keys in the configuration.
type Settings map[string]string

// setting is a default in a description: keys and numbers in braces. Of several, the least counts.
var setting = lazyregexp.New(`\{[^{}]+\}`)

// WithSettings returns the table with the defaults of its arguments as they hold here. A description has the key of the
// operator's setting in place of a value, for example "default {session.read_timeout_ms}", or several and numbers, for
// example "default {16384 limits.max_read_bytes}". It panics if there is no such setting: the program must not start with
// such a tool.
func (t *Tool) WithSettings(s Settings) *Tool {
	filled := *t
	filled.Fields = s.fill(t.Fields)
	return &filled
}

// fill returns fields with the values of settings in their descriptions.
func (s Settings) fill(fields []Field) []Field {
	fields = slices.Clone(fields)
	for i := range fields {
		f := &fields[i]
		f.About = setting.ReplaceAllStringFunc(f.About, func(text string) string {
			return s.value(f.Name, strings.Fields(strings.Trim(text, "{}")))
		})
		f.Fields = s.fill(f.Fields)
	}
	return fields
}

// value returns the value of a setting, or the least of several settings and numbers.
func (s Settings) value(field string, names []string) string {
	var least int64
	for i, name := range names {
		text, known := s[name]
		if !known {
			text = name
		}
		n, err := strconv.ParseInt(text, 10, 64)
		switch {
		case err != nil && (!known || len(names) > 1):
			panic(fmt.Sprintf("the description of %s names {%s}, which is no setting with a number", field, name))
		case err != nil:
			return text
		case i == 0 || n < least:
			least = n
		}
	}
	return strconv.FormatInt(least, 10)
}
