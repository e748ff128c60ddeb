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

// The list of tools, as a client reads it.
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
	if got, want := strings.Join(names, " "), "fs_list fs_readFile fs_writeFile health_info pty_close pty_open pty_read pty_resize pty_send pty_signal shell_run"; got != want {
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
		t.Errorf("the tools are %s", got)
	}
	l.schemas["pty_send"] = l.schemas["pty_read"] // a failure has the form of all
	if r := l.fails("pty_send", `{"id":"sh-1","data":""}`, aiterm.EDenied, "read-only"); r.CorrelationID == "" {
		t.Errorf("%s", r.text)
	}
	last := l.seen.list()
	if e := last[len(last)-1]; e.Verb != term.VerbWrite || e.Session != "sh-1" || e.Refused == nil {
		t.Errorf("the refusal is on record as %+v", e)
	}
}
