package aiterm_test

import (
	"encoding/json"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"ptyctl/fsx"
	"ptyctl/mcpapi"
	"ptyctl/mcpapi/toolset/aiterm"
	"ptyctl/term"
)

// The client reads the list of tools.
func TestToolsList(t *testing.T) {
	l, _ := newFileLab(t, mcpapi.Options{}, fsx.Limits{})
	list, err := l.client.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, tool := range list.Tools {
		names = append(names, tool.Name)
		compile(t, tool.Name+" input", tool.InputSchema)
	}
	const want = "fs_list fs_readFile fs_writeFile health_info pty_close pty_open pty_read pty_resize pty_send " +
		"pty_signal shell_run"
	if got := strings.Join(names, " "); got != want {
		t.Errorf("tools = %s, want %s", got, want)
	}
	text, err := json.MarshalIndent(list.Tools, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "tools_list.json", string(text)+"\n")
}

// A caller that may only read is offered the tools that do not type, and the other tools
// refuse its calls.
func TestReader(t *testing.T) {
	l, _ := newFileLab(t, mcpapi.Options{ReadOnly: true}, fsx.Limits{})
	list, err := l.client.ListTools(t.Context(), new(sdk.ListToolsParams))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, tool := range list.Tools {
		names = append(names, tool.Name)
	}
	if got := strings.Join(names, " "); got != "fs_list fs_readFile health_info pty_read" {
		t.Errorf("tools for a read-only caller = %s, want fs_list fs_readFile health_info pty_read", got)
	}
	l.schemas["pty_send"] = l.schemas["pty_read"] // failures have the same form in all tools
	if r := l.fails("pty_send", `{"id":"sh-1","data":""}`, aiterm.EDenied, "read-only"); r.CorrelationID == "" {
		t.Errorf("pty_send by a read-only caller = %s, want a correlation id", r.text)
	}
	last := l.seen.list()
	if e := last[len(last)-1]; e.Verb != term.VerbWrite || e.Session != "sh-1" || e.Refused == nil {
		t.Errorf("recorded refusal = %+v, want a refused write to sh-1", e)
	}
}
