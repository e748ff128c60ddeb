package stdio

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"ptyctl/internal/mcpgo"
)

// rpcAnswer is any line that the server writes.
type rpcAnswer struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params struct {
		Progress int `json:"progress"`
	} `json:"params"`
	Result *struct {
		ProtocolVersion string `json:"protocolVersion"`
		IsError         bool   `json:"isError"`
		Content         []struct {
			Text string `json:"text"`
		} `json:"content"`
		Tools []struct {
			Name string `json:"name"`
		} `json:"tools"`
	} `json:"result"`
	Error *struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
	} `json:"error"`

	batch []rpcAnswer // of a line that is an array
}

func (a rpcAnswer) text(t *testing.T) string {
	t.Helper()
	if a.Result == nil || len(a.Result.Content) != 1 {
		t.Fatalf("want a result with one text, got %+v", a)
	}
	return a.Result.Content[0].Text
}

// testTools are the tools of a server under test.
type testTools struct {
	started   atomic.Int64 // calls of block and deaf so far
	cancelled atomic.Int64 // calls of block with an ended context
	cause     atomic.Value // of the last such context, an error in a causeBox
	release   chan struct{}
}

type causeBox struct{ err error }

func newTestServer(tb testing.TB) (*mcpgo.Server, *testTools) {
	tb.Helper()
	srv := server.NewMCPServer("test", "1", server.WithToolCapabilities(true))
	tt := &testTools{release: make(chan struct{})}
	text := func(s string) (*mcp.CallToolResult, error) { return mcp.NewToolResultText(s), nil }
	srv.AddTool(
		mcp.NewTool("echo", mcp.WithString("text")),
		func(_ context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return text(r.GetString("text", ""))
		},
	)
	srv.AddTool(mcp.NewTool("block"), func(ctx context.Context, _ mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		tt.started.Add(1)
		select {
		case <-ctx.Done():
			tt.cause.Store(causeBox{context.Cause(ctx)})
			tt.cancelled.Add(1)
			return text("cancelled")
		case <-tt.release:
			return text("released")
		}
	})
	srv.AddTool(mcp.NewTool("deaf"), func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		tt.started.Add(1)
		<-tt.release
		return text("too late")
	})
	srv.AddTool(
		mcp.NewTool("progress", mcp.WithNumber("n")),
		func(ctx context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			for i := range r.GetInt("n", 0) {
				err := srv.SendNotificationToClient(
					ctx,
					"notifications/progress",
					map[string]any{"progressToken": "t", "progress": i + 1},
				)
				if err != nil {
					return nil, err
				}
			}
			return text("done")
		},
	)
	srv.AddTool(mcp.NewTool("panic"), func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		panic("secret-in-a-panic")
	})
	srv.AddTool(mcp.NewTool("unmarshalable"), func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return mcp.NewToolResultStructured(func() {}, "x"), nil
	})
	srv.AddTool(mcp.NewTool("whoami"), func(ctx context.Context, _ mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		name, version, protocol := mcpgo.ClientFromContext(ctx)
		return text(name + " " + version + " " + protocol)
	})
	srv.AddNotificationHandler("notifications/boom", func(context.Context, mcp.JSONRPCNotification) { panic("boom") })
	return &mcpgo.Server{MCPServer: srv}, tt
}

// conn is a client's end of a Serve.
type conn struct {
	t       *testing.T
	in      *io.PipeWriter
	answers chan rpcAnswer
	done    chan struct{} // closed when Serve has returned
	err     error         // result of Serve
	cancel  context.CancelFunc
}

// serve starts Serve on pipes. At the end of the test it must have returned.
func serve(t *testing.T, srv Server, o Options) *conn {
	t.Helper()
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	ctx, cancel := context.WithCancel(context.Background())
	c := &conn{t: t, in: inW, answers: make(chan rpcAnswer, 4096), done: make(chan struct{}), cancel: cancel}
	go func() {
		defer close(c.done)
		c.err = Serve(ctx, srv, inR, outW, o)
		outW.Close()
	}()
	var readers sync.WaitGroup
	readers.Go(func() {
		defer close(c.answers)
		lines := bufio.NewScanner(outR)
		lines.Buffer(nil, 64<<20)
		for lines.Scan() {
			var a rpcAnswer
			var into any = &a
			if bytes.HasPrefix(lines.Bytes(), []byte("[")) {
				into = &a.batch
			}
			if err := json.Unmarshal(lines.Bytes(), into); err != nil {
				t.Errorf("output is not JSON: %q: %v", lines.Bytes(), err)
			}
			c.answers <- a
		}
	})
	t.Cleanup(func() {
		inW.Close()
		cancel()
		<-c.done
		readers.Wait()
	})
	return c
}

func (c *conn) send(lines ...string) {
	c.t.Helper()
	for _, line := range lines {
		if _, err := io.WriteString(c.in, line+"\n"); err != nil {
			c.t.Fatalf("write %.80q: %v", line, err)
		}
	}
}

// next returns the server's next line; it fails the test if none comes within 20 s.
func (c *conn) next() rpcAnswer {
	c.t.Helper()
	select {
	case a, ok := <-c.answers:
		if !ok {
			c.t.Fatal("the server has closed its output")
		}
		return a
	case <-time.After(20 * time.Second):
		c.t.Fatal("no answer within 20 s")
	}
	return rpcAnswer{}
}

func (c *conn) wantError(id string, code int, part string) {
	c.t.Helper()
	a := c.next()
	if a.Error == nil || string(a.ID) != id || a.Error.Code != code || !strings.Contains(a.Error.Message, part) {
		c.t.Fatalf("got id %s, error %+v; want id %s, code %d, message with %q", a.ID, a.Error, id, code, part)
	}
}

func (c *conn) wantText(id, text string) {
	c.t.Helper()
	a := c.next()
	if string(a.ID) != id || a.text(c.t) != text {
		c.t.Fatalf("got id %s, text %q; want %s, %q", a.ID, a.text(c.t), id, text)
	}
}

// wantEnd ends the input and expects the given error of Serve, and no further line.
func (c *conn) wantEnd(want error) {
	c.t.Helper()
	c.in.Close()
	<-c.done
	if !errors.Is(c.err, want) {
		c.t.Fatalf("Serve returned %v, want %v", c.err, want)
	}
	if a, ok := <-c.answers; ok {
		c.t.Fatalf("unexpected line: %+v", a)
	}
}

func call(id, tool, args string) string {
	return fmt.Sprintf(
		`{"jsonrpc":"2.0","id":%s,"method":"tools/call","params":{"name":%q,"arguments":{%s}}}`,
		id,
		tool,
		args,
	)
}

func cancelCall(id string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%s}}`, id)
}

const (
	initializeLine = `{"jsonrpc":"2.0","id":"i","method":"initialize","params":{"protocolVersion":"2025-06-18",` +
		`"capabilities":{},"clientInfo":{"name":"tester","version":"7"}}}`
	initializedLine = `{"jsonrpc":"2.0","method":"notifications/initialized"}`
)

func ping(id string) string { return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":"ping"}`, id) }
