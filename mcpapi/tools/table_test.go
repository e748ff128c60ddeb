package tools

import (
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"

	"ptyctl/mcpapi/jsonrpc"
	"ptyctl/mcpapi/schema"
	"ptyctl/mcpapi/wire"
	"ptyctl/session/lane"
	"ptyctl/session/shell"
	"ptyctl/term"
)

// TestBoundsAreTheEngines compares the numbers that tags repeat.
func TestBoundsAreTheEngines(t *testing.T) {
	pages := fieldAt(t, execTool.Fields, "expect.auto_page.max_pages")
	if about := pages.About; pages.Max != lane.MaxPages || !strings.Contains(about, "100") || lane.DefaultPages != 100 {
		t.Errorf("max_pages is at most %d (%s), want %d, and %d by default", pages.Max, about, lane.MaxPages,
			lane.DefaultPages)
	}
	if class := fieldAt(t, execTool.Fields, "class"); !slices.Equal(class.Enum, shell.Classes()) {
		t.Errorf("class is one of %q, want %q", class.Enum, shell.Classes())
	}
	if port := fieldAt(t, sessionTool.Fields, "port"); port.Max != math.MaxUint16 {
		t.Errorf("port is at most %d, want %d", port.Max, math.MaxUint16)
	}
}

func fieldAt(t *testing.T, fields []schema.Field, path string) *schema.Field {
	t.Helper()
	name, rest, below := strings.Cut(path, ".")
	i := slices.IndexFunc(fields, func(f schema.Field) bool { return f.Name == name })
	if i < 0 {
		t.Fatalf("there is no argument %s", path)
	}
	if below {
		return fieldAt(t, fields[i].Fields, rest)
	}
	return &fields[i]
}

// A tool with reading actions has a separate description for readers, which does not mention its other actions.
func TestForReading(t *testing.T) {
	for _, tool := range All() {
		r := tool.ForReading()
		if (r != nil) != (tool.Reading != "") {
			t.Errorf("%s: reading %q, but its actions say otherwise", tool.Name, tool.Reading)
		}
		if r == nil {
			continue
		}
		texts := func(t *schema.Tool) int { return len(t.About) + len(t.InputSchema()) }
		if full, reading := texts(tool.Tool), texts(r); tool.HasActions() && reading >= full {
			t.Errorf("%s: its texts for a reader have %d bytes, want less than all %d", tool.Name, reading, full)
		}
		for _, f := range r.Fields {
			// diff runs a command unless two snapshots are given.
			if f.Name == "task_id" && !f.Takes("diff") || strings.Contains(f.About, "[write]") || strings.Contains(f.About, "[open]") {
				t.Errorf("%s still takes %s: %s", tool.Name, f.Name, f.About)
			}
		}
		for _, a := range r.Actions {
			if got, want := r.FieldsOf(a.Name), tool.FieldsOf(a.Name); !slices.Equal(got, want) {
				t.Errorf("%s %s takes %v, want %v", tool.Name, a.Name, got, want)
			}
		}
	}
}

// maxText is where common clients cut a description, or a server's instructions, off.
const maxText = 2048

func TestTextsFitTheClients(t *testing.T) {
	if len(instructions) >= maxText {
		t.Errorf("the instructions have %d bytes", len(instructions))
	}
	for _, tl := range All() {
		if d := tl.About; len(d) >= maxText {
			t.Errorf("%s: the description has %d bytes", tl.Name, len(d))
		}
		if !strings.Contains(instructions, tl.Name) && tl.Name != configTool.Name {
			t.Errorf("the instructions do not say what %s is for", tl.Name)
		}
	}
}

// TestSchemaDialect checks that no schema has a feature that clients are known to choke on.
func TestSchemaDialect(t *testing.T) {
	for _, tool := range All() {
		for kind, schema := range map[string]json.RawMessage{
			"input":  tool.InputSchema(),
			"output": tool.OutputSchema(wire.Failure{}),
		} {
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

// distinct returns the members of an object, each of another name.
func distinct(t *testing.T, path string, raw json.RawMessage) []jsonrpc.Member {
	t.Helper()
	if len(raw) == 0 || raw[0] != '{' || !json.Valid(raw) {
		t.Errorf("%s: not an object: %s", path, raw)
		return nil
	}
	members := jsonrpc.Split(raw)
	seen := make(map[string]bool)
	for _, m := range members {
		if seen[m.Name] {
			t.Errorf("%s: the member %q comes twice in %s", path, m.Name, raw)
		}
		seen[m.Name] = true
	}
	return members
}

// lintSchema checks one node and all below it.
func lintSchema(t *testing.T, path string, raw json.RawMessage) {
	t.Helper()
	node := distinct(t, path, raw)
	var kind string
	has := make(map[string]json.RawMessage)
	for _, m := range node {
		if !slices.Contains([]string{"type", "properties", "required", "items", "enum", "description"}, m.Name) {
			t.Errorf("%s: keyword %q is not in the dialect", path, m.Name)
		}
		has[m.Name] = m.Value
	}
	if has["type"] == nil && len(node) == 1 && strings.HasSuffix(string(has["description"]), ` or null"`) {
		return // of a result; a type cannot say that
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
		properties := distinct(t, path+" properties", has["properties"])
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
	for _, tool := range All() {
		for _, a := range tool.Actions {
			if _, err := tool.Decode(json.RawMessage(a.Example), a.Name); err != nil {
				t.Errorf("%s %s: the example fails: %v", tool.Name, a.Name, err)
			}
			if got, err := tool.ActionOf(json.RawMessage(a.Example)); err != nil || got.Name != a.Name {
				t.Errorf("%s %s: the example is of action %q (%v)", tool.Name, a.Name, got.Name, err)
			}
			if len(a.Example) > 2000 || len(a.About) > 2000 {
				t.Errorf("%s %s: example or description are too long", tool.Name, a.Name)
			}
			if tool.HasActions() == (a.About == "") {
				t.Errorf("%s %q: a description where there are actions, and only there", tool.Name, a.Name)
			}
		}
		// Some clients cut a description at 2 KiB.
		if n := len(tool.About); n > 2000 {
			t.Errorf("%s: the description has %d bytes", tool.Name, n)
		}
	}
	// They are in the context of every model from the first message on.
	if len(instructions) > 1200 {
		t.Errorf("the instructions have %d bytes", len(instructions))
	}
}

// The example for the host of a run names the run.
func TestExampleOfAHostOfARun(t *testing.T) {
	table := Part(ioTool.Tool, func(string) bool { return true })
	err := table.Checker("read").Invalid("host", nil, "wrong")
	var given map[string]any
	example := term.FactOf[term.ArgumentFault](err).Example
	if json.Unmarshal([]byte(example), &given) != nil || given["fleet_id"] == nil || given["host"] == nil ||
		given["session_id"] != nil {
		t.Errorf("the example for host is %s; want it to have fleet_id and host", example)
	}
}

// TestTables checks that the tables hold together: names are unique, actions exist, nothing is both known and
// unreachable.
func TestTables(t *testing.T) {
	for _, tool := range All() {
		if !strings.HasPrefix(tool.Name, "ptyctl_") || tool.Title == "" {
			t.Errorf("%q: name or title", tool.Name)
		}
		var visit func(path string, fields []schema.Field)
		visit = func(path string, fields []schema.Field) {
			seen := make(map[string]bool)
			for i := range fields {
				f := &fields[i]
				if seen[f.Name] || f.Name == "" || f.Kind == "" {
					t.Errorf("%s %s%s: twice, or without name or kind", tool.Name, path, f.Name)
				}
				seen[f.Name] = true
				for _, a := range slices.Concat(f.Actions, f.Required) {
					if _, ok := tool.Action(a); !ok && a != "*" {
						t.Errorf("%s %s: action %q does not exist", tool.Name, f.Name, a)
					}
				}
				for _, a := range f.Required {
					if a != "*" && !f.Takes(a) {
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
