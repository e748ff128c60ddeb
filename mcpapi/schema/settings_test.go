package schema_test

import (
	"strings"
	"testing"

	"ptyctl/mcpapi/jsonrpc"
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

// An argument that depends on a setting is listed and taken where the operator has it. Elsewhere the refusal names the
// setting.
func TestArgumentsOfSettings(t *testing.T) {
	type args struct {
		Host  string `json:"host" doc:"name"`
		Limit int    `json:"limit" if:"max_*" doc:"less than max_*"`
	}
	declared := schema.Declare[args](schema.Tool{Name: "tool", Actions: []schema.Action{{Example: "{}"}}})
	for on, want := range map[string]bool{"true": true, "false": false} {
		tool := declared.WithSettings(schema.Settings{"max_*": on})
		_, err := tool.Checker("").Decode(jsonrpc.Split([]byte(`{"host":"h","limit":7}`)))
		if listed := strings.Contains(string(tool.InputSchema()), "limit"); listed != want || (err == nil) != want {
			t.Errorf("max_* %s: listed %v, error %v; want listed and taken: %v", on, listed, err, want)
		}
		if !want && !strings.Contains(err.Error(), "it needs max_* in the operator's configuration") {
			t.Errorf("the refusal is %v, want the setting in it", err)
		}
	}
	defer func() {
		if recover() == nil {
			t.Error("WithSettings without that setting returned, want a panic")
		}
	}()
	declared.WithSettings(schema.Settings{})
}
