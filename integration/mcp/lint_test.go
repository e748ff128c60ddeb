package mcp

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"

	"ptyctl/internal/lab"
)

// The limits of clients: the smallest that each of them was seen to accept.
const (
	maxToolsList   = 14750 // bytes of all tools: they are in a model's context from beginning to end
	maxDescription = 2048  // bytes; Claude Code cuts a tool's description, and a server's instructions, there
	maxFullName    = 60    // bytes of "mcp__ptyctl__" and the tool's name; Cursor's
)

// TestToolsListLint reads tools/list as the strictest clients do: some drop a tool, or the whole server, over one
// schema that others find in order.
func TestToolsListLint(t *testing.T) {
	t.Parallel()
	h := lab.NewHome(t, "[fs]", "remote = true") // so that all there is, is listed
	for _, mode := range []struct {
		args       []string
		structured bool // results come as structuredContent too, so that their schema is listed
		most       int
	}{
		{nil, true, 21500},
		{[]string{"--toolsets", "core"}, true, 16384}, // with the schemas of results
		{[]string{"--toolsets", "core", "--results", "compact"}, false, maxToolsList},
		{[]string{"--read-only"}, true, maxToolsList},
		{[]string{"--toolsets", "pty"}, false, maxToolsList},
	} {
		t.Run(strings.Join(mode.args, " "), func(t *testing.T) {
			t.Parallel()
			c := h.Converse(t, mode.args...)
			l := linter{t: t, c: c}
			var hello struct {
				Result struct{ Instructions string }
			}
			if err := json.Unmarshal(c.Hello, &hello); err != nil || hello.Result.Instructions == "" {
				t.Errorf("no instructions (%v): %s", err, c.Hello)
			}
			l.description("instructions", hello.Result.Instructions)
			list := listTools(c)
			if again := listTools(c); !bytes.Equal(list, again) {
				t.Error("two lists differ, so that no cache of prompts holds")
			}
			if lab.ThroughDaemon { // which has the action adopt besides
				mode.most += 100
			}
			if len(list) >= mode.most {
				t.Errorf("the list has %d bytes, must stay under %d", len(list), mode.most)
			}
			var all []listedTool
			if err := json.Unmarshal(list, &all); err != nil || len(all) == 0 {
				t.Fatalf("%v: %s", err, list)
			}
			for _, tool := range all {
				l.tool(tool, mode.structured)
			}
		})
	}
}

// A listedTool is an entry of tools/list.
type listedTool struct {
	Name, Description         string
	InputSchema, OutputSchema json.RawMessage
	Annotations               struct{ Title string }
}

// listTools returns the array of tools, as it is on the wire.
func listTools(c *lab.Conversation) json.RawMessage {
	c.TB.Helper()
	c.Send(`{"jsonrpc":"2.0","id":"list","method":"tools/list"}` + "\n")
	a := c.Next()
	var message struct {
		Result struct{ Tools json.RawMessage }
	}
	if err := json.Unmarshal(a.Line, &message); err != nil || string(a.ID) != `"list"` {
		c.TB.Fatalf("%v: %s", err, a.Line)
	}
	return message.Result.Tools
}

// A linter judges the tools of one server.
type linter struct {
	t *testing.T
	c *lab.Conversation
}

func (l linter) tool(tool listedTool, structured bool) {
	l.t.Helper()
	if full := "mcp__ptyctl__" + tool.Name; !regexp.MustCompile(`^[a-z][a-z0-9_]+$`).MatchString(tool.Name) ||
		len(full) > maxFullName {
		l.t.Errorf(
			"%q: a name of lower-case letters, digits and underscores, %d bytes at most with the client's prefix",
			full,
			maxFullName,
		)
	}
	if titled := structured || !strings.HasPrefix(tool.Name, "ptyctl_"); titled != (tool.Annotations.Title != "") {
		l.t.Errorf("%s: the title is %q, want one for programs and for foreign tools alone", tool.Name, tool.Annotations.Title)
	}
	l.description(tool.Name, tool.Description)
	if tool.Description == "" {
		l.t.Errorf("%s has no description", tool.Name)
	}
	input := l.schema(tool.Name+" input", tool.InputSchema)
	if structured != (tool.OutputSchema != nil) {
		l.t.Errorf("%s: the output schema is %q, while structured results are %v", tool.Name, tool.OutputSchema, structured)
	}
	if structured {
		l.schema(tool.Name+" output", tool.OutputSchema)
		l.output(tool.Name, tool.OutputSchema)
	}
	if input == nil {
		return
	}
	for _, example := range l.examples(tool) {
		var v any
		err := json.Unmarshal([]byte(example), &v)
		if err == nil {
			err = input.Validate(v)
		}
		if err != nil {
			l.t.Errorf("%s: the example %s is not a correct call: %v", tool.Name, example, err)
		}
	}
}

// description checks a text that models read.
func (l linter) description(path, text string) {
	l.t.Helper()
	if len(text) > maxDescription {
		l.t.Errorf("%s: the description has %d bytes, must stay under %d", path, len(text), maxDescription)
	}
	if strings.TrimSpace(text) != text {
		l.t.Errorf("%s: the description %q has blanks at an end", path, text)
	}
}

// output checks that a failure fits the schema of results: clients hold both against it.
func (l linter) output(tool string, raw json.RawMessage) {
	l.t.Helper()
	var schema struct {
		Properties map[string]struct{ Type string }
	}
	if err := json.Unmarshal(raw, &schema); err != nil {
		l.t.Fatal(err)
	}
	for name, kind := range map[string]string{
		"error_code": "string", "message": "string", "retryable": "boolean", "details": "object",
	} {
		if schema.Properties[name].Type != kind {
			l.t.Errorf("%s: the output schema does not declare %s as %s", tool, name, kind)
		}
	}
	if bytes.Contains(raw, []byte(`"required"`)) {
		l.t.Errorf("%s: the output schema requires a member, which a failure lacks", tool)
	}
}

// examples are the calls that a tool's texts show: in descriptions, and in the answer to a call of each action that has
// a field too many.
func (l linter) examples(tool listedTool) []string {
	l.t.Helper()
	found := examplesIn(tool.Description + string(tool.InputSchema))
	var schema struct {
		Properties struct{ Action struct{ Enum []string } }
	}
	if err := json.Unmarshal(tool.InputSchema, &schema); err != nil {
		l.t.Fatal(err)
	}
	wrong := []string{`{"no_such_field":1}`}
	for _, action := range schema.Properties.Action.Enum {
		wrong = append(wrong, fmt.Sprintf(`{"action":%q,"no_such_field":1}`, action))
	}
	for _, arguments := range wrong {
		var answer struct {
			ErrorCode string `json:"error_code"`
			Details   struct{ Example string }
		}
		l.c.Ask(tool.Name, arguments)
		reply := l.c.Next()
		if len(reply.Result.Content) != 1 {
			l.t.Fatalf("%s %s: %s", tool.Name, arguments, reply.Line)
		}
		text := reply.Result.Content[0].Text
		if _, example, ok := strings.Cut(text, "; a correct call: "+tool.Name+" "); ok &&
			!strings.HasPrefix(text, "{") { // in the form of another program
			found = append(found, example)
			continue
		}
		if err := json.Unmarshal([]byte(text), &answer); err != nil {
			l.t.Fatal(err)
		}
		if answer.ErrorCode != "INVALID_ARGUMENT" || answer.Details.Example == "" {
			l.t.Errorf("%s %s: want INVALID_ARGUMENT with an example: %s", tool.Name, arguments, text)
			continue
		}
		found = append(found, answer.Details.Example)
	}
	return found
}

// examplesIn returns the calls in a text: JSON objects that name an action or a session.
func examplesIn(text string) (found []string) {
	for at, c := range text {
		if c != '{' {
			continue
		}
		var object map[string]json.RawMessage
		dec := json.NewDecoder(strings.NewReader(text[at:]))
		if dec.Decode(&object) != nil {
			continue
		}
		var action string
		if json.Unmarshal(object["action"], &action) == nil {
			found = append(found, text[at:at+int(dec.InputOffset())])
		}
	}
	return found
}

// schema checks that a schema compiles and uses only features that every client accepts.
func (l linter) schema(path string, raw json.RawMessage) *jsonschema.Resolved {
	l.t.Helper()
	root := l.node(path, raw)
	if string(root["type"]) != `"object"` {
		l.t.Errorf("%s: the root's type is %s, want object", path, root["type"])
	}
	schema, err := resolved(raw)
	if err != nil {
		l.t.Errorf("%s: %v", path, err)
	}
	return schema
}

// resolved returns a schema that can validate.
func resolved(raw json.RawMessage) (*jsonschema.Resolved, error) {
	var schema jsonschema.Schema
	if err := json.Unmarshal(raw, &schema); err != nil {
		return nil, err
	}
	return schema.Resolve(nil)
}

// node checks one schema and all within it. The dialect: one scalar type, and properties, items and enums of strings;
// no reference, combinator, union or boolean schema.
func (l linter) node(path string, raw json.RawMessage) map[string]json.RawMessage {
	l.t.Helper()
	var node map[string]json.RawMessage
	if err := json.Unmarshal(raw, &node); err != nil || node == nil {
		l.t.Errorf("%s: %s is not an object", path, raw)
		return nil
	}
	for keyword := range node {
		if !slices.Contains([]string{"type", "properties", "required", "items", "enum", "description"}, keyword) {
			l.t.Errorf("%s: some client does not take the keyword %q", path, keyword)
		}
	}
	if node["type"] == nil && len(node) == 1 && strings.HasSuffix(string(node["description"]), ` or null"`) {
		return node // of a result; a type cannot say that
	}
	var kind, about string
	if json.Unmarshal(node["type"], &kind) != nil ||
		!slices.Contains([]string{"string", "integer", "boolean", "array", "object"}, kind) {
		l.t.Errorf("%s: type is %s, want one name", path, node["type"])
	}
	if node["description"] != nil {
		if err := json.Unmarshal(node["description"], &about); err != nil {
			l.t.Errorf("%s: description: %v", path, err)
		}
		l.description(path, about)
	}
	if (kind == "array") != (node["items"] != nil) {
		l.t.Errorf("%s: arrays, and only they, have items", path)
	}
	if node["items"] != nil {
		l.node(path+"[]", node["items"])
	}
	var values []string
	if node["enum"] != nil && (kind != "string" || json.Unmarshal(node["enum"], &values) != nil || len(values) == 0) {
		l.t.Errorf("%s: the enum %s of a %s, want strings", path, node["enum"], kind)
	}
	var properties map[string]json.RawMessage
	if node["properties"] != nil && (kind != "object" || json.Unmarshal(node["properties"], &properties) != nil) {
		l.t.Errorf("%s: a %s with the properties %s", path, kind, node["properties"])
	}
	for name, property := range properties {
		l.node(path+"."+name, property)
	}
	var required []string
	if node["required"] != nil && json.Unmarshal(node["required"], &required) != nil {
		l.t.Errorf("%s: required: %s", path, node["required"])
	}
	for _, name := range required {
		if properties[name] == nil {
			l.t.Errorf("%s requires %q, which is not a property", path, name)
		}
	}
	return node
}
