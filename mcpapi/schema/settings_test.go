package schema_test

import (
	"strings"
	"testing"

	"ptyctl/mcpapi/schema"
)

// TestWithSettings checks the defaults that a description takes from the operator's settings, and that a tool with a
// wrong name of one cannot be offered.
func TestWithSettings(t *testing.T) {
	type inner struct {
		Policy string `json:"policy" doc:"default {policy}"`
	}
	type args struct {
		Wait int   `json:"wait" doc:"milliseconds; default {wait}; from now"`
		Max  int   `json:"max" doc:"default {900 wait size}"`
		More inner `json:"more"`
	}
	declared := schema.Declare[args](schema.Tool{Actions: []schema.Action{{}}})
	got := string(declared.WithSettings(schema.Settings{"wait": "1000", "size": "800", "policy": "ask"}).InputSchema())
	for _, want := range []string{`"milliseconds; default 1000; from now"`, `"default 800"`, `"default ask"`} {
		if !strings.Contains(got, want) {
			t.Errorf("schema = %s, want %s in it", got, want)
		}
	}
	if text := string(declared.InputSchema()); !strings.Contains(text, "{wait}") {
		t.Errorf("the table has changed to %s, want the settings' names in it: other servers have other values", text)
	}
	for name, settings := range map[string]schema.Settings{
		"an unknown setting":   {"size": "800", "policy": "ask"},
		"a number that is not": {"wait": "long", "size": "800", "policy": "ask"},
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: WithSettings returned, want a panic", name)
				}
			}()
			declared.WithSettings(settings)
		}()
	}
}
