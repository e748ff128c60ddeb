package mcpapi_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"ptyctl/mcpapi"
	"ptyctl/mcpapi/internal/mcptest"
	"ptyctl/mcpapi/tools"
	"ptyctl/session"
)

// Only the prompts of the offered sets are listed. Their texts name only offered tools, and have the arguments.
func TestPrompts(t *testing.T) {
	for _, tt := range []struct{ sets, want []string }{
		{nil, []string{"diagnose_service", "follow_command", "log_in", "run_as_root", "use_program"}},
		{
			[]string{"core", tools.FleetSet, tools.DeviceSet},
			[]string{"compare_hosts", "configure_device", "diagnose_service", "follow_command", "log_in", "run_as_root", "use_program"},
		},
		{[]string{"health"}, nil},
	} {
		srv := mcpapi.NewServer(mcpapi.Options{Sessions: session.NewManager(session.Config{}), Toolsets: tt.sets})
		a := mcptest.NewAgent(t, srv, "2025-11-25")
		offered := a.ToolNames()
		var list struct {
			Prompts []struct {
				Name, Title, Description string
				Arguments                []struct {
					Name, Description string
					Required          bool
				}
			}
		}
		if tt.want != nil {
			a.Decode(a.Request("prompts/list", `{}`).Result, &list)
		}
		var names []string
		for _, p := range list.Prompts {
			names = append(names, p.Name)
			given := map[string]string{}
			for _, arg := range p.Arguments {
				given[arg.Name] = "<the " + arg.Name + ">"
				if !arg.Required || arg.Description == "" {
					t.Errorf("%s: the argument %+v", p.Name, arg)
				}
			}
			text := promptText(t, a, p.Name, given)
			for name, value := range given {
				if strings.Count(text, value) == 0 || strings.Contains(text, "{"+name+"}") {
					t.Errorf("%s has no %s in its text: %s", p.Name, value, text)
				}
			}
			for word := range strings.FieldsFuncSeq(text, func(r rune) bool { return r != '_' && (r < 'a' || r > 'z') }) {
				if strings.HasPrefix(word, "ptyctl_") && !slices.Contains(offered, word) {
					t.Errorf("%s names the tool %s, and offered are %v", p.Name, word, offered)
				}
			}
			if text := promptText(t, a, p.Name, nil); !strings.Contains(text, "(ask me)") {
				t.Errorf("%s without arguments does not have the model ask: %s", p.Name, text)
			}
		}
		if slices.Sort(names); !slices.Equal(names, tt.want) {
			t.Errorf("the sets %v have the prompts %v, want %v", tt.sets, names, tt.want)
		}
	}
}

func promptText(t *testing.T, a *mcptest.Agent, name string, arguments map[string]string) string {
	t.Helper()
	params, err := json.Marshal(map[string]any{"name": name, "arguments": arguments})
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		Messages []struct {
			Role    string
			Content struct{ Type, Text string }
		}
	}
	a.Decode(a.Request("prompts/get", string(params)).Result, &got)
	if len(got.Messages) != 1 || got.Messages[0].Role != "user" || got.Messages[0].Content.Type != "text" {
		t.Fatalf("%s: %+v, want one text of the user's", name, got.Messages)
	}
	return got.Messages[0].Content.Text
}

// The ids of sessions are completed, for each caller only the sessions that the caller may know of.
func TestCompletion(t *testing.T) {
	s := newShims(t, mcptest.Config{})
	one, _ := s.come(t, "shim-one", "agent", "/srv/web")
	two, _ := s.come(t, "shim-two", "other", "/srv/db")
	id := one.OK(mcptest.SessionTool, s.OpenArgs("")).SessionID
	for _, tt := range []struct {
		a             *mcptest.Agent
		uri, argument string
		value         string
		want          bool
	}{
		{one, "ptyctl://sessions/{id}", "id", "", true},
		{one, "ptyctl://sessions/{id}/tail", "id", id[:4], true},
		{one, "ptyctl://sessions/{id}", "id", "no-such", false},
		{one, "ptyctl://sessions/{id}", "other", "", false},
		{one, "ptyctl://other/{id}", "id", "", false},
		{two, "ptyctl://sessions/{id}", "id", "", false},
	} {
		params, err := json.Marshal(map[string]any{
			"ref": map[string]string{"type": "ref/resource", "uri": tt.uri}, "argument": map[string]string{"name": tt.argument, "value": tt.value},
		})
		if err != nil {
			t.Fatal(err)
		}
		var got struct {
			Completion struct {
				Values []string
				Total  int
			}
		}
		tt.a.Decode(tt.a.Request("completion/complete", string(params)).Result, &got)
		want := []string{}
		if tt.want {
			want = []string{id}
		}
		if !slices.Equal(got.Completion.Values, want) || got.Completion.Values == nil || got.Completion.Total != len(want) {
			t.Errorf("%s %s of %s: %+v, want %v", tt.argument, tt.value, tt.uri, got, want)
		}
	}
}
