package files

import (
	"encoding/json"
	"strings"
	"testing"

	"ptyctl/mcpapi/schema"
	"ptyctl/term"
)

// The example of each action, and the one that an error about an argument shows, is a call that the whole table takes,
// with the arguments for many hosts.
func TestExamples(t *testing.T) {
	for _, a := range Tool.Actions {
		if _, err := Tool.Decode(json.RawMessage(a.Example), a.Name); err != nil {
			t.Errorf("the example of %s, %s, is refused: %v", a.Name, a.Example, err)
		}
		for i := range Tool.Fields {
			if f := &Tool.Fields[i]; f.Takes(a.Name) {
				wantExample(t, a.Name, f.Name)
				for j := range f.Fields {
					if f.Kind == schema.KindObject {
						wantExample(t, a.Name, f.Name+"."+f.Fields[j].Name)
					}
				}
			}
		}
	}
}

func wantExample(t *testing.T, action, path string) {
	t.Helper()
	type place struct{ Hosts []string }
	var call struct {
		To     place
		Canary int
	}
	example := term.FactOf[term.ArgumentFault](Tool.Checker(action).Invalid(path, nil, "wrong")).Example
	if _, err := Tool.Decode(json.RawMessage(example), action); err != nil {
		t.Errorf("the example for %s of %s, %s, is refused: %v", path, action, example, err)
	}
	if err := json.Unmarshal([]byte(example), &call); err != nil {
		t.Fatal(err)
	}
	if path == "canary" && (call.To.Hosts != nil) != (action == "copy") {
		t.Errorf("the example for %s of %s is %s; want to.hosts for a copy alone", path, action, example)
	}
}

// Without the set for many hosts the tool has no part of it, and the error of its action says how to get it.
func TestWithoutMany(t *testing.T) {
	table := Tool.Without(ofMany, "it is elsewhere")
	for i := range table.Fields {
		f := &table.Fields[i]
		if f.Is(ofMany) || f.Takes("collect") && len(f.Actions) > 0 {
			t.Errorf("%s is left, for the actions %v", f.Name, f.Actions)
		}
		for j := range f.Fields {
			if f.Fields[j].Is(ofMany) {
				t.Errorf("%s.%s is left", f.Name, f.Fields[j].Name)
			}
		}
	}
	if _, err := table.ActionOf(json.RawMessage(`{"action":"collect"}`)); err == nil || !strings.Contains(err.Error(), "elsewhere") {
		t.Errorf("the action collect: %v; want what would bring it", err)
	}
}
