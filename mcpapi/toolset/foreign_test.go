package toolset_test

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"ptyctl/mcpapi"
	"ptyctl/mcpapi/identity"
	"ptyctl/mcpapi/internal/mcptest"
	"ptyctl/mcpapi/schema"
	"ptyctl/mcpapi/toolset"
	"ptyctl/mcpapi/wire"
	"ptyctl/session"
	"ptyctl/term"
)

// foreignArgs and foreignOut are the arguments and the result of a tool with its own contract.
type (
	foreignArgs struct {
		ID  string            `json:"id" need:"*"`
		Env map[string]string `json:"env"`
	}
	foreignOut struct {
		Code string `json:"code" is:"listed"`
	}
)

// foreign is a set of tools with its own contract.
func foreign(handle func(context.Context, *toolset.Call, *foreignArgs) (any, error)) toolset.Set {
	return toolset.Set{
		Name: "foreign", Instructions: "Use foreign_tool.",
		Tools: []*toolset.Tool{toolset.Bind(schema.Tool{
			Name: "foreign_tool", About: "Does it.", Local: true,
			Actions: []schema.Action{{Example: `{"id":"x"}`}},
		}, handle, foreignOut{})},
		Fail: func(err error) wire.Answer {
			return wire.Answer{
				Text:       "Error: " + err.Error(),
				Structured: json.RawMessage(`{"code":"` + string(term.KindOf(err)) + `"}`),
				IsError:    true,
			}
		},
		Failure: foreignOut{},
	}
}

func TestCheckToolsets(t *testing.T) {
	other := toolset.Set{Name: "other", Tools: []*toolset.Tool{{Tool: &schema.Tool{Name: "foreign_tool"}}}}
	more := []toolset.Set{foreign(nil), other}
	for _, names := range [][]string{nil, {"core"}, {"core", "foreign"}, {"foreign", "foreign"}} {
		if err := mcpapi.CheckToolsets(names, more); err != nil {
			t.Errorf("%v: %v", names, err)
		}
	}
	for _, c := range []struct {
		names []string
		says  []string
	}{
		{[]string{"foreign", "other"}, []string{"foreign", "other", "foreign_tool", "server.toolsets"}},
		{[]string{"core", "none"}, []string{`"none"`, "core, local, fs, health, fleet, device, foreign, other", "none for core, local, fs, health"}},
	} {
		err := mcpapi.CheckToolsets(c.names, more)
		for _, part := range c.says {
			if err == nil || !strings.Contains(err.Error(), part) {
				t.Errorf("%v: the error does not say %q: %v", c.names, part, err)
			}
		}
	}
}

// A set of tools of another package is offered by name alone, and calls and failures have its own form.
func TestForeignTools(t *testing.T) {
	var got foreignArgs
	set := foreign(func(ctx context.Context, c *toolset.Call, in *foreignArgs) (any, error) {
		got = *in
		if term.ActorFrom(ctx).Transport != "stdio" {
			t.Errorf("the actor is %+v", term.ActorFrom(ctx))
		}
		if got.ID == "none" {
			_, err := c.Session(ctx, term.VerbRead, got.ID)
			return nil, err
		}
		return wire.Answer{Text: "did " + got.ID, Structured: json.RawMessage(`{"code":"OK"}`)}, nil
	})
	options := mcpapi.Options{Results: identity.Full, Local: []string{"stdio"}, More: []toolset.Set{set}}
	if names := mcptest.NewLab(t, mcptest.Config{Options: options}).ToolNames(); slices.Contains(names, "foreign_tool") {
		t.Errorf("the set is offered unasked: %v", names)
	}
	options.Toolsets = []string{"foreign", "health"}
	l := mcptest.NewLab(t, mcptest.Config{Options: options})
	if names := l.ToolNames(); !slices.Equal(names, []string{"foreign_tool", "ptyctl_health"}) {
		t.Errorf("the tools are %v", names)
	}
	call := func(arguments string) (r struct {
		Content           []struct{ Text string }
		StructuredContent struct{ Code string }
		IsError           bool
	},
	) {
		t.Helper()
		l.Decode(l.Request("tools/call", l.Params("foreign_tool", arguments)).Result, &r)
		return r
	}
	if r := call(`{"id":"x","env":{"A":"b","C":""}}`); r.IsError || r.Content[0].Text != "did x" ||
		r.StructuredContent.Code != "OK" ||
		got.Env["A"] != "b" ||
		len(got.Env) != 2 {
		t.Errorf("%+v of %+v", r, got)
	}
	for arguments, says := range map[string]string{
		`{}`:                       "id is missing",
		`{"id":"x","env":{"A":1}}`: "env.A must be a string",
		`{"id":"x","env":"A"}`:     "env must be a JSON object",
		`{"id":"x","more":1}`:      `unknown field "more"`,
		`{"id":"none"}`:            `no session "none"`,
	} {
		if r := call(arguments); !r.IsError || !strings.HasPrefix(r.Content[0].Text, "Error: ") ||
			!strings.Contains(r.Content[0].Text, says) {
			t.Errorf("%s: %+v, want %q", arguments, r, says)
		}
	}

	options.ReadOnly = true
	reader := mcptest.NewLab(t, mcptest.Config{Options: options})
	if names := reader.ToolNames(); slices.Contains(names, "foreign_tool") {
		t.Errorf("a reader is offered %v", names)
	}
	if r := reader.Request("tools/call", reader.Params("foreign_tool", `{"id":"x"}`)); !strings.Contains(
		string(r.Result),
		"Error: ",
	) ||
		!strings.Contains(string(r.Result), "read-only") {
		t.Errorf("a reader's call: %s %+v", r.Result, r.Error)
	}
	options.ReadOnly, options.Local = false, nil
	if names := mcptest.NewLab(t, mcptest.Config{Options: options}).ToolNames(); slices.Contains(names, "foreign_tool") {
		t.Errorf("offered where programs on this machine are not: %v", names)
	}
}

// A session can have a name that its opener gives it, unless another has it.
func TestNamedSession(t *testing.T) {
	l := mcptest.NewLab(t, mcptest.Config{})
	var open session.OpenRequest
	l.OpenShell()
	s, err := l.Manager.Get(l.Session)
	if err != nil {
		t.Fatal(err)
	}
	open.ID, open.Target.Protocol = s.ID(), "ssh"
	if _, err := l.Manager.Open(t.Context(), open); term.KindOf(err) != term.InvalidArgument ||
		!strings.Contains(err.Error(), "choose another id") {
		t.Errorf("a second session of the same name: %v", err)
	}
	if s.Info().State != session.Open {
		t.Errorf("the first one is %s", s.Info().State)
	}
}
