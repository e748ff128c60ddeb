package access_test

import (
	"testing"

	"ptyctl/session/access"
	"ptyctl/term"
)

// TestMachine: two names that lead to one account are one machine, and two ports of one host are two.
func TestMachine(t *testing.T) {
	machine := func(name string, port int) string {
		k := access.New(access.Options{Protocol: "ssh", Host: name})
		target := term.Target{Protocol: "ssh", Host: name}
		plan := term.Plan{Hops: []term.PlannedHop{{Alias: name, Host: "web.example", Port: port, User: "alice"}}}
		if _, err := k.Approve(term.Actor{}, target)(t.Context(), plan); err != nil {
			t.Fatalf("Approve(%+v): %v", plan, err)
		}
		return k.Machine()
	}
	one := machine("web", 22)
	if alias := machine("www", 22); alias != one {
		t.Errorf("Machine of an alias = %q, want %q", alias, one)
	}
	if other := machine("web", 2222); other == one {
		t.Errorf("Machine of another port = %q, want another name than that of port 22", other)
	}
}
