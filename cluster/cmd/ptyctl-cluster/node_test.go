package main

import (
	"bytes"
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
)

// programEnv makes this test program be ptyctl-cluster.
const programEnv = "TEST_RUNS_PTYCTL_CLUSTER"

// TestMain also runs the program.
func TestMain(m *testing.M) {
	fence.Enable()
	if os.Getenv(programEnv) != "" {
		main()
	}
	os.Exit(m.Run())
}

// logText is what a process has logged.
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
	}
	return cmd
}

// A node is a ptyctl-cluster mcp, with this test as its client at stdio.
type node struct {
	tb     testing.TB
	cmd    *exec.Cmd
	client *client.Client
	url    string // of one that serve has started
	log    *logText
	ended  chan struct{}
}

// start starts a node. It ends with the test.
func start(tb testing.TB, lines string) *node {
	tb.Helper()
	n := &node{tb: tb, cmd: program(tb, lines, "mcp"), log: new(logText), ended: make(chan struct{})}
	in, err := n.cmd.StdinPipe()
	if err != nil {
		tb.Fatal(err)
	}
	out, write := io.Pipe()
	n.cmd.Stdout, n.cmd.Stderr = write, n.log
	if err := n.cmd.Start(); err != nil {
		tb.Fatal(err)
	}
	go func() {
		_ = n.cmd.Wait()
		_ = write.Close()
		close(n.ended)
	}()
	n.client = client.NewClient(transport.NewIO(out, in, io.NopCloser(new(bytes.Buffer))))
	tb.Cleanup(func() {
		_ = n.client.Close() // the end of its input ends the program
		_ = in.Close()
		<-n.ended
		if tb.Failed() {
			tb.Logf("the node has logged:\n%s", n.log)
		}
	})
	if err := n.client.Start(tb.Context()); err != nil {
		tb.Fatal(err)
	}
	var init mcp.InitializeRequest
	init.Params.ProtocolVersion = mcp.LATEST_PROTOCOL_VERSION
	init.Params.ClientInfo = mcp.Implementation{Name: "test", Version: "1"}
	if _, err := n.client.Initialize(tb.Context(), init); err != nil {
		tb.Fatalf("initialize: %v; the node has logged:\n%s", err, n.log)
	}
	return n
}

// kill ends the process with SIGKILL.
func (n *node) kill() {
	n.tb.Helper()
	if err := n.cmd.Process.Kill(); err != nil {
		n.tb.Fatal(err)
	}
	<-n.ended
}

// A result has the members of all results that the tests look at.
type result struct {
	SessionID  string `json:"session_id"`
	ErrorCode  string `json:"error_code"`
	Message    string
	Retryable  bool
	Unanswered []string `json:"unanswered_nodes"`
	State      string
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
}

// call calls ptyctl_session.
func (n *node) call(arguments map[string]any) result {
	n.tb.Helper()
	var r mcp.CallToolRequest
	r.Params.Name, r.Params.Arguments = "ptyctl_session", arguments
	answer, err := n.client.CallTool(n.tb.Context(), r)
	if err != nil {
		n.tb.Fatalf("%v: %v; the node has logged:\n%s", arguments, err, n.log)
	}
	var res result
	for _, c := range answer.Content {
		if text, ok := c.(mcp.TextContent); ok {
			if err := json.Unmarshal([]byte(text.Text), &res); err != nil {
				n.tb.Fatalf("%v: %q is no JSON: %v", arguments, text.Text, err)
			}
			break
		}
	}
	return res
}

// open opens the console of a device.
func (n *node) open(device string, port int) result {
	n.tb.Helper()
	return n.call(map[string]any{
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
