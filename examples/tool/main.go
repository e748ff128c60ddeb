// Command tool is an MCP server on stdio with one tool of its own beside those of ptyctl: it says how much room a disk
// has.
//
//	go run ./examples/tool
//
// A tool is a table, from which its schema and its errors come, and a function for a call.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"ptyctl/mcpapi"
	"ptyctl/mcpapi/schema"
	"ptyctl/mcpapi/stdio"
	"ptyctl/mcpapi/toolset"
	"ptyctl/ptyx"
	"ptyctl/session"
	"ptyctl/term"
)

// arguments are those of the tool. The tags describe each to a model.
type arguments struct {
	Path string `json:"path" need:"*" is:"filled" doc:"a file or folder of the disk" eg:"'path':'/var'"`
}

// room is the result.
type room struct {
	Line string `json:"line" doc:"what df says"`
}

var disk = toolset.Set{Name: "disk", Tools: []*toolset.Tool{toolset.Bind(schema.Tool{
	Name: "disk_room", About: "Says how much room the disk of a file has.", Local: true,
	Actions: []schema.Action{{Example: `{"path":"/var"}`, Reads: true}},
}, diskRoom, room{})}}

// diskRoom runs df in the name of the caller: the Gate judges it, and the audit log has it.
func diskRoom(ctx context.Context, c *toolset.Call, in *arguments) (any, error) {
	r, err := c.Run(ctx, session.RunRequest{
		Target:  term.Target{Protocol: "local", Local: term.LocalOptions{Argv: []string{"df", "-h", "--", in.Path}}},
		Timeout: 10 * time.Second, Once: true,
	})
	if err != nil {
		return nil, err
	}
	if !r.Exit.OK() {
		return nil, c.Invalid("path", fmt.Sprintf("df: %s", strings.TrimSpace(string(r.Stderr.Bytes()))))
	}
	lines := strings.Split(strings.TrimSpace(string(r.Stdout.Bytes())), "\n")
	return room{Line: lines[len(lines)-1]}, nil
}

// serve answers a client until in ends.
func serve(ctx context.Context, in io.Reader, out io.Writer) error {
	sessions := session.NewManager(session.Config{Dialers: map[string]term.Dialer{"local": ptyx.Host{}.Open}})
	defer sessions.Close(ctx)
	server := mcpapi.NewServer(mcpapi.Options{
		Sessions: sessions, Toolsets: []string{"core", "disk"}, More: []toolset.Set{disk}, Local: []string{"stdio"},
	})
	return stdio.Serve(ctx, server, in, out, stdio.Options{})
}

func main() {
	if err := serve(context.Background(), os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "tool:", err)
		os.Exit(1)
	}
}
