package kpty

import (
	"encoding/json"
	"slices"
	"testing"

	"ptyctl/mcpapi/toolset"
)

// Sessions of other nodes are listed as long as there is room. The list names a node with an invalid answer.
func TestListOfNodes(t *testing.T) {
	out := listOut{OK: true, Sessions: make([]sessionOut, toolset.MaxGathered-2)}
	two, err := json.Marshal(listOut{Sessions: []sessionOut{{SessionID: "x@a"}, {SessionID: "y@a"}}})
	if err != nil {
		t.Fatal(err)
	}
	out.add(toolset.Gathered{Node: "a", Result: two})
	if last := out.Sessions[len(out.Sessions)-1]; out.More || last.SessionID != "y@a" {
		t.Errorf("more is %v, and the last is %+v; want both of node a", out.More, last)
	}
	out.add(toolset.Gathered{Node: "b", Result: two})
	out.add(toolset.Gathered{Node: "c", Result: json.RawMessage(`"old"`)})
	if len(out.Sessions) != toolset.MaxGathered || !out.More || !slices.Equal(out.Unanswered, []string{"c"}) {
		t.Errorf("%d sessions, more %v, unanswered %v", len(out.Sessions), out.More, out.Unanswered)
	}
}
