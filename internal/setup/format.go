package setup

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// A format reads and changes a text that holds, below the keys of a path, a table of servers.
type format interface {
	// read returns the entry of the name, or nil.
	read(text []byte, path []string, name string) (*written, error)
	// others returns all values of the text but the entry, to be compared with those of another text. Tables of the path
	// that hold nothing else are left out.
	others(text []byte, path []string, name string) (any, error)
	// put returns the text with value as the entry.
	put(text []byte, path []string, name string, value any) ([]byte, error)
	// drop returns the text without the entry, which must exist.
	drop(text []byte, path []string, name string) ([]byte, error)
}

// A handError has a person make the change.
type handError struct{ why string }

func (e handError) Error() string { return e.why }

func byHand(format string, a ...any) error { return handError{fmt.Sprintf(format, a...)} }

// without takes the entry out of a table, and tables of the path that are empty then.
func without(table any, path []string, name string) {
	m, ok := table.(map[string]any)
	if !ok {
		return
	}
	if len(path) == 0 {
		delete(m, name)
		return
	}
	without(m[path[0]], path[1:], name)
	if inner, ok := m[path[0]].(map[string]any); ok && len(inner) == 0 || m[path[0]] == nil {
		delete(m, path[0])
	}
}

// verify returns an error unless a changed text holds the entry, or none if want is nil, and otherwise the same values.
func verify(f format, before, after []byte, path []string, want *Entry) error {
	e, err := f.read(after, path, ServerName)
	if err != nil {
		return err
	}
	if (e == nil) != (want == nil) || e != nil && !e.entry().same(*want) {
		return byHand("the entry would not be read back as it was written")
	}
	was, err := f.others(before, path, ServerName)
	if err != nil {
		return err
	}
	is, err := f.others(after, path, ServerName)
	if err != nil {
		return err
	}
	if !reflect.DeepEqual(was, is) {
		return byHand("other values of the file would change")
	}
	return nil
}

// lineEnd returns the line end that a text uses.
func lineEnd(text []byte) string {
	if bytes.Contains(text, []byte("\r\n")) {
		return "\r\n"
	}
	return "\n"
}

// indentOf returns the blanks at the beginning of the line that has the byte at.
func indentOf(text []byte, at int) string {
	line := text[bytes.LastIndexByte(text[:at], '\n')+1:]
	return string(line[:len(line)-len(bytes.TrimLeft(line, " \t"))])
}

// splice returns text with its part from..to replaced.
func splice(text []byte, from, to int, by string) []byte {
	return append(append(append([]byte{}, text[:from]...), by...), text[to:]...)
}

// marshalJSON returns v as JSON; with an indent, each of its lines but the first begins with prefix.
func marshalJSON(v any, prefix, indent, end string) (string, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if indent != "" {
		enc.SetIndent(prefix, indent)
	}
	if err := enc.Encode(v); err != nil {
		return "", err
	}
	return strings.ReplaceAll(strings.TrimSuffix(b.String(), "\n"), "\n", end), nil
}

// starts reports whether a field of an entry decides which command starts. A person may change the other fields.
func starts(field string) bool {
	return slices.Contains([]string{"type", "command", "cmd", "args", "enabled"}, field)
}

// A lines is a text by its lines, each with its end. The numbers of lines begin at 0.
type lines []string

func split(text []byte) lines { return strings.SplitAfter(string(text), "\n") }

// end returns the line that a part ends before, which may go on until before the line next: blank lines and comments at
// its end belong to the next part.
func (l lines) end(from, next int) int {
	for next > from+1 {
		line := strings.TrimSpace(l[next-1])
		if line != "" && line[0] != '#' {
			break
		}
		next--
	}
	return next
}

// replaced returns the text with other lines in place of from..to.
func (l lines) replaced(from, to int, by string) []byte {
	return []byte(strings.Join(l[:from], "") + by + strings.Join(l[to:], ""))
}
