package mcp

import (
	"encoding/json"
	"strings"
	"testing"

	"ptyctl/internal/lab"
)

// operators are settings that apply where a call has no value. Each differs from its default.
const operators = `host_key_policy = "accept_new"
use_openssh_config = false
[session]
read_timeout_ms = 1234
default_exec_timeout_ms = 23456
connect_timeout_ms = 7654
idle_timeout_ms = 86400000
[limits]
max_wait_ms = 33333
max_read_bytes = 4096
max_exec_timeout_ms = 25000
[locks]
default_ttl_ms = 12345
[fs]
remote = true
max_read_bytes = 2048
[auth]
interactive = false`

// TestDefaultsOfTheConfiguration checks that the list of tools says the defaults that hold where the operator has set
// them, and no others: a model relies on the text, for example that an unknown host is refused.
func TestDefaultsOfTheConfiguration(t *testing.T) {
	t.Parallel()
	h := lab.NewHome(t, operators)
	want := map[string]string{ // the argument, and the words of its description
		"ptyctl_session lock_ttl_ms":                    "default 12345",
		"ptyctl_session auth.interactive":               "default false",
		"ptyctl_session timeouts.connect_timeout_ms":    "default 7654",
		"ptyctl_session timeouts.idle_timeout_ms":       "default 86400000",
		"ptyctl_session ssh_options.host_key_policy":    "default accept_new",
		"ptyctl_session ssh_options.use_openssh_config": "default false",
		"ptyctl_session_exec timeout_ms":                "default 23456",
		"ptyctl_session_exec wait_ms":                   "default 33333",
		"ptyctl_session_io timeout_ms":                  "default 1234",
		"ptyctl_fs max_bytes":                           "default 2048",
		"ptyctl_run timeout_ms":                         "default 23456",
		"pty_read timeout_ms":                           "default 1000",
		"pty_read max_bytes":                            "default 4096",
		"shell_run timeout_ms":                          "default 23456",
		"k_pty timeout_ms":                              "[run] default 25000; [talk] default 30000; [read] default 1234",
		"k_pty max_bytes":                               "default 4096",
	}
	found := make(map[string]string)
	for _, sets := range [][]string{nil, {"--toolsets", "aiterm"}, {"--toolsets", "k_pty"}} {
		c := h.Converse(t, sets...)
		var tools []listedTool
		if err := json.Unmarshal(listTools(c), &tools); err != nil {
			t.Fatal(err)
		}
		for _, tool := range tools {
			texts(t, tool.InputSchema, tool.Name+" ", found)
		}
	}
	for name, words := range want {
		if text, listed := found[name]; !listed || !strings.Contains(text, words) {
			t.Errorf("the description of %s is %q, want %q in it", name, text, words)
		}
	}
	for name, text := range found {
		if strings.ContainsAny(text, "{}") {
			t.Errorf("the description of %s is %q, want no braces in it", name, text)
		}
	}
}

// texts adds the descriptions of the properties of a schema, by their names after prefix.
func texts(t *testing.T, schema json.RawMessage, prefix string, to map[string]string) {
	t.Helper()
	var object struct {
		Description string
		Properties  map[string]json.RawMessage
	}
	if err := json.Unmarshal(schema, &object); err != nil {
		t.Fatalf("%s: %v", prefix, err)
	}
	to[strings.TrimSuffix(prefix, ".")] = object.Description
	inner := prefix
	if !strings.HasSuffix(prefix, " ") {
		inner += "."
	}
	for name, property := range object.Properties {
		texts(t, property, inner+name, to)
	}
}
