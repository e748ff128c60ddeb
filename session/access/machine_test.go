package access_test

import (
	"testing"

	"ptyctl/session/access"
	"ptyctl/term"
)

// TestMachine: two names that lead to one account are one machine; another port, or another way there, leads to another
// one.
func TestMachine(t *testing.T) {
	machine := func(name string, port int, way ...string) string {
		t.Helper()
		k := access.New(access.Options{Protocol: "ssh", Host: name})
		target := term.Target{Protocol: "ssh", Host: name}
		var plan term.Plan
		for _, bastion := range way {
			if bastion == "proxy" {
				plan.Proxy = &term.PlannedHop{Host: bastion, Port: 1080}
				continue
			}
			plan.Hops = append(plan.Hops, term.PlannedHop{Alias: bastion, Host: bastion, Port: 22, User: "alice"})
		}
		plan.Hops = append(plan.Hops, term.PlannedHop{Alias: name, Host: "web.example", Port: port, User: "alice"})
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
	inner := machine("web", 22, "east.example")
	if again := machine("www", 22, "East.Example"); again != inner {
		t.Errorf("Machine behind the same bastion = %q, want %q", again, inner)
	}
	for _, way := range [][]string{nil, {"west.example"}, {"proxy"}, {"proxy", "east.example"}} {
		if other := machine("web", 22, way...); other == inner {
			t.Errorf("Machine by the way %q = %q, as behind another bastion; want another name", way, other)
		}
	}
}
