package ptyctl_test

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"testing"

	"github.com/mark3labs/mcp-go/mcp"

	"ptyctl/fleet"
	"ptyctl/fleet/nodes"
	"ptyctl/mcpapi"
	"ptyctl/mcpapi/toolset"
	"ptyctl/session"
	"ptyctl/session/forward"
	"ptyctl/term"
)

// noSecrets makes the tools take the names of secrets. None of these names is known.
type noSecrets struct{}

func (noSecrets) Check(context.Context, term.SecretRequest) (term.Ruling, error) {
	return term.Ruling{}, &term.Error{Kind: term.NotFound}
}

func (noSecrets) Release(context.Context, term.SecretRequest) ([]byte, error) {
	return nil, &term.Error{Kind: term.NotFound}
}

func (noSecrets) List(context.Context) []term.SecretInfo { return nil }

// toolCall matches a line that shows a call: the tool and its arguments.
var toolCall = regexp.MustCompile(`(?m)^(ptyctl_\w+) +(\{.*\})$`)

// TestDocsCalls makes the calls in the documentation, without a reachable host: each must
// have correct arguments.
func TestDocsCalls(t *testing.T) {
	unreachable := func(context.Context, term.Target, term.Prompter, term.Approve) (term.Transport, error) {
		return nil, &term.Error{Kind: term.ConnectFailed}
	}
	sessions := session.NewManager(session.Config{
		Dialers: map[string]term.Dialer{
			"ssh": unreachable, "telnet": unreachable, "serial": unreachable, "local": unreachable,
		},
		Forward: &forward.Options{},
	})
	defer sessions.Close(t.Context())
	plan := func(context.Context, term.Target) (term.Plan, error) { return term.Plan{}, nil }
	fleets := fleet.New(fleet.Config{
		Dial:  unreachable,
		Judge: func(context.Context, term.Target, term.Approve) (term.Plan, error) { return term.Plan{}, nil },
	})
	defer fleets.Close()
	inventory := func(ctx context.Context) *nodes.Book {
		return nodes.Sources{Groups: map[string]string{"web": "web[01-20].example.net"}}.Read(ctx)
	}
	srv := mcpapi.NewServer(mcpapi.Options{
		Sessions: sessions, Plan: plan, Fleet: toolset.Fleet{Runs: fleets, Nodes: inventory}, Secrets: noSecrets{},
		Toolsets: []string{"core", "local", "fs", "health", "device", "fleet"},
	})

	call := func(tool, arguments string) string {
		request := fmt.Sprintf(
			`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":%q,"arguments":%s}}`,
			tool,
			arguments,
		)
		response, ok := srv.Protocol().HandleMessage(t.Context(), json.RawMessage(request)).(mcp.JSONRPCResponse)
		if !ok {
			return "no result"
		}
		b, err := json.Marshal(response.Result)
		if err != nil {
			t.Fatal(err)
		}
		var result struct{ Content []struct{ Text string } }
		if err := json.Unmarshal(b, &result); err != nil || len(result.Content) != 1 {
			t.Fatalf("the result %s: %v", b, err)
		}
		return result.Content[0].Text
	}
	refused := regexp.MustCompile(`^no result|"error_code":"(INVALID_ARGUMENT|UNSUPPORTED|INTERNAL)"`)
	if wrong := call("ptyctl_session", `{"action":"open","hots":"web1"}`); !refused.MatchString(wrong) {
		t.Fatalf("a wrong call was accepted: %s", wrong)
	}
	shown := 0
	for _, file := range markdown(t) {
		calls := toolCall.FindAllStringSubmatch(readText(t, file), -1)
		shown += len(calls)
		for _, c := range calls {
			if text := call(c[1], c[2]); refused.MatchString(text) {
				t.Errorf("%s shows a wrong call:\n%s %s\n%s", file, c[1], c[2], text)
			}
		}
	}
	if shown < 90 {
		t.Errorf("the documentation shows %d calls: this test looks in the wrong places", shown)
	}
}
