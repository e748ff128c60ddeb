package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
	"testing"

	"ptyctl/internal/lab"
)

// An inspector is the official MCP Inspector's command line. Each use of it is a process, and an MCP session, of its
// own.
type inspector struct {
	node   nodePackages
	t      *testing.T
	server []string // how to reach the server
	env    []string // for the server, if the Inspector starts it
}

// toolFailed is the status with which the Inspector ends when a tool's result is an error.
const toolFailed = 5

// run calls a method and reads its result.
func (i inspector) run(ctx context.Context, result any, args ...string) error {
	made := i.node.command(i.t, "mcp-inspector", append(append([]string{"--cli"}, i.server...), args...)...)
	cmd := exec.CommandContext(ctx, made.Path, made.Args[1:]...)
	cmd.Dir, cmd.Env = made.Dir, append(made.Env, i.env...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil && cmd.ProcessState.ExitCode() != toolFailed {
		return fmt.Errorf("inspector %v: %w\n%s", args, err, lab.Tail(stderr.String(), 4<<10))
	}
	return json.Unmarshal(out, result)
}

// listTools returns the names of the tools. It fails the test if the Inspector finds a schema that some client refuses.
func (i inspector) listTools() (names []string) {
	i.t.Helper()
	var list struct{ Tools []struct{ Name string } }
	if err := i.run(i.t.Context(), &list, "--method", "tools/list", "--strict"); err != nil {
		i.t.Fatal(err)
	}
	for _, tool := range list.Tools {
		names = append(names, tool.Name)
	}
	return names
}

// tools are the tools as the Inspector calls them. It reads an argument as JSON, if it is that, and otherwise as text.
func (i inspector) tools() lab.Tools {
	return lab.NewTools(
		i.t,
		func(ctx context.Context, tool string, arguments json.RawMessage) (a lab.ToolAnswer, err error) {
			var members map[string]json.RawMessage
			if err := json.Unmarshal(arguments, &members); err != nil {
				return a, err
			}
			args := []string{"--method", "tools/call", "--tool-name", tool}
			for name, value := range members {
				args = append(args, "--tool-arg", name+"="+string(value))
			}
			return a, i.run(ctx, &a, args...)
		},
	)
}
