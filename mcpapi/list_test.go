package mcpapi

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"ptyctl/mcpapi/jsonrpc"
	"ptyctl/session"
	"ptyctl/term"
)

// What tools/list may cost a model's context, in bytes: the core tools, and all there are.
const (
	maxList = 12000
	maxAll  = 15000
)

// withFiles offers the files of far sides.
var withFiles = session.Config{
	FarFiles: func(context.Context, io.ReadWriteCloser) (term.Files, error) { return nil, io.EOF },
}

// TestToolsList keeps the list of tools, byte by byte: models and prompt caches depend on it.
func TestToolsList(t *testing.T) {
	list := func(structured bool, revision string, sets ...string) json.RawMessage {
		srv := NewServer(
			Options{Sessions: session.NewManager(withFiles), Structured: structured, Toolsets: sets, Local: []string{"stdio"}},
		)
		got := newAgent(t, srv, revision).request("tools/list", `{}`)
		var result struct {
			Tools json.RawMessage
		}
		if err := json.Unmarshal(got.Result, &result); err != nil {
			t.Fatal(err)
		}
		return result.Tools
	}
	plain, structured := list(false, "2025-06-18", "core"), list(true, "2025-06-18", "core")
	for name, l := range map[string]json.RawMessage{"plain": plain, "structured": structured} {
		t.Logf("%s: %d bytes", name, len(l))
		if len(l) >= maxList {
			t.Errorf("%s: tools/list has %d bytes, must stay under %d", name, len(l), maxList)
		}
	}
	if all := list(true, "2025-06-18"); len(all) >= maxAll {
		t.Errorf("tools/list of all tools has %d bytes, must stay under %d", len(all), maxAll)
	} else {
		t.Logf("all: %d bytes", len(all))
	}
	var golden bytes.Buffer
	for _, part := range []struct {
		name string
		list json.RawMessage
	}{{"plain", plain}, {"structured", structured}, {"others", list(true, "2025-06-18", "local", "fs", "health")}} {
		var pretty bytes.Buffer
		if err := json.Indent(&pretty, part.list, "  ", " "); err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(
			&golden,
			"%s%q: %s",
			map[bool]string{true: "{\n", false: ",\n"}[golden.Len() == 0],
			part.name,
			pretty.Bytes(),
		)
	}
	golden.WriteString("\n}\n")
	compareGolden(t, "tools_list.json", golden.Bytes())

	for range 3 {
		if again := list(true, "2025-06-18", "core"); !bytes.Equal(again, structured) {
			t.Fatal("two servers list the tools in different bytes")
		}
	}
	if old := list(true, "2025-03-26", "core"); !bytes.Equal(old, plain) {
		t.Error("a client of a revision without structured content is told of output schemas")
	}
}

// TestSchemaDialect checks every schema for what clients are known to choke on.
func TestSchemaDialect(t *testing.T) {
	for _, tool := range tools() {
		for kind, schema := range map[string]json.RawMessage{"input": tool.inputSchema(), "output": tool.outputSchema(failure{})} {
			lintSchema(t, tool.Name+" "+kind, schema)
			var root struct {
				Type     string
				Required []string
			}
			if err := json.Unmarshal(schema, &root); err != nil || root.Type != "object" {
				t.Errorf("%s %s: root type is %q (%v)", tool.Name, kind, root.Type, err)
			}
			if kind == "output" && root.Required != nil {
				t.Errorf("%s: the output schema requires %v, which a failure has not", tool.Name, root.Required)
			}
		}
	}
}

// lintSchema checks one node and all below it.
func lintSchema(t *testing.T, path string, raw json.RawMessage) {
	t.Helper()
	node, err := sessionTool.checker("").members(path, raw)
	if err != nil {
		t.Errorf("%s: not an object with distinct members: %s", path, raw)
		return
	}
	var kind string
	has := make(map[string]json.RawMessage)
	for _, m := range node {
		if !slices.Contains([]string{"type", "properties", "required", "items", "enum", "description"}, m.Name) {
			t.Errorf("%s: keyword %q is not in the dialect", path, m.Name)
		}
		has[m.Name] = m.Value
	}
	if json.Unmarshal(has["type"], &kind) != nil ||
		!slices.Contains([]string{"string", "integer", "boolean", "array", "object"}, kind) {
		t.Errorf("%s: type is %s, want one scalar name", path, has["type"])
	}
	if (kind == "array") != (has["items"] != nil) {
		t.Errorf("%s: an array, and only an array, has items", path)
	}
	if has["items"] != nil {
		lintSchema(t, path+"[]", has["items"])
	}
	if has["properties"] != nil {
		if kind != "object" {
			t.Errorf("%s: a %s with properties", path, kind)
		}
		properties, err := sessionTool.checker("").members(path, has["properties"])
		if err != nil {
			t.Errorf("%s: properties: %s", path, has["properties"])
		}
		for _, p := range properties {
			lintSchema(t, path+"."+p.Name, p.Value)
		}
		var required []string
		if has["required"] != nil && json.Unmarshal(has["required"], &required) != nil {
			t.Errorf("%s: required: %s", path, has["required"])
		}
		for _, r := range required {
			if !slices.ContainsFunc(properties, func(m jsonrpc.Member) bool { return m.Name == r }) {
				t.Errorf("%s: requires %q, which is no property", path, r)
			}
		}
	}
	if has["enum"] != nil {
		var values []string
		if kind != "string" || json.Unmarshal(has["enum"], &values) != nil || len(values) == 0 {
			t.Errorf("%s: enum %s of a %s", path, has["enum"], kind)
		}
	}
}

// TestExamples checks that every example in a message or description is a correct call.
func TestExamples(t *testing.T) {
	for _, tool := range tools() {
		for _, a := range tool.Actions {
			if _, err := tool.decode(json.RawMessage(a.Example), a.Name); err != nil {
				t.Errorf("%s %s: the example fails: %v", tool.Name, a.Name, err)
			}
			if got, err := tool.actionOf(json.RawMessage(a.Example)); err != nil || got.Name != a.Name {
				t.Errorf("%s %s: the example is of action %q (%v)", tool.Name, a.Name, got.Name, err)
			}
			if len(a.Example) > 2000 || len(a.About) > 2000 {
				t.Errorf("%s %s: example or description are too long", tool.Name, a.Name)
			}
			if tool.hasActions() == (a.About == "") {
				t.Errorf("%s %q: a description where there are actions, and only there", tool.Name, a.Name)
			}
		}
		// Some clients cut a description at 2 KiB.
		if n := len(tool.description()); n > 2000 {
			t.Errorf("%s: the description has %d bytes", tool.Name, n)
		}
	}
	if len(instructions) > 2000 {
		t.Errorf("the instructions have %d bytes", len(instructions))
	}
}

// TestTables checks that the tables hold together: names are unique, actions exist, nothing is both known and
// unreachable.
func TestTables(t *testing.T) {
	for _, tool := range tools() {
		if !strings.HasPrefix(tool.Name, "ptyctl_") || tool.Title == "" {
			t.Errorf("%q: name or title", tool.Name)
		}
		var visit func(path string, fields []Field)
		visit = func(path string, fields []Field) {
			seen := make(map[string]bool)
			for i := range fields {
				f := &fields[i]
				if seen[f.Name] || f.Name == "" || f.Kind == "" {
					t.Errorf("%s %s%s: twice, or without name or kind", tool.Name, path, f.Name)
				}
				seen[f.Name] = true
				for _, a := range slices.Concat(f.Actions, f.Required) {
					if _, ok := tool.action(a); !ok && a != "*" {
						t.Errorf("%s %s: action %q does not exist", tool.Name, f.Name, a)
					}
				}
				for _, a := range f.Required {
					if a != "*" && !f.takes(a) {
						t.Errorf("%s %s: required by %q, which does not take it", tool.Name, f.Name, a)
					}
				}
				if path != "" && (f.Actions != nil || f.Required != nil) {
					t.Errorf("%s %s%s: only fields of a call belong to actions", tool.Name, path, f.Name)
				}
				visit(path+f.Name+".", f.Fields)
			}
		}
		visit("", tool.Fields)
		visit("output ", tool.Output)
	}
}
