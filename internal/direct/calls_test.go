package direct

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"ptyctl/internal/client"
	"ptyctl/internal/fleetrun"
	"ptyctl/mcpapi"
	"ptyctl/secret"
	"ptyctl/session"
)

// The structs of the calls that commands make hold arguments that the tools have, of the types that they take.
func TestCallsAreTheTools(t *testing.T) {
	tools := mcpapi.NewServer(mcpapi.Options{
		Sessions: session.NewManager(session.Config{}), Secrets: new(secret.Store),
		Toolsets: []string{"core", "local", "fs", "health", "device", "fleet"},
	}).Tools()
	for _, tt := range []struct {
		tool string
		call any
	}{
		{client.ToolSession, client.SessionCall{}},
		{client.ToolSession, client.ReopenCall{}},
		{client.ToolSession, client.WaitCall{}},
		{client.ToolSession, openCall{}},
		{client.ToolConfig, client.ConfigCall{}},
		{client.ToolIO, client.IOCall{}},
		{client.ToolIO, client.PasteCall{}},
		{client.ToolExec, client.PasteWait{}},
		{client.ToolExec, execCall{}},
		{fleetrun.Tool, fleetrun.Call{}},
		{fleetrun.FilesTool, fleetrun.CopyCall{}},
	} {
		var schema schemaNode
		if err := json.Unmarshal(tools[tt.tool].InputSchema(), &schema); err != nil {
			t.Fatalf("schema of %s: %v", tt.tool, err)
		}
		checkCall(t, tt.tool, reflect.TypeOf(tt.call), schema)
	}
}

type schemaNode struct {
	Type       string
	Properties map[string]schemaNode
}

func checkCall(t *testing.T, path string, call reflect.Type, schema schemaNode) {
	t.Helper()
	for f := range call.Fields() {
		if f.Anonymous {
			checkCall(t, path, f.Type, schema)
			continue
		}
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		of, types := f.Type, map[reflect.Kind]string{
			reflect.String: "string", reflect.Int: "integer", reflect.Int64: "integer", reflect.Bool: "boolean",
			reflect.Slice: "array", reflect.Struct: "object",
		}
		if of.Kind() == reflect.Pointer {
			of = of.Elem()
		}
		got, ok := schema.Properties[name]
		if want := types[of.Kind()]; !ok || got.Type != want {
			t.Errorf("%s.%s is %q in the schema, want %q for %v.%s", path, name, got.Type, want, call, f.Name)
		}
		if of.Kind() == reflect.Struct {
			checkCall(t, path+"."+name, of, got)
		}
	}
}
