package mcpapi_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/mark3labs/mcp-go/mcp"

	"ptyctl/mcpapi"
	"ptyctl/mcpapi/identity"
	"ptyctl/mcpapi/internal/mcptest"
	"ptyctl/session"
)

// TestToolsAreListedAlike: every client gets the tools in the same order, with hints that are true.
func TestToolsAreListedAlike(t *testing.T) {
	hints := map[string]mcp.ToolAnnotation{ // unset hints have the protocol's defaults, the worst of each
		"ptyctl_fs":             {Title: "Files"},
		"ptyctl_health":         {Title: "State of ptyctl", ReadOnlyHint: new(true), OpenWorldHint: new(false)},
		"ptyctl_run":            {Title: "Run a program"},
		"ptyctl_session":        {Title: "Sessions"},
		"ptyctl_session_config": {Title: "Settings", DestructiveHint: new(false), IdempotentHint: new(true)},
		"ptyctl_session_exec":   {Title: "Run a command"},
		"ptyctl_session_io":     {Title: "Type and read"},
	}
	for _, revision := range []string{"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"} {
		srv := mcpapi.NewServer(mcpapi.Options{
			Sessions: session.NewManager(mcptest.WithFiles), Results: identity.Full,
			Local: []string{"stdio"},
		})
		var list mcp.ListToolsResult
		if err := json.Unmarshal(mcptest.NewAgent(t, srv, revision).Request("tools/list", `{}`).Result, &list); err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, tl := range list.Tools {
			names = append(names, tl.Name)
			got, _ := json.Marshal(tl.Annotations)
			hint := hints[tl.Name]
			if revision < "2025-06-18" { // no structured results: the list is as for a model
				hint.Title = ""
			}
			want, _ := json.Marshal(hint)
			if string(got) != string(want) {
				t.Errorf("%s: %s: the hints are %s, want %s", revision, tl.Name, got, want)
			}
		}
		if len(names) != len(hints) || !slices.IsSorted(names) {
			t.Errorf("%s: the order is %q", revision, names)
		}
	}
}

func ExampleReference() {
	head, _, _ := strings.Cut(mcpapi.Reference(), "\n")
	fmt.Println(head)
	// Output: | tool | action | does | needs | may take |
}
