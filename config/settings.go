package config

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"time"
)

// A Setting is what one key amounts to.
type Setting struct {
	Key    string `json:"key"`
	Value  string `json:"value"`  // as TOML; a secret that is set is `"[redacted]"`
	Origin string `json:"origin"` // see Config.Origin
}

// Settings returns every key with its value, in the order of [Keys]. It shows no secret.
func (c Config) Settings() []Setting {
	keys := Keys()
	list := make([]Setting, len(keys))
	for i, k := range keys {
		list[i] = Setting{Key: k.Path, Value: tomlText(c.field(k.Path)), Origin: c.Origin(k.Path)}
	}
	return list
}

// field returns the field of a key. Their names agree: ssh.known_hosts_path is SSH.KnownHostsPath, and a duration has its
// unit in the key's name only.
func (c Config) field(path string) reflect.Value {
	v := reflect.ValueOf(c)
	for name := range strings.SplitSeq(strings.ReplaceAll(strings.TrimSuffix(path, "_ms"), "_", ""), ".") {
		v = v.FieldByNameFunc(func(field string) bool { return strings.EqualFold(field, name) })
	}
	return v
}

// same compares a field of two configurations.
func same(t Type, a, b reflect.Value) bool {
	if t == TypeSecret { // it holds a pointer
		return a.Interface().(Secret).Reveal() == b.Interface().(Secret).Reveal()
	}
	return tomlText(a) == tomlText(b)
}

// tomlText shows a field as it would stand in the file.
func tomlText(v reflect.Value) string {
	switch f := v.Interface().(type) {
	case time.Duration:
		return strconv.FormatInt(f.Milliseconds(), 10)
	case Secret:
		return tomlString(f.String())
	case []string:
		quoted := make([]string, len(f))
		for i, s := range f {
			quoted[i] = tomlString(s)
		}
		return "[" + strings.Join(quoted, ", ") + "]"
	}
	if v.Kind() == reflect.String {
		return tomlString(v.String())
	}
	return fmt.Sprint(v.Interface())
}

// tomlString quotes a string as TOML does.
func tomlString(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r < 0x20 || r == 0x7f:
			fmt.Fprintf(&b, `\u%04X`, r)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}
