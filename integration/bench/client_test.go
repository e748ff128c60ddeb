package bench

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A benchClient is a minimal MCP client: it writes a line and waits for the answer. Other clients add their own costs;
// benchSDK measures one of them.
type benchClient struct {
	mu      sync.Mutex // guards the following
	in      io.Writer
	lastID  int
	waiting map[int]chan benchAnswer

	large atomic.Bool // of answers longer than a pipe holds, only the id and the size are read
}

// A benchAnswer is one line of the program's.
type benchAnswer struct {
	ID     int
	size   int // of the line
	Error  *struct{ Message string }
	Result struct {
		IsError bool
		Content []struct{ Text string }
	}
}

// startBenchClient starts cmd and shakes hands with it. It ends with the benchmark.
func startBenchClient(b *testing.B, cmd *exec.Cmd) *benchClient {
	b.Helper()
	in, err := cmd.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	c := &benchClient{in: in, waiting: make(map[int]chan benchAnswer)}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for lines := bufio.NewReaderSize(out, 64<<10); ; {
			a, err := c.next(lines)
			if err != nil {
				return
			}
			c.deliver(a)
		}
	}()
	b.Cleanup(func() {
		_ = in.Close()
		<-ended
		if err := cmd.Wait(); err != nil {
			b.Errorf("ptyctl ended with %v", err)
		}
	})
	if _, err := c.ask(
		"initialize", `{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"benchmark","version":"1"}}`,
	); err != nil {
		b.Fatal(err)
	}
	if _, err := io.WriteString(in, `{"jsonrpc":"2.0","method":"notifications/initialized"}`+"\n"); err != nil {
		b.Fatal(err)
	}
	return c
}

// next reads an answer. Other lines have the id 0.
func (c *benchClient) next(lines *bufio.Reader) (a benchAnswer, err error) {
	line, err := lines.ReadSlice('\n')
	switch {
	case errors.Is(err, bufio.ErrBufferFull) && c.large.Load():
		// The memory for such a line would cost this process as much as the line costs ptyctl.
		_, _ = fmt.Sscanf(string(line[:64]), `{"jsonrpc":"2.0","id":%d,`, &a.ID)
		for a.size = len(line); errors.Is(err, bufio.ErrBufferFull); a.size += len(line) {
			line, err = lines.ReadSlice('\n')
		}
		return a, err
	case errors.Is(err, bufio.ErrBufferFull):
		var rest []byte
		line = slices.Clone(line)
		rest, err = lines.ReadBytes('\n')
		line = append(line, rest...)
	}
	if err == nil && json.Unmarshal(line, &a) != nil {
		a.ID = 0
	}
	a.size = len(line)
	return a, err
}

func (c *benchClient) deliver(a benchAnswer) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if w := c.waiting[a.ID]; w != nil {
		delete(c.waiting, a.ID)
		w <- a
	}
}

// ask sends a request with parameters in JSON and waits for its answer. Any goroutine may use it.
func (c *benchClient) ask(method, params string) (benchAnswer, error) {
	return c.send(method, params)()
}

// send sends a request with parameters in JSON, and returns a function that waits for its answer.
func (c *benchClient) send(method, params string) (await func() (benchAnswer, error)) {
	answer := make(chan benchAnswer, 1)
	c.mu.Lock()
	c.lastID++
	c.waiting[c.lastID] = answer
	head, tail := `{"jsonrpc":"2.0","id":`+strconv.Itoa(c.lastID)+`,"method":"`+method+`","params":`, "}\n"
	var err error
	if len(params) > 64<<10 { // more than the pipe holds at once
		_, err = io.WriteString(c.in, head)
		if err == nil {
			_, err = io.WriteString(c.in, params)
		}
		head, params = "", ""
	}
	if err == nil {
		_, err = io.WriteString(c.in, head+params+tail)
	}
	c.mu.Unlock()
	return func() (benchAnswer, error) {
		if err != nil {
			return benchAnswer{}, err
		}
		select {
		case a := <-answer:
			if a.Error != nil {
				return a, fmt.Errorf("%s %s: %s", method, params, a.Error.Message)
			}
			return a, nil
		case <-time.After(2 * time.Minute):
			return benchAnswer{}, fmt.Errorf("%s %s: no answer", method, params)
		}
	}
}

// ping sends a request without work: its time is the protocol's share.
func (c *benchClient) ping(b *testing.B) time.Duration {
	b.Helper()
	begin := time.Now()
	if _, err := c.ask("ping", "{}"); err != nil {
		b.Fatal(err)
	}
	return time.Since(begin)
}

// call calls a tool with arguments in JSON.
func (c *benchClient) call(tool, format string, values ...any) (r benchResult, err error) {
	a, err := c.ask("tools/call", `{"name":"`+tool+`","arguments":`+fmt.Sprintf(format, values...)+"}")
	if err != nil {
		return r, err
	}
	if len(a.Result.Content) != 1 || a.Result.IsError {
		return r, fmt.Errorf("%s: %+v", tool, a.Result)
	}
	return r, json.Unmarshal([]byte(a.Result.Content[0].Text), &r)
}

// benchSDK starts a ptyctl with a client of the official SDK, and returns a function that runs a command on a session
// of its own.
func benchSDK(b *testing.B, s *benchServer) func(command, want string) time.Duration {
	b.Helper()
	ctx := context.WithoutCancel(b.Context()) // which ends before the clean-up does
	client := mcp.NewClient(&mcp.Implementation{Name: "benchmark", Version: "1"}, nil)
	session, err := client.Connect(ctx, &mcp.CommandTransport{Command: benchCommand(b, s)}, nil)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := session.Close(); err != nil {
			b.Errorf("ptyctl ended with %v", err)
		}
	})
	call := func(tool, format string, values ...any) (r benchResult) {
		answer, err := session.CallTool(
			ctx,
			&mcp.CallToolParams{Name: tool, Arguments: json.RawMessage(fmt.Sprintf(format, values...))},
		)
		if err != nil {
			b.Fatal(err)
		}
		text := answer.Content[0].(*mcp.TextContent).Text
		if err := json.Unmarshal([]byte(text), &r); err != nil || answer.IsError {
			b.Fatalf("%s: %s", tool, text)
		}
		return r
	}
	id := call("ptyctl_session", benchOpen, s.port, s.user).SessionID
	return func(command, want string) time.Duration {
		begin := time.Now()
		if r := call("ptyctl_session_exec", `{"session_id":%q,"cmd":%q,"lane":"channel"}`, id, command); r.Stdout != want {
			b.Fatalf("%s: %+v", command, r)
		}
		return time.Since(begin)
	}
}
