package fleetrun

import (
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
