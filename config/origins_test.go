package config

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// TestSettingsAreTheConfiguration writes the result of Settings into a file and loads it:
// first the defaults, then other values for every key that allows one.
func TestSettingsAreTheConfiguration(t *testing.T) {
	other := make(map[string]string)
	for _, k := range Keys() {
		if k.Type != TypeSecret { // cannot be loaded again
			other[k.Path] = another(t, k)
		}
	}
	// These values must agree with each other.
	other["ssh.host_key_policy"], other["ssh.host_key_floor"] = "accept_new", "disabled"
	for _, key := range []string{"session.connect_timeout_ms", "session.read_timeout_ms", "locks.default_ttl_ms"} {
		other[key] = "1234"
	}
	other["server.http.tls_self_signed"] = "false"                                  // cannot be combined with a certificate
	other["server.http.oauth.issuer"], other["server.http.oauth.audience"] = "", "" // and roles, which no flag has
	other["ssh.identity_agent"] = `a "quoted" \ thing` + "\u00e9"
	for _, flags := range []map[string]string{nil, other} {
		c, _, problems := load(t, "", nil, flags)
		if problems != nil {
			t.Fatal(problems)
		}
		var file strings.Builder
		for _, s := range c.Settings() {
			if flags == nil {
				i := slices.IndexFunc(Keys(), func(k Key) bool { return k.Path == s.Key })
				if s.Value != Keys()[i].Default || s.Origin != "default" {
					t.Errorf("%s is %s from %s, want its default %s", s.Key, s.Value, s.Origin, Keys()[i].Default)
				}
			}
			fmt.Fprintf(&file, "%s = %s\n", s.Key, s.Value)
		}
		again, _, problems := load(t, file.String(), nil, nil)
		if problems != nil {
			t.Fatalf("%v in\n%s", problems, &file)
		}
		c.origin, again.origin = nil, nil
		if !reflect.DeepEqual(again, c) {
			t.Errorf("the settings give\n%+v\nwant\n%+v", again, c)
		}
	}
}

func TestSettingsShowNoSecret(t *testing.T) {
	if got := tomlText(reflect.ValueOf(NewSecret("hunter2"))); got != `"[redacted]"` {
		t.Errorf("a secret is shown as %s", got)
	}
	if got := tomlText(reflect.ValueOf(Secret{})); got != `""` {
		t.Errorf("no secret is shown as %s", got)
	}
}

func TestChanges(t *testing.T) {
	old := Default()
	next := old
	next.Session.MaxSessions = 7
	next.SSH.CallerPaths = []string{"/srv"}
	next.Logging.Level = LogDebug
	want := []Change{
		{"session.max_sessions", "100", "7", false},
		{"ssh.caller_paths", "[]", `["/srv"]`, true},
		{"logging.level", `"info"`, `"debug"`, true},
	}
	if got := old.Changes(next); !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if got := next.Changes(next); got != nil {
		t.Errorf("a configuration differs from itself: %v", got)
	}
	a, b := reflect.ValueOf(NewSecret("one")), reflect.ValueOf(NewSecret("two"))
	if same(TypeSecret, a, b) || !same(TypeSecret, a, reflect.ValueOf(NewSecret("one"))) {
		t.Error("secrets are not compared by what they hide")
	}
}
