package fleetrun

import (
	"encoding/json"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"ptyctl/internal/leaktest"
	"ptyctl/mcpapi/schema"
	"ptyctl/mcpapi/tools/fleet"
)

func TestMain(m *testing.M) { os.Exit(leaktest.Main(m)) }

// The arguments that the command gives are those of the tool.
func TestCallIsTheTool(t *testing.T) {
	if fleet.Tool.Name != Tool {
		t.Errorf("the tool is called %s, want %s", fleet.Tool.Name, Tool)
	}
	kinds := map[reflect.Kind]schema.Kind{
		reflect.String: schema.KindString, reflect.Int: schema.KindInteger, reflect.Int64: schema.KindInteger,
		reflect.Slice: schema.KindStrings,
	}
	for f := range reflect.TypeFor[Call]().Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		i := slices.IndexFunc(fleet.Tool.Fields, func(a schema.Field) bool { return a.Name == name })
		if name != "action" && (i < 0 || fleet.Tool.Fields[i].Kind != kinds[f.Type.Kind()]) {
			t.Errorf("the tool has no argument %s of kind %s", name, kinds[f.Type.Kind()])
		}
	}
}

// A run that takes several calls has the same result as one that takes one.
func TestCompletes(t *testing.T) {
	last := result{Action: "status", raw: json.RawMessage(`{"action":"status","hosts":2,"groups":[{"stdout":"\"action\":\"status\""}]}` + "\n")}
	last.completes(result{Action: "run", Warnings: []string{"a \"note\""}})
	want := `{"action":"run","hosts":2,"groups":[{"stdout":"\"action\":\"status\""}],"warnings":["a \"note\""]}`
	if string(last.raw) != want || len(last.Warnings) != 1 {
		t.Errorf("the result of a second call is %s, %q; want %s", last.raw, last.Warnings, want)
	}
	last.completes(result{Action: "run", Warnings: []string{"again"}})
	if string(last.raw) != want {
		t.Errorf("the result of the only call is %s, want it as it was: %s", last.raw, want)
	}
}
