package config

import (
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestEveryFieldHasARow sets each key through its row and finds the one field that
// changes.
func TestEveryFieldHasARow(t *testing.T) {
	var leaves func(v reflect.Value, name string, visit func(string, reflect.Value))
	leaves = func(v reflect.Value, name string, visit func(string, reflect.Value)) {
		for i := range v.NumField() {
			f := v.Type().Field(i)
			switch {
			case !f.IsExported():
			case f.Type.Kind() == reflect.Struct && f.Type != reflect.TypeFor[Secret]():
				leaves(v.Field(i), name+f.Name+".", visit)
			default:
				visit(name+f.Name, v.Field(i))
			}
		}
	}

	keyOf := make(map[string]string)
	for i, k := range Keys() {
		var c Config
		rows := table(&c, "/home/me")
		before := make(map[string]any)
		leaves(reflect.ValueOf(c), "", func(name string, v reflect.Value) { before[name] = v.Interface() })
		if err := rows[i].set([]string{another(t, k)}); err != nil {
			t.Errorf("set %s: %v, want no error", k.Path, err)
			continue
		}
		var changed []string
		leaves(reflect.ValueOf(c), "", func(name string, v reflect.Value) {
			if !reflect.DeepEqual(before[name], v.Interface()) {
				changed = append(changed, name)
			}
		})
		if len(changed) != 1 {
			t.Errorf("%s changes %v, want one field", k.Path, changed)
			continue
		}
		if other, again := keyOf[changed[0]]; again {
			t.Errorf("%s and %s both set %s", k.Path, other, changed[0])
		}
		keyOf[changed[0]] = k.Path
		// The names correspond: ssh.known_hosts_path sets SSH.KnownHostsPath.
		plain := strings.NewReplacer("_", "").Replace(strings.TrimSuffix(k.Path, "_ms"))
		if !strings.EqualFold(plain, changed[0]) {
			t.Errorf("%s sets the field %s", k.Path, changed[0])
		}
	}
	for _, table := range Tables() { // TestFieldsOfTables checks their fields
		leaves(reflect.ValueOf(Config{}), "", func(name string, _ reflect.Value) {
			if strings.EqualFold(name, table.Path) {
				keyOf[name] = table.Path
			}
		})
	}
	leaves(reflect.ValueOf(Config{}), "", func(name string, _ reflect.Value) {
		if keyOf[name] == "" {
			t.Errorf("no key sets the field %s", name)
		}
	})
}

// another returns a valid value of a key that differs from its default.
func another(t *testing.T, k Key) string {
	switch k.Type {
	case TypeInt, TypeDuration:
		if k.Default == fmt.Sprint(k.Max) {
			return fmt.Sprint(k.Min)
		}
		return fmt.Sprint(k.Max)
	case TypeBool:
		return map[string]string{"true": "false", "false": "true"}[k.Default]
	case TypeEnum:
		return k.Values[slices.IndexFunc(k.Values, func(v string) bool {
			return `"`+v+`"` != k.Default ||
				len(k.Values) == 1
		})]
	case TypeStrings:
		if k.Form == "a list of NAME=value" {
			return "SOME=where"
		}
		if strings.HasSuffix(k.Path, ".servers") {
			return "tls://nats1:4222"
		}
		return "/somewhere/else"
	case TypeSecret:
		if strings.HasSuffix(k.Path, "_token") {
			return "0123456789abcdef"
		}
		return "some:read:0123456789abcdef"
	case TypeString:
		if strings.HasSuffix(k.Path, ".listen") {
			return "[::1]:8080"
		}
		if strings.HasSuffix(k.Path, ".issuer") {
			return "https://login.example.net/a"
		}
		if k.Path == "cluster.node" || k.Path == "cluster.group" {
			return "node-1"
		}
		return "/somewhere/else"
	}
	t.Fatalf("%s has the unknown type %q", k.Path, k.Type)
	return ""
}

func TestKeys(t *testing.T) {
	pathForm := regexp.MustCompile(`^[a-z]+(\.[a-z][a-z0-9]*)*\.[a-z]+(_[a-z]+)*$`)
	seen := make(map[string]bool)
	once := func(what, name string) {
		if seen[what+name] {
			t.Errorf("%s %s is there twice", what, name)
		}
		seen[what+name] = true
	}
	for _, k := range Keys() {
		once("key", k.Path)
		once("variable", k.Env)
		if k.Flag.Name != "" {
			once("flag", k.Flag.Name)
		}
		if !pathForm.MatchString(k.Path) {
			t.Errorf("%q is no path of a key", k.Path)
		}
		if !strings.HasPrefix(k.Env, "PTYCTL_") && k.Env != "PTY_PERMISSIONS" && k.Env != "PTY_MAX_BUFFER_LINES" ||
			k.Form == "" {
			t.Errorf("%s: variable %q, form %q", k.Path, k.Env, k.Form)
		}
		if !strings.HasSuffix(k.Doc, ".") || strings.ContainsAny(k.Doc, "\n\r") {
			t.Errorf("%s: %q is not one sentence on one line", k.Path, k.Doc)
		}
		if strings.HasSuffix(k.Path, "_ms") != (k.Type == TypeDuration) {
			t.Errorf("%s has type %s", k.Path, k.Type)
		}
		if (k.Type == TypeInt || k.Type == TypeDuration) && k.Min >= k.Max {
			t.Errorf("%s: from %d to %d", k.Path, k.Min, k.Max)
		}
		if k.Type == TypeDuration && k.Max > int64(longest/time.Millisecond) {
			t.Errorf("%s: %d ms may overflow", k.Path, k.Max)
		}
	}
	for _, b := range bypassed {
		once("key", b.path)
		once("variable", b.env)
	}
}

// TestDocsFitATable wants text that a cell of a Markdown table can hold: docs/configuration.md is made of it.
func TestDocsFitATable(t *testing.T) {
	check := func(path, doc string) {
		if strings.ContainsAny(doc, "|`\n") {
			t.Errorf("the text of %s has |, a backquote or a line end, which break its row: %s", path, doc)
		}
	}
	for _, k := range Keys() {
		check(k.Path, k.Doc)
	}
	for _, table := range Tables() {
		for _, f := range table.Fields {
			check(table.Path+"."+f.Path, f.Doc)
		}
	}
}

// TestBounds checks that the bounds of a key are enforced.
func TestBounds(t *testing.T) {
	var c Config
	for _, r := range table(&c, "/home/me") {
		if r.Type != TypeInt && r.Type != TypeDuration {
			continue
		}
		for n, valid := range map[int64]bool{r.Min: true, r.Max: true, r.Min - 1: false, r.Max + 1: false} {
			if err := r.set([]string{fmt.Sprint(n)}); (err == nil) != valid {
				t.Errorf("%s = %d: %v", r.Path, n, err)
			}
		}
	}
}

func TestExampleIsTheDefaults(t *testing.T) {
	c, warnings, problems := load(t, Example(), nil, nil)
	if problems != nil || warnings != nil {
		t.Fatalf("problems %v, warnings %v in\n%s", problems, warnings, Example())
	}
	for _, k := range Keys() {
		if !strings.Contains(c.Origin(k.Path), "ptyctl.toml:") {
			t.Errorf("the example does not set %s", k.Path)
		}
	}
	c.origin = nil
	if !reflect.DeepEqual(c, Default()) {
		t.Errorf("the example gives %+v\nwant %+v", c, Default())
	}
	for i, line := range strings.Split(Example(), "\n") {
		if len(line) > 200 {
			t.Errorf("line %d has %d bytes", i+1, len(line))
		}
	}
}

// TestOriginalFile loads a configuration of the original program.
func TestOriginalFile(t *testing.T) {
	c, warnings, problems := load(t, `[server]
transport = "stdio" # stdio|http|both

[server.http]
listen = "127.0.0.1:8765"
auth_token = "hunter2-1138"

[server.control]
control_socket_path = "/tmp/ptyctl-$UID.sock"
control_mode = "readonly"
control_auth_token = "hunter2-1138"

[session]
max_sessions = 100
idle_timeout_ms = 300000
output_buffer_max_lines = 20000
output_buffer_max_bytes = 2097152
record_tx_events = true

[ssh]
openssh_path = "ssh"
use_openssh_config = true
config_path = ""
host_key_policy = "strict"
known_hosts_path = ""

[telnet]
telnet_path = "telnet"

[logging]
level = "info"
format = "text"
`, nil, nil)
	if problems != nil || !c.Session.RecordTxEvents || c.Session.IdleTimeout != 5*time.Minute {
		t.Errorf("problems %v, idle timeout %v", problems, c.Session.IdleTimeout)
	}
	if len(warnings) != 2 {
		t.Errorf("%d warnings, want 2:\n%s", len(warnings), lines(warnings))
	}
	if strings.Contains(lines(warnings), "hunter2-1138") {
		t.Errorf("a token is shown:\n%s", lines(warnings))
	}
}
