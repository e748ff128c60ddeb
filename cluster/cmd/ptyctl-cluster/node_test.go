package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"testing"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"

	"ptyctl/cluster/fence"
	"ptyctl/internal/r2fake"
)

// programEnv makes this test program be ptyctl-cluster.
const programEnv = "TEST_RUNS_PTYCTL_CLUSTER"

// TestMain also runs the program, and that of the tool set r2.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == r2fake.Flag {
		os.Exit(r2fake.Serve(os.Args, os.Stdin, os.Stdout, os.Stderr))
	}
	fence.Enable()
	if os.Getenv(programEnv) != "" {
		main()
	}
	os.Exit(m.Run())
}

// logText is the log of a process.
type logText struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Write implements io.Writer.
func (l *logText) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *logText) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// program returns a command of ptyctl-cluster with a configuration, and a home of its own.
func program(tb testing.TB, lines string, args ...string) *exec.Cmd {
	tb.Helper()
	home := tb.TempDir()
	file := filepath.Join(home, "node.toml")
	if err := os.WriteFile(file, []byte(lines), 0o600); err != nil {
		tb.Fatal(err)
	}
	cmd := exec.CommandContext(tb.Context(), os.Args[0], append(args, "--config", file)...)
	cmd.Env = []string{
		programEnv + "=1", "HOME=" + home, "XDG_RUNTIME_DIR=" + home, "PATH=" + os.Getenv("PATH"), "GORACE=" + os.Getenv("GORACE"),
		"PTYCTL_SERVER_RESULTS=full", // the tests look at full results
	}
	return cmd
}

// A process is a ptyctl-cluster mcp.
type process struct {
	cmd   *exec.Cmd
	log   *logText
	ended chan struct{}
}

// run starts a node. kill, or the caller, ends it.
func run(tb testing.TB, cmd *exec.Cmd) *process {
	tb.Helper()
	return runBy(tb, cmd, (*exec.Cmd).Start)
}

// runBy is run with a function that starts the process.
func runBy(tb testing.TB, cmd *exec.Cmd, begin func(*exec.Cmd) error) *process {
	tb.Helper()
	p := &process{cmd: cmd, log: new(logText), ended: make(chan struct{})}
	p.cmd.Stderr = p.log
	if err := begin(p.cmd); err != nil {
		tb.Fatal(err)
	}
	go func() {
		_ = p.cmd.Wait()
		close(p.ended)
	}()
	return p
}

// kill ends the process with SIGKILL.
func (p *process) kill() {
	_ = p.cmd.Process.Kill() // it may have ended
	<-p.ended
}

// alive reports whether the process runs.
func (p *process) alive() bool {
	select {
	case <-p.ended:
		return false
	default:
		return true
	}
}

// A caller is a client of a node.
type caller struct {
	tb     testing.TB
	client *client.Client
	log    *logText // of the node
}

// handshake makes a client of a node. log is the log of the node's process.
func handshake(tb testing.TB, over transport.Interface, log *logText, o ...client.ClientOption) *caller {
	tb.Helper()
	c := &caller{tb: tb, client: client.NewClient(over, o...), log: log}
	if err := c.client.Start(tb.Context()); err != nil {
		tb.Fatal(err)
	}
	var init mcp.InitializeRequest
	init.Params.ProtocolVersion = mcp.LATEST_PROTOCOL_VERSION
	init.Params.ClientInfo = mcp.Implementation{Name: "test", Version: "1"}
	if _, err := c.client.Initialize(tb.Context(), init); err != nil {
		tb.Fatalf("initialize: %v; the node has logged:\n%s", err, log)
	}
	return c
}

// A node is a ptyctl-cluster mcp, with this test as its client at stdio.
type node struct {
	*process
	*caller
	url string // of one that serve has started
}

// start starts a node. It ends with the test.
func start(tb testing.TB, lines string, o ...client.ClientOption) *node {
	tb.Helper()
	return startBy(tb, (*exec.Cmd).Start, lines, o...)
}

// startBy is start with a function that starts the process.
func startBy(tb testing.TB, begin func(*exec.Cmd) error, lines string, o ...client.ClientOption) *node {
	tb.Helper()
	cmd := program(tb, lines, "mcp")
	in, err := cmd.StdinPipe()
	if err != nil {
		tb.Fatal(err)
	}
	out, write := io.Pipe()
	cmd.Stdout = write
	n := &node{process: runBy(tb, cmd, begin)}
	go func() {
		<-n.ended
		_ = write.Close()
	}()
	tb.Cleanup(func() {
		if n.caller != nil {
			_ = n.client.Close() // the end of its input ends the program
		}
		_ = in.Close()
		<-n.ended
		if tb.Failed() {
			tb.Logf("the node has logged:\n%s", n.process.log)
		}
	})
	n.caller = handshake(tb, transport.NewIO(out, in, io.NopCloser(new(bytes.Buffer))), n.process.log, o...)
	return n
}

// A result has the members of all results that the tests look at.
type result struct {
	SessionID string `json:"session_id"`
	FleetID   string `json:"fleet_id"`
	Existing  string `json:"existing_session_id"`
	State     string
	Stdout    string
	Matched   bool
	Count     int
	ErrorCode string `json:"error_code"`
	Message   string
	Retryable bool
	Waiting   int `json:"waiting_readers"`
	Session   struct {
		State   string
		Waiting int `json:"waiting_readers"`
	}
	Unanswered []string `json:"unanswered_nodes"`
	Opens      int
	Sessions   []struct {
		SessionID string `json:"session_id"`
	}
	ReopenedFrom string `json:"reopened_from"`
	Details      struct {
		DeviceOwner struct {
			Node      string
			PID       int
			SessionID string `json:"session_id"`
		} `json:"device_owner"`
	}
	text string // all of it
}

// try calls a tool.
func (c *caller) try(ctx context.Context, tool string, arguments map[string]any) (res result, err error) {
	var r mcp.CallToolRequest
	r.Params.Name, r.Params.Arguments = tool, arguments
	answer, err := c.client.CallTool(ctx, r)
	if err != nil {
		return res, err
	}
	for _, content := range answer.Content {
		if text, ok := content.(mcp.TextContent); ok {
			res.text = text.Text
			if err := json.Unmarshal([]byte(text.Text), &res); err != nil {
				return res, fmt.Errorf("%q is no JSON: %w", text.Text, err)
			}
			break
		}
	}
	return res, nil
}

// tool calls a tool, and ends the test if there is no answer.
func (c *caller) tool(tool string, arguments map[string]any) result {
	c.tb.Helper()
	res, err := c.try(c.tb.Context(), tool, arguments)
	if err != nil {
		c.tb.Fatalf("%v: %v; the node has logged:\n%s", arguments, err, c.log)
	}
	return res
}

// call calls ptyctl_session.
func (c *caller) call(arguments map[string]any) result {
	c.tb.Helper()
	return c.tool("ptyctl_session", arguments)
}

// open opens the console of a device.
func (c *caller) open(device string, port int) result {
	c.tb.Helper()
	return c.call(map[string]any{
		"action": "open", "protocol": "telnet", "host": "127.0.0.1", "port": port, "device_id": device,
		"session_type": "console", "acquire_lock": true, "task_id": "t",
	})
}

// console is a console server. It takes any number of connections, and says nothing.
func console(tb testing.TB) (port int) {
	tb.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	var conversations sync.WaitGroup
	conversations.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			conversations.Go(func() {
				_, _ = io.Copy(io.Discard, conn)
				_ = conn.Close()
			})
		}
	})
	tb.Cleanup(func() {
		_ = l.Close()
		conversations.Wait() // the nodes have ended before
	})
	_, text, err := net.SplitHostPort(l.Addr().String())
	if err != nil {
		tb.Fatal(err)
	}
	if port, err = strconv.Atoi(text); err != nil {
		tb.Fatal(err)
	}
	return port
}

// lines are the configuration of a node.
func lines(name, url string, more ...string) string {
	text := fmt.Sprintf("[server.control]\ncontrol_mode = \"disabled\"\n[cluster]\nservers = [%q]\nnode = %q\nlease_ttl_ms = 2000\n", url, name)
	for _, line := range more {
		text += line + "\n"
	}
	return text
}
