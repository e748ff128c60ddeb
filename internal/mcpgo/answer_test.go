package mcpgo

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/mark3labs/mcp-go/mcp"
)

// EncodeAnswer must write the same JSON as mcp-go.
func TestEncodeAnswer(t *testing.T) {
	text := mcp.NewTextContent("a\x1b[1m\"<&>\u2028\x00\xff\\ é")
	noted := text
	noted.Meta = mcp.NewMetaFromMap(map[string]any{"a": "b"})
	object := Object(`{"a":"<&>","b":[1,{}]}`)
	for name, c := range map[string]struct {
		result any
		plain  bool
	}{
		"text":           {&mcp.CallToolResult{Content: []mcp.Content{text}}, true},
		"both":           {&mcp.CallToolResult{Content: []mcp.Content{text}, StructuredContent: object}, true},
		"failure":        {&mcp.CallToolResult{Content: []mcp.Content{text}, StructuredContent: object, IsError: true}, true},
		"type":           {&mcp.CallToolResult{Content: []mcp.Content{text}, Result: mcp.Result{ResultType: mcp.ResultTypeComplete}}, true},
		"much":           {&mcp.CallToolResult{Content: []mcp.Content{mcp.NewTextContent(strings.Repeat("line\r\n", 20_000))}}, true},
		"two texts":      {&mcp.CallToolResult{Content: []mcp.Content{text, text}}, false},
		"no text":        {&mcp.CallToolResult{}, false},
		"meta":           {&mcp.CallToolResult{Content: []mcp.Content{text}, Result: mcp.Result{Meta: noted.Meta}}, false},
		"meta of text":   {&mcp.CallToolResult{Content: []mcp.Content{noted}}, false},
		"audience":       {&mcp.CallToolResult{Content: []mcp.Content{mcp.TextContent{Type: "text", Annotated: mcp.Annotated{Annotations: &mcp.Annotations{Audience: []mcp.Role{mcp.RoleUser}}}}}}, false},
		"others":         {&mcp.CallToolResult{Content: []mcp.Content{text}, StructuredContent: map[string]int{"a": 1}}, false},
		"question":       {&mcp.CallToolResult{Content: []mcp.Content{text}, MultiRoundTripResult: mcp.MultiRoundTripResult{RequestState: "s"}}, false},
		"no tool's call": {map[string]any{"tools": []string{}}, false},
	} {
		for _, id := range []string{"1", "12345678901234567890", `"a\"b"`} {
			if _, plain := plainAnswer(json.RawMessage(id), c.result); plain != c.plain {
				t.Errorf("%s: written by hand: %t", name, plain)
			}
			got, err := EncodeAnswer(json.RawMessage(id), mcp.NewJSONRPCResultResponse(mcp.NewRequestId(1), c.result))
			want, wantErr := json.Marshal(mcp.NewJSONRPCResultResponse(mcp.NewRequestId(json.RawMessage(id)), c.result))
			if err := errors.Join(err, wantErr); err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(exact(t, got), exact(t, want)) {
				t.Errorf("%s:\n%s\nwant\n%s", name, got, want)
			}
			if bytes.IndexByte(got, '\n') != len(got)-1 {
				t.Errorf("%s: not one line: %q", name, got)
			}
		}
	}
}

// exact reads JSON with its numbers as they are written.
func exact(t *testing.T, text []byte) (v any) {
	t.Helper()
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	if err := dec.Decode(&v); err != nil {
		t.Fatalf("%v in %q", err, text)
	}
	return v
}

// Structured content from another package is one line of JSON, or an error.
func TestNewObject(t *testing.T) {
	if o, err := NewObject(json.RawMessage("{\n \"a\": [1,\n2]\r\n}")); err != nil || string(o) != `{"a":[1,2]}` {
		t.Errorf("%s, %v", o, err)
	}
	for _, bad := range []string{"", "{", `{"a":1}}`, "{}\n{}"} {
		if o, err := NewObject(json.RawMessage(bad)); err == nil {
			t.Errorf("%q became %q", bad, o)
		}
	}
}

// A list of tools has annotations where they say something. A text that looks like them stays.
func TestEmptyAnnotations(t *testing.T) {
	const text = `{"annotations":{},"x":1}`
	one := mcp.NewToolWithRawSchema("one", text, json.RawMessage(`{"type":"object"}`))
	two := mcp.NewToolWithRawSchema("two", "", json.RawMessage(`{"type":"object"}`))
	two.Annotations.ReadOnlyHint = new(true)
	line, err := EncodeAnswer(json.RawMessage("7"), mcp.JSONRPCResponse{
		JSONRPC: "2.0", Result: mcp.ListToolsResult{Tools: []mcp.Tool{one, two}},
	})
	var got struct {
		ID     json.RawMessage
		Result struct{ Tools []map[string]json.RawMessage }
	}
	if err == nil {
		err = json.Unmarshal(line, &got)
	}
	if err != nil || string(got.ID) != "7" || len(got.Result.Tools) != 2 {
		t.Fatalf("EncodeAnswer = %s, %v; want the id 7 and two tools", line, err)
	}
	if a, listed := got.Result.Tools[0]["annotations"]; listed {
		t.Errorf("annotations of one = %s, want none", a)
	}
	if a := string(got.Result.Tools[1]["annotations"]); a != `{"readOnlyHint":true}` {
		t.Errorf("annotations of two = %s, want readOnlyHint alone", a)
	}
	var description string
	if err := json.Unmarshal(got.Result.Tools[0]["description"], &description); err != nil || description != text {
		t.Errorf("description of one = %q, %v; want %q", description, err, text)
	}
}
