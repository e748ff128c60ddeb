package term

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func TestEnvironment(t *testing.T) {
	dir := t.TempDir()
	e := NewEnvironment(dir, []string{"A=1", "B=", "A=2", "nonsense", "=x", "C=a=b"})
	for name, want := range map[string]string{"A": "1", "B": "", "C": "a=b"} {
		if got, ok := e.Lookup(name); !ok || got != want {
			t.Errorf("Lookup(%q) = %q, %t, want %q", name, got, ok, want)
		}
	}
	if value, ok := e.Lookup("PATH"); ok {
		t.Errorf("Lookup(PATH) = %q: it is this process's, want it unset", value)
	}
	if got, want := e.List(), []string{"A=1", "B=", "C=a=b"}; !slices.Equal(got, want) {
		t.Errorf("List() = %q, want %q", got, want)
	}
	if got := NewEnvironment("", nil).List(); got == nil {
		t.Error("List() of an empty environment is nil, which os/exec reads as that of this process")
	}
	own, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		e          *Environment
		path, want string
	}{
		{e, "", dir}, {e, "x/../y", filepath.Join(dir, "y")}, {e, "/etc", "/etc"},
		{nil, "", own}, {NewEnvironment("", nil), "x", filepath.Join(own, "x")},
	} {
		if got, err := test.e.Abs(test.path); err != nil || got != test.want {
			t.Errorf("Abs(%q) = %q, %v, want %q", test.path, got, err, test.want)
		}
	}
	if got := EnvironmentFrom(WithEnvironment(context.Background(), e)); got != e {
		t.Errorf("EnvironmentFrom = %v, want the one that was given", got)
	}
	if got := EnvironmentFrom(context.Background()); got != nil {
		t.Errorf("EnvironmentFrom of a bare context = %v, want nil", got)
	}
}
