package setup

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"
)

// maxAnswers is how much a server may answer, in bytes.
const maxAnswers = 16 << 20

// A Seen is a client's view of a server.
type Seen struct {
	Name, Version, Protocol string
	Tools                   []string
	Instructions            int      // bytes
	Env                     []string // the names of the variables that the server got
}

// Environ returns the environment in which the client starts the entry, of the environment env that the client runs in.
func (c Client) Environ(m Machine, e Entry, env []string) []string {
	if c.passes != nil {
		passed := append(c.passes(m), e.EnvVars...)
		env = slices.DeleteFunc(slices.Clone(env), func(v string) bool {
			name, _, _ := strings.Cut(v, "=")
			if m.System == "windows" {
				name = strings.ToUpper(name)
			}
			return !slices.Contains(passed, name)
		})
	}
	for _, name := range slices.Sorted(maps.Keys(e.Env)) {
		env = append(env, name+"="+e.Env[name])
	}
	return env
}

// Check starts the entry as the client does, and sends a client's first requests: initialize and tools/list. It ends
// the server. The server's standard error goes to log.
func (c Client) Check(ctx context.Context, m Machine, e Entry, log io.Writer) (*Seen, error) {
	if e.Command == "" { // mcp-go would take it for a client of streams that are there already
		return nil, errors.New("the entry names no command")
	}
	env := c.Environ(m, e, os.Environ())
	cmd := exec.CommandContext(ctx, e.Command, e.Args...)
	cmd.Env, cmd.Dir, cmd.Stderr = env, m.Folder, log
	cmd.WaitDelay = time.Second // for processes that it may have started
	end := group(cmd)
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("it could not be started: %w", err)
	}
	s := transport.NewIO(io.LimitReader(out, maxAnswers), in, nil)
	seen, err := ask(ctx, client.NewClient(s))
	if err != nil {
		end()
	}
	_ = s.Close() // its input, which ends a server
	ended := cmd.Wait()
	if err != nil {
		return nil, err
	}
	if ended != nil {
		return nil, fmt.Errorf("it did not end well: %w", ended)
	}
	for _, v := range env {
		name, _, _ := strings.Cut(v, "=")
		seen.Env = append(seen.Env, name)
	}
	return seen, nil
}

func ask(ctx context.Context, c *client.Client) (*Seen, error) {
	if err := c.Start(ctx); err != nil {
		return nil, fmt.Errorf("it could not be started: %w", err)
	}
	r, err := c.Initialize(ctx, mcp.InitializeRequest{Params: mcp.InitializeParams{
		ProtocolVersion: mcp.LATEST_PROTOCOL_VERSION,
		ClientInfo:      mcp.Implementation{Name: "ptyctl setup", Version: "1"},
	}})
	if err != nil {
		return nil, asked(ctx, "initialize", err)
	}
	tools, err := c.ListTools(ctx, mcp.ListToolsRequest{})
	if err != nil {
		return nil, asked(ctx, "tools/list", err)
	}
	seen := &Seen{
		Name: r.ServerInfo.Name, Version: r.ServerInfo.Version, Protocol: r.ProtocolVersion, Instructions: len(r.Instructions),
	}
	for _, tool := range tools.Tools {
		seen.Tools = append(seen.Tools, tool.Name)
	}
	return seen, nil
}

// asked says why there was no answer.
func asked(ctx context.Context, method string, err error) error {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return fmt.Errorf("it did not answer %s in time", method)
	}
	return fmt.Errorf("it did not answer %s: %w", method, err)
}
