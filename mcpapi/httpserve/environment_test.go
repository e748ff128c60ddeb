package httpserve

import (
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"ptyctl/mcpapi"
	"ptyctl/session"
	"ptyctl/term"
)

// Only at the socket of people does the environment of a command count, and only in its own form.
func TestEnvironment(t *testing.T) {
	m := session.NewManager(session.Config{})
	defer m.Close(t.Context())
	srv := mcpapi.NewServer(mcpapi.Options{Sessions: m})
	good := EncodeEnvironment("/srv/\xff", []string{"SSH_AUTH_SOCK=/run/a", "LINES=a\nb\xff"})
	for _, test := range []struct {
		operator bool
		values   []string
		taken    bool
		refused  bool
	}{
		{true, []string{good}, true, false},
		{false, []string{good}, false, false},
		{true, nil, false, false},
		{true, []string{good, good}, false, true},
		{true, []string{"x"}, false, true},
		{true, []string{EncodeEnvironment("relative", nil)}, false, true},
	} {
		h := New(srv, Options{Operator: test.operator})
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, Path, strings.NewReader("{}"))
		if err != nil {
			t.Fatal(err)
		}
		r.Header[EnvironmentHeader] = test.values
		env, refused := h.environment(r)
		if (env != nil) != test.taken || (refused != nil) != test.refused {
			t.Errorf("environment(%q) for an operator %t = %v, %v; want it taken %t, refused %t", test.values, test.operator, env,
				refused, test.taken, test.refused)
		}
		if test.taken {
			dir, _ := env.Abs("")
			if dir != "/srv/\xff" || env.Get("SSH_AUTH_SOCK") != "/run/a" || env.Get("LINES") != "a\nb\xff" {
				t.Errorf("environment(%q) = %v in %q, want it as it was sent", test.values, (*term.Environment).List(env), dir)
			}
		}
		h.Close()
	}
}

// Whatever a client sends as its environment, it is refused or taken as it was meant.
func FuzzEnvironment(f *testing.F) {
	h := &Handler{o: Options{Operator: true}}
	f.Add("/srv", "A=1", "x")
	f.Fuzz(func(t *testing.T, dir, variable, raw string) {
		r := &http.Request{Header: http.Header{EnvironmentHeader: {raw}}}
		_, _ = h.environment(r) // must not panic
		if strings.Contains(dir+variable, "\x00") {
			return
		}
		r.Header[EnvironmentHeader] = []string{EncodeEnvironment(dir, []string{variable})}
		env, refused := h.environment(r)
		if whole := dir == "" || filepath.IsAbs(dir); (refused == nil) != whole {
			t.Fatalf("an environment in %q is refused %t, want %t", dir, refused != nil, !whole)
		}
		if name, value, ok := strings.Cut(variable, "="); refused == nil && ok && name != "" && env.Get(name) != value {
			t.Errorf("the variable %q has the value %q, want %q", name, env.Get(name), value)
		}
	})
}
