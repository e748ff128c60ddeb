package aiterm_test

import (
	"encoding/json"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"ptyctl/mcpapi"
	"ptyctl/session"
)

// The list of tools, as a client reads it.
func TestToolsList(t *testing.T) {
	l := newLab(t, mcpapi.Options{}, session.Config{})
	list, err := l.client.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, tool := range list.Tools {
		names = append(names, tool.Name)
		compile(t, tool.Name+" input", tool.InputSchema)
	}
	if got, want := strings.Join(names, " "), "health_info pty_close pty_open pty_read pty_resize pty_send pty_signal shell_run"; got != want {
		t.Errorf("the tools are %s, want %s", got, want)
	}
	text, err := json.MarshalIndent(list.Tools, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "tools_list.json", string(text)+"\n")
}

// Who may only read is offered what does not type, and refused the rest.
func TestReader(t *testing.T) {
	l := newLab(t, mcpapi.Options{ReadOnly: true}, session.Config{})
	list, err := l.client.ListTools(t.Context(), new(sdk.ListToolsParams))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, tool := range list.Tools {
		names = append(names, tool.Name)
	}
	if got := strings.Join(names, " "); got != "health_info pty_read" {
		t.Errorf("the tools are %s", got)
	}
}
