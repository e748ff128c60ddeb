package mcpapi_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"ptyctl/mcpapi"
	"ptyctl/mcpapi/identity"
	"ptyctl/mcpapi/internal/mcptest"
	"ptyctl/mcpapi/schema"
	"ptyctl/mcpapi/tools"
	"ptyctl/mcpapi/toolset"
	"ptyctl/secret"
	"ptyctl/session"
	"ptyctl/session/forward"
)

// forms are servers with different lists of tools.
func forms() map[string]mcpapi.Options {
	files := session.NewManager(mcptest.WithFiles)
	return map[string]mcpapi.Options{
		"default":   {Sessions: session.NewManager(session.Config{}), Local: []string{"stdio"}, Limits: toolset.Limits{Format: "clean"}},
		"read-only": {Sessions: files, ReadOnly: true, Local: []string{"stdio"}},
		"far":       {Sessions: files},
		"core":      {Sessions: files, Toolsets: []string{"core"}},
		"device":    {Sessions: files, Toolsets: []string{"core", "device"}},
		"secrets":   {Sessions: files, Secrets: new(secret.Store)},
		"forward":   {Sessions: session.NewManager(session.Config{Forward: new(forward.Options)})},
		"ports":     {Sessions: session.NewManager(session.Config{Forward: &forward.Options{TCP: true}})},
		"full":      {Sessions: files, Results: identity.Full, Local: []string{"stdio"}},
	}
}

// A property is one of a tool's arguments, at any depth, as the list of tools shows it.
type property struct {
	Type        string
	Description string
	Enum        []string
	Properties  map[string]property
	Items       *property
}

// shownTools returns the arguments of each tool that the agent is shown.
func shownTools(a *mcptest.Agent) map[string]map[string]property {
	var list struct {
		Tools []struct {
			Name        string
			InputSchema property
		}
	}
	a.Decode(a.Request("tools/list", `{}`).Result, &list)
	shown := make(map[string]map[string]property)
	for _, t := range list.Tools {
		shown[t.Name] = make(map[string]property)
		t.InputSchema.walk("", shown[t.Name])
	}
	return shown
}

// walk adds the properties below p to all, by their paths. An object in a list is the first one.
func (p property) walk(path string, all map[string]property) {
	if p.Items != nil {
		p.Items.walk(path+"[0]", all)
	}
	for name, member := range p.Properties {
		at := strings.TrimPrefix(path+"."+name, ".")
		all[at] = member
		member.walk(at, all)
	}
}

// An argument is taken exactly if the list of tools shows it. The refusal of another says how to get it.
func TestTakenExactlyIfShown(t *testing.T) {
	for name, o := range forms() {
		t.Run(name, func(t *testing.T) {
			a := mcptest.NewAgent(t, mcpapi.NewServer(o), "")
			shown := shownTools(a)
			for _, tool := range tools.All() {
				if shown[tool.Name] == nil {
					continue // see TestToolsThatAreNotOffered
				}
				tried := make(map[string]bool)
				tryAll(tool.Tool, tool.Fields, "", nil, func(path string, action schema.Action, args map[string]any) {
					tried[path] = true
					forwards, _ := o.Sessions.ServerView().OffersForwards()
					if o.ReadOnly && !action.Reads || action.Mark == schema.OfForward && !forwards || action.Only == schema.Operators || action.Mark == tools.FleetSet ||
						action.Mark == tools.DeviceSet && !slices.Contains(o.Toolsets, tools.DeviceSet) {
						given := args
						args = example(reads(tool.Tool))
						top, _, _ := strings.Cut(strings.ReplaceAll(path, "[", "."), ".")
						args[top] = given[top]
					}
					if args["data"] != nil {
						args["data"] = "line-1138" // which is a secret in some calls
					}
					tryArgument(t, a, tool.Name, path, args, shown[tool.Name])
				})
				for path := range tool.Absent {
					if _, listed := shown[tool.Name][path]; listed {
						t.Errorf("%s: %s is listed, and said to be absent", tool.Name, path)
					}
				}
				for path := range shown[tool.Name] {
					if path != "action" && !tried[path] {
						t.Errorf("%s: %s is listed, and no known argument", tool.Name, path)
					}
				}
			}
		})
	}
}

// example returns the arguments of a correct call.
func example(a schema.Action) map[string]any {
	args := make(map[string]any)
	_ = json.Unmarshal([]byte(a.Example), &args) // they are, says another test
	return args
}

// reads returns the first action that only reads.
func reads(t *schema.Tool) schema.Action {
	return t.Actions[slices.IndexFunc(t.Actions, func(a schema.Action) bool { return a.Reads })]
}

// tryAll calls try for each argument below path, with a call that gives it.
func tryAll(
	tool *schema.Tool, fields []schema.Field, path string, wrap func(any) map[string]any,
	try func(path string, a schema.Action, args map[string]any),
) {
	for i := range fields {
		f := &fields[i]
		at := strings.TrimPrefix(path+"."+f.Name, ".")
		outer := wrap
		if outer == nil {
			outer = func(v any) map[string]any { return map[string]any{f.Name: v} }
		}
		put := func(v any) map[string]any {
			if wrap == nil {
				return outer(v)
			}
			return wrap(map[string]any{f.Name: v})
		}
		for _, a := range tool.Actions {
			top, _, _ := strings.Cut(strings.ReplaceAll(at, "[", "."), ".")
			j := slices.IndexFunc(tool.Fields, func(f schema.Field) bool { return f.Name == top })
			if !tool.Fields[j].Takes(a.Name) {
				continue
			}
			args := example(a)
			maps.Copy(args, put(sample(f)))
			try(at, a, args)
			break
		}
		switch f.Kind {
		case schema.KindObject:
			if f.Is("pairs") { // shown as a list; its members have no paths
				continue
			}
			tryAll(tool, f.Fields, at, put, try)
		case schema.KindObjects:
			tryAll(tool, f.Fields, at+"[0]", func(v any) map[string]any { return put([]any{v}) }, try)
		}
	}
}

// sample is a value of the field's type that says something.
func sample(f *schema.Field) any {
	switch {
	case len(f.Enum) > 0:
		return f.Enum[0]
	case f.Kind == schema.KindInteger:
		return max(f.Min, 1)
	case f.Kind == schema.KindBoolean:
		return true
	case f.Kind == schema.KindStrings:
		return []string{"A=b"}
	case f.Kind == schema.KindObject && f.Is("pairs"):
		return []string{fmt.Sprintf("%s=%d", f.Fields[0].Name, max(f.Fields[0].Min, 1))}
	case f.Kind == schema.KindObject:
		return map[string]any{}
	case f.Kind == schema.KindObjects:
		return []any{map[string]any{}}
	}
	if strings.HasPrefix(f.Name, "pass") || f.Name == "private_key_pem" {
		return "secret-1138"
	}
	return "sample"
}

// tryArgument makes a call with the argument, and compares whether it is taken with whether it is shown.
func tryArgument(
	t *testing.T, a *mcptest.Agent, tool, path string, args map[string]any, shown map[string]property,
) {
	t.Helper()
	call, err := json.Marshal(args)
	if err != nil {
		t.Fatal(err)
	}
	_, listed := shown[path]
	r := a.Call(tool, string(call))
	top, _, _ := strings.Cut(strings.ReplaceAll(path, "[", "."), ".")
	refused := (r.Details.Field == path || r.Details.Field == top) &&
		(strings.Contains(r.Message, "unknown field") || strings.Contains(r.Message, "is not taken here"))
	if refused == listed {
		t.Errorf("%s %s: listed %v, refused %v: %s", tool, call, listed, refused, r.Text)
	}
	brings := func(part string) bool { return strings.Contains(r.Message, part) }
	if refused && !brings("server.read_only") && !brings("only people") && !brings("[secret.NAME]") &&
		!brings("server.toolsets") && !brings("[forward] allow") && !brings("forward.tcp") {
		t.Errorf("%s %s: the refusal does not say what would bring %s: %s", tool, call, path, r.Message)
	}
}

// A tool that is not listed is refused with the set or the configuration key that would bring it.
func TestToolsThatAreNotOffered(t *testing.T) {
	for form, want := range map[string]map[string]string{
		"default": {mcptest.FilesTool: "fs.roots"},
		"core":    {mcptest.RunTool: "set local (server.toolsets)", mcptest.FilesTool: "set fs (server.toolsets)", mcptest.HealthTool: "set health (server.toolsets)"},
	} {
		a := mcptest.NewAgent(t, mcpapi.NewServer(forms()[form]), "")
		for tool, part := range want {
			args := `{"argv":["true"]}`
			if tool == mcptest.FilesTool {
				args = `{"action":"list","path":"/"}`
			}
			got := a.Request("tools/call", fmt.Sprintf(`{"name":%q,"arguments":%s}`, tool, args))
			text := string(got.Result)
			if got.Error != nil {
				text = got.Error.Message
			}
			if !strings.Contains(text, part) {
				t.Errorf("%s: %s is answered with %s, want %q in it", form, tool, text, part)
			}
		}
	}
}

// Every listed argument, at any depth, has a description that keeps a model from its usual misuse.
func TestEveryArgumentIsDescribed(t *testing.T) {
	for form, o := range forms() {
		for tool, properties := range shownTools(mcptest.NewAgent(t, mcpapi.NewServer(o), "")) {
			for path, p := range properties {
				if strings.TrimSpace(p.Description) == "" {
					t.Errorf("%s: %s %s has no description", form, tool, path)
				}
			}
		}
	}
	properties := shownTools(mcptest.NewAgent(t, mcpapi.NewServer(forms()["default"]), ""))
	for _, want := range []struct{ tool, path, part string }{
		{mcptest.IOTool, "cursor", `or "0" (a string)`},
		{mcptest.IOTool, "data", `end a line with \r`},
		{mcptest.IOTool, "timeout_ms", "milliseconds"},
		{mcptest.ExecTool, "timeout_ms", "milliseconds"},
		{mcptest.RunTool, "timeout_ms", "milliseconds"},
		{mcptest.SessionTool, "timeout_ms", "milliseconds"},
		{mcptest.ExecTool, "lane", "cd and export do not last"},
		{mcptest.ExecTool, "cwd", "login directory"},
		{mcptest.ExecTool, "env", "NAME=value"},
		{mcptest.ExecTool, "host", "user@name:port"},
		{mcptest.SessionTool, "host", "user@name:port"},
		{mcptest.SessionTool, "auth.private_key_pem", "not a path"},
		{mcptest.SessionTool, "task_id", "your"},
		{mcptest.IOTool, "steps[0].data", `\r ends a line`},
	} {
		if p := properties[want.tool][want.path]; !strings.Contains(p.Description, want.part) {
			t.Errorf("%s %s is described as %q, want %q in it", want.tool, want.path, p.Description, want.part)
		}
	}
}

// A client that must give every argument can give one with a list of values as it would be without.
func TestNoArgumentHasOneValue(t *testing.T) {
	for form, o := range forms() {
		for tool, properties := range shownTools(mcptest.NewAgent(t, mcpapi.NewServer(o), "")) {
			for path, p := range properties {
				if len(p.Enum) == 1 && path != "action" {
					t.Errorf("%s: %s %s can only be %s; want a value for its default, too", form, tool, path, p.Enum[0])
				}
			}
		}
	}
}
