package stdio

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"ptyctl/mcpapi/jsonrpc"

	"ptyctl/mcpapi/mcpgo"
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

func newTestServer(tb testing.TB) (*server.MCPServer, *testTools) {
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
	return srv, tt
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
func serve(t *testing.T, srv MessageServer, o Options) *conn {
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

func TestPipelinedHandshake(t *testing.T) {
	srv, _ := newTestServer(t)
	c := serve(t, srv, Options{})
	c.send(initializeLine, initializedLine, `{"jsonrpc":"2.0","id":2,"method":"tools/list"}`)
	if a := c.next(); string(a.ID) != `"i"` || a.Result.ProtocolVersion != "2025-06-18" {
		t.Fatalf("initialize: %+v", a)
	}
	if a := c.next(); string(a.ID) != "2" || len(a.Result.Tools) != 7 {
		t.Fatalf("tools/list: %+v", a)
	}
	c.send(call("3", "whoami", ""))
	c.wantText("3", "tester 7 2025-06-18")
	c.wantEnd(nil)
}

// slowBuffer takes a second for each Write.
type slowBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *slowBuffer) Write(p []byte) (int, error) {
	time.Sleep(time.Second)
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *slowBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

// readFunc is an input made of a function.
type readFunc func(p []byte) (int, error)

func (f readFunc) Read(p []byte) (int, error) { return f(p) }

// Whatever the next line causes to be sent comes after the answer to initialize.
func TestWritesInitializeBeforeItReadsOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv, _ := newTestServer(t)
		out := &slowBuffer{}
		in := io.MultiReader(strings.NewReader(initializeLine+"\n"), readFunc(func([]byte) (int, error) {
			if !strings.Contains(out.String(), "protocolVersion") {
				t.Error("the next line is read before initialize is answered")
			}
			return 0, io.EOF
		}))
		if err := Serve(context.Background(), srv, in, out, Options{}); err != nil {
			t.Fatal(err)
		}
	})
}

func TestClientOfStatelessRequest(t *testing.T) {
	srv, _ := newTestServer(t)
	c := serve(t, srv, Options{})
	modern := func(id, info string) string {
		return `{"jsonrpc":"2.0","id":` + id + `,"method":"tools/call","params":{"name":"whoami","_meta":{` +
			`"io.modelcontextprotocol/protocolVersion":"2026-07-28",` + info +
			`"io.modelcontextprotocol/clientCapabilities":{}}}}`
	}
	c.send(modern("1", `"io.modelcontextprotocol/clientInfo":{"name":"new","version":"9"},`))
	c.wantText("1", "new 9 2026-07-28")
	c.send(modern("2", ""))
	c.wantText("2", "  2026-07-28")
	c.send(initializeLine)
	c.next()
	// What one request says of itself does not stick to the next.
	c.send(call("3", "whoami", ""))
	c.wantText("3", "tester 7 2025-06-18")
	c.wantEnd(nil)
}

func TestClientFromContextWithoutSession(t *testing.T) {
	if n, v, p := mcpgo.ClientFromContext(context.Background()); n+v+p != "" {
		t.Fatalf("got %q %q %q", n, v, p)
	}
}

func TestBlockedCallsDelayNothing(t *testing.T) {
	for _, n := range []int{50, 250} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				srv, tt := newTestServer(t)
				c := serve(t, srv, Options{})
				begin := time.Now()
				for i := range n {
					c.send(call(fmt.Sprint(i), "block", ""))
				}
				c.send(call(`"e"`, "echo", `"text":"hi"`))
				c.wantText(`"e"`, "hi")
				c.send(ping(`"p"`))
				if a := c.next(); string(a.ID) != `"p"` || a.Error != nil {
					t.Fatalf("ping: %+v", a)
				}
				for i := range n {
					c.send(cancelCall(fmt.Sprint(i)))
				}
				synctest.Wait()
				if got := tt.cancelled.Load(); got != int64(n) {
					t.Fatalf("%d of %d calls cancelled", got, n)
				}
				if got := tt.cause.Load().(causeBox).err; !errors.Is(got, errCancelledByClient) {
					t.Fatalf("cause: %v", got)
				}
				c.wantEnd(nil) // With no answer to any cancelled call.
				if d := time.Since(begin); d != 0 {
					t.Fatalf("something waited for a timer: %v", d)
				}
			})
		})
	}
}

func TestTooManyInFlight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv, tt := newTestServer(t)
		c := serve(t, srv, Options{MaxInFlight: 2})
		c.send(call("1", "block", ""), call("2", "block", ""), call("3", "echo", ""))
		c.wantError("3", codeTooManyRequests, "2 requests are in flight")
		c.send(ping("4"))
		if a := c.next(); string(a.ID) != "4" || a.Error != nil {
			t.Fatalf("ping at the limit: %+v", a)
		}
		c.send(cancelCall("1"))
		synctest.Wait()
		c.send(call("5", "echo", `"text":"room"`))
		c.wantText("5", "room")
		close(tt.release)
		c.wantText("2", "released")
		c.wantEnd(nil)
	})
}

func TestNotificationsPrecedeTheAnswer(t *testing.T) {
	srv, _ := newTestServer(t)
	for _, n := range []int{1, 1000, 5000} {
		c := serve(t, srv, Options{})
		c.send(initializeLine, call("1", "progress", fmt.Sprintf(`"n":%d`, n)))
		c.next()
		for i := range n {
			if a := c.next(); a.Method != "notifications/progress" || a.Params.Progress != i+1 {
				t.Fatalf("line %d of %d: %+v", i, n, a)
			}
		}
		c.wantText("1", "done")
		c.wantEnd(nil)
	}
}

func TestNotificationsOfManyCalls(t *testing.T) {
	srv, _ := newTestServer(t)
	c := serve(t, srv, Options{})
	c.send(initializeLine)
	c.next()
	const calls, each = 40, 100
	go func() {
		for i := range calls {
			fmt.Fprintln(c.in, call(fmt.Sprint(i), "progress", fmt.Sprintf(`"n":%d`, each)))
		}
	}()
	seen := 0
	for answers := 0; answers < calls; {
		a := c.next()
		if a.Method != "" {
			seen++
			continue
		}
		if a.text(t) != "done" {
			t.Fatalf("answer = %+v, want the text done", a)
		}
		answers++
	}
	if seen != calls*each {
		t.Fatalf("%d notifications of %d", seen, calls*each)
	}
	c.wantEnd(nil)
}

func TestLoneNotificationIsNotHeldBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv, _ := newTestServer(t)
		c := serve(t, srv, Options{})
		c.send(initializeLine)
		c.next()
		srv.SendNotificationToAllClients("notifications/tools/list_changed", nil)
		if a := c.next(); a.Method != "notifications/tools/list_changed" {
			t.Fatalf("next line = %+v, want notifications/tools/list_changed", a)
		}
		c.wantEnd(nil)
	})
}

func TestRequestIDs(t *testing.T) {
	srv, _ := newTestServer(t)
	c := serve(t, srv, Options{})
	for _, id := range []string{
		"0", "-1", "9007199254740993", "18446744073709551617", strings.Repeat("9", jsonrpc.MaxNumericID),
		`"1"`, `""`, `"ä \\ \" \n"`, `"` + strings.Repeat("x", 1000) + `"`,
	} {
		c.send(call(id, "echo", `"text":"x"`))
		c.wantText(id, "x")
		c.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":"nope"}`, id))
		c.wantError(id, mcp.METHOD_NOT_FOUND, "nope")
	}
	for id, is := range map[string]string{
		"null": "null, which JSON-RPC allows and MCP does not", "1.5": "a fraction", "1e3": "an exponent",
		"true": "true or false", "{}": "an object", "[1]": "an array",
		strings.Repeat("9", jsonrpc.MaxNumericID+1): "longer than 64 characters",
	} {
		c.send(call(id, "echo", ""))
		answer := c.next()
		if e := answer.Error; e == nil || string(answer.ID) != "null" || e.Code != mcp.INVALID_REQUEST ||
			!strings.HasPrefix(e.Message, "id must be a string or a whole number, and here it is ") ||
			!strings.Contains(e.Message, is) {
			t.Errorf("a request with the id %s gets %+v, want a refusal that says it is %s", id, answer, is)
		}
	}
	c.wantEnd(nil)
}

func TestDuplicateID(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv, tt := newTestServer(t)
		c := serve(t, srv, Options{})
		c.send(call("9007199254740992", "block", ""), call(`"a"`, "block", ""))
		c.send(call("9007199254740992", "echo", ""))
		c.wantError("9007199254740992", mcp.INVALID_REQUEST, "still in flight")
		c.send(call(`"\u0061"`, "echo", ""))
		c.wantError(`"\u0061"`, mcp.INVALID_REQUEST, "still in flight")
		// Equal as float64, and as text, but not the same ids.
		c.send(call("9007199254740993", "echo", `"text":"x"`))
		c.wantText("9007199254740993", "x")
		c.send(call(`"9007199254740992"`, "echo", `"text":"x"`))
		c.wantText(`"9007199254740992"`, "x")
		c.send(cancelCall("9007199254740993"), cancelCall(`"9007199254740992"`), cancelCall("null"), cancelCall("[[]]"))
		synctest.Wait()
		if tt.cancelled.Load() != 0 {
			t.Fatal("the wrong call was cancelled")
		}
		c.send(cancelCall("9007199254740992"))
		synctest.Wait()
		if tt.cancelled.Load() != 1 {
			t.Fatal("the call was not cancelled")
		}
		c.send(call("9007199254740992", "echo", `"text":"again"`))
		c.wantText("9007199254740992", "again")
		close(tt.release)
		c.wantText(`"a"`, "released")
		c.wantEnd(nil)
	})
}

func TestBadLines(t *testing.T) {
	const limit = 1 << 16
	deep := strings.Repeat("[", 20000)
	for _, tc := range []struct {
		name, line, id string
		code           int
		part           string
	}{
		{"empty", "", "null", mcp.PARSE_ERROR, "empty line"},
		{"blank", " \t \r", "null", mcp.PARSE_ERROR, "empty line"},
		{"malformed", `{"jsonrpc":"2.0","id":1,`, "null", mcp.PARSE_ERROR, "not valid JSON"},
		{"text", `hello`, "null", mcp.PARSE_ERROR, "not valid JSON"},
		{"two objects", ping("1") + ping("2"), "null", mcp.PARSE_ERROR, "not valid JSON"},
		{"NUL", "\x00", "null", mcp.PARSE_ERROR, "not valid JSON"},
		{"deep", deep, "null", mcp.PARSE_ERROR, "not valid JSON"},
		{"deep in object", `{"params":` + deep, "null", mcp.PARSE_ERROR, "not valid JSON"},
		{"invalid UTF-8", "{\"jsonrpc\":\"2.0\",\"id\":\"\xff\",\"method\":\"ping\"}", "null", mcp.PARSE_ERROR, "UTF-8"},
		{"batch", "[" + ping("1") + "]", "null", mcp.INVALID_REQUEST, "2025-03-26, and the one in effect is not settled"},
		{"empty batch", "[]", "null", mcp.INVALID_REQUEST, "batches exist only in protocol revision 2025-03-26"},
		{"broken batch", "[" + ping("1"), "null", mcp.PARSE_ERROR, "not valid JSON"},
		{"number", "42", "null", mcp.INVALID_REQUEST, "not a JSON object"},
		{"string", `"x"`, "null", mcp.INVALID_REQUEST, "not a JSON object"},
		{"null", "null", "null", mcp.INVALID_REQUEST, "not a JSON object"},
		{"no version", `{"id":5,"method":"ping"}`, "5", mcp.INVALID_REQUEST, "jsonrpc"},
		{"wrong version", `{"jsonrpc":"1.0","id":5,"method":"ping"}`, "5", mcp.INVALID_REQUEST, "jsonrpc"},
		{"version of wrong type", `{"jsonrpc":2,"id":5,"method":"ping"}`, "5", mcp.INVALID_REQUEST, "jsonrpc"},
		{"method of wrong type", `{"jsonrpc":"2.0","method":5,"id":"m"}`, `"m"`, mcp.INVALID_REQUEST, "jsonrpc"},
		{"no method", `{"jsonrpc":"2.0","id":5}`, "5", mcp.INVALID_REQUEST, "needs a method"},
		{"request and answer", `{"jsonrpc":"2.0","id":5,"method":"ping","result":{}}`, "5", mcp.INVALID_REQUEST, "both"},
		{"too long", `{"a":"` + strings.Repeat("x", limit) + `"}`, "null", mcp.INVALID_REQUEST, "65536 bytes"},
		{"too long, id first", `{"jsonrpc":"2.0","id":"a","method":"x","params":{"id":9,"a":"` + strings.Repeat("x", limit) + `"}}`,
			`"a"`, mcp.INVALID_REQUEST, "65536 bytes"},
		{"too long, id last", `{"method":"x","params":{"a":"` + strings.Repeat("\\", 3*limit) + `"},"jsonrpc":"2.0","id":7}`,
			"7", mcp.INVALID_REQUEST, "65536 bytes"},
		{"too long, number first", `{"id":7,"method":"x","params":{"a":"` + strings.Repeat("x", limit) + `"}}`,
			"7", mcp.INVALID_REQUEST, "limits.max_message_bytes"},
		{"too long, an answer", `{"jsonrpc":"2.0","id":7,"result":"` + strings.Repeat("x", limit) + `"}`,
			"null", mcp.INVALID_REQUEST, "65536 bytes"},
		{"one byte too long", strings.Repeat(" ", limit+1), "null", mcp.INVALID_REQUEST, "65536 bytes"},
		{"longest", strings.Repeat(" ", limit), "null", mcp.PARSE_ERROR, "empty line"},
		{"unknown method", `{"jsonrpc":"2.0","id":5,"method":"x/y"}`, "5", mcp.METHOD_NOT_FOUND, "x/y"},
		{"unknown tool", call("5", "nosuch", ""), "5", mcp.INVALID_PARAMS, "nosuch"},
		{"params of wrong type", `{"jsonrpc":"2.0","id":5,"method":"tools/call","params":7}`, "5", mcp.INVALID_REQUEST, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			srv, _ := newTestServer(t)
			c := serve(t, srv, Options{MaxMessageBytes: limit})
			c.send(tc.line)
			c.wantError(tc.id, tc.code, tc.part)
			c.send(call("6", "echo", `"text":"alive"`))
			c.wantText("6", "alive")
			c.wantEnd(nil)
		})
	}
}

func TestIgnoresAnswersAndUnknownNotifications(t *testing.T) {
	srv, _ := newTestServer(t)
	c := serve(t, srv, Options{})
	c.send(`{"jsonrpc":"2.0","id":1,"result":{}}`, `{"jsonrpc":"2.0","id":1,"result":null}`,
		`{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"x"}}`, `{"jsonrpc":"2.0","method":"notifications/x"}`,
		`{"jsonrpc":"2.0","method":"notifications/boom"}`, `{"jsonrpc":"2.0","method":"notifications/cancelled"}`,
		`{"jsonrpc":"2.0","method":"notifications/cancelled","params":5}`, cancelCall("99"), ping("2")+"\r")
	if a := c.next(); string(a.ID) != "2" || a.Error != nil {
		t.Fatalf("answer after ignored messages = %+v, want the result of request 2", a)
	}
	c.wantEnd(nil)
}

// hugeLine is an input of n bytes without a newline, then one, then tail.
func hugeLine(n int64, tail string) io.Reader {
	return io.MultiReader(io.LimitReader(xs{}, n), strings.NewReader("\n"+tail))
}

type xs struct{}

func (xs) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'x'
	}
	return len(p), nil
}

func TestHugeLineNeedsBoundedMemory(t *testing.T) {
	srv, _ := newTestServer(t)
	var out bytes.Buffer
	var before, after runtime.MemStats
	const limit = 1 << 20
	runtime.GC()
	runtime.ReadMemStats(&before)
	err := Serve(context.Background(), srv, hugeLine(64<<20, ping("1")), &out, Options{MaxMessageBytes: limit})
	runtime.ReadMemStats(&after)
	if err != nil {
		t.Fatal(err)
	}
	// TotalAlloc counts all that was ever allocated, so it is an upper bound of the memory in use at any time.
	if got := after.TotalAlloc - before.TotalAlloc; got > 3*limit {
		t.Errorf("%d bytes allocated for a line of 64 MiB with a limit of %d", got, limit)
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if len(lines) != 2 || !strings.Contains(lines[0], "1048576 bytes") || !strings.Contains(lines[1], `"id":1`) {
		t.Fatalf("output: %q", lines)
	}
}

func TestLineReader(t *testing.T) {
	long := strings.Repeat("a", 100)
	for _, tc := range []struct {
		in   string
		want []string
	}{
		{"", nil},
		{"\n", []string{""}},
		{"a", []string{"a"}},
		{"a\nb\n", []string{"a", "b"}},
		{"a\r\n\nb", []string{"a\r", "", "b"}},
		{long + "\n" + long, []string{long, long}},
		{long + "x\nb\n", []string{"!", "b"}},
		{long + long + "\n" + long + "x", []string{"!", "!"}},
		{strings.Repeat("z", 32) + "\nb", []string{strings.Repeat("z", 32), "b"}},
	} {
		r := lineReader{br: bufio.NewReaderSize(strings.NewReader(tc.in), 16), max: 100}
		var got []string
		for {
			line, err := r.next()
			if errors.Is(err, io.EOF) {
				break
			}
			if errors.Is(err, errLineTooLong) {
				line = []byte("!")
			} else if err != nil {
				t.Fatal(err)
			}
			got = append(got, string(line))
		}
		if !slices.Equal(got, tc.want) {
			t.Errorf("%q: got %q, want %q", tc.in, got, tc.want)
		}
	}
}

func TestAnswersAllAtEndOfInput(t *testing.T) {
	srv, _ := newTestServer(t)
	var in strings.Builder
	const n = 200
	for i := range n {
		in.WriteString(call(fmt.Sprint(i), "echo", `"text":"x"`) + "\n")
	}
	in.WriteString(call(`"last"`, "echo", `"text":"no newline"`))
	var out bytes.Buffer
	if err := Serve(context.Background(), srv, strings.NewReader(in.String()), &out, Options{}); err != nil {
		t.Fatal(err)
	}
	if got := strings.Count(out.String(), "\n"); got != n+1 {
		t.Fatalf("%d answers, want %d", got, n+1)
	}
	if !strings.Contains(out.String(), "no newline") {
		t.Fatal("the last line was lost")
	}
}

func TestDrain(t *testing.T) {
	for _, tc := range []struct {
		name, tool string
		end        func(c *conn)
		release    time.Duration // when the calls may end on their own; 0: never
		took       time.Duration
		answer     string // "" for an error
		cause      error
	}{
		{"end of input, in time", "block", func(c *conn) { c.in.Close() }, 2 * time.Second, 2 * time.Second, "released", nil},
		{"end of input, too slow", "block", func(c *conn) { c.in.Close() }, 0, 3 * time.Second, "cancelled", errInputEnded},
		{"end of input, deaf", "deaf", func(c *conn) { c.in.Close() }, 0, 5 * time.Second, "", nil},
		{"end of input, deaf but soon ready", "deaf", func(c *conn) { c.in.Close() }, 4 * time.Second, 4 * time.Second, "too late", nil},
		{"context", "block", func(c *conn) { c.cancel() }, 0, 0, "cancelled", context.Canceled},
		{"context, deaf", "deaf", func(c *conn) { c.cancel() }, 0, 2 * time.Second, "", nil},
		{"context while draining", "block", func(c *conn) { c.in.Close(); time.Sleep(time.Second); c.cancel() }, 0, time.Second, "cancelled", context.Canceled},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				srv, tt := newTestServer(t)
				c := serve(t, srv, Options{})
				c.send(call("1", tc.tool, ""), call("2", tc.tool, ""))
				synctest.Wait()
				if tc.release > 0 {
					time.AfterFunc(tc.release, func() { close(tt.release) })
				} else {
					defer close(tt.release)
				}
				begin := time.Now()
				tc.end(c)
				<-c.done
				if took := time.Since(begin); c.err != nil || took != tc.took {
					t.Fatalf("returned %v after %v, want nil after %v", c.err, took, tc.took)
				}
				ids := map[string]bool{}
				for a := range c.answers {
					ids[string(a.ID)] = true
					if tc.answer == "" {
						if a.Error == nil || a.Error.Code != mcp.INTERNAL_ERROR || !strings.Contains(a.Error.Message, "shut down") {
							t.Errorf("answer = %+v, want an internal error that says shut down", a)
						}
					} else if got := a.text(t); got != tc.answer {
						t.Errorf("got %q, want %q", got, tc.answer)
					}
				}
				if len(ids) != 2 {
					t.Errorf("answered: %v", ids)
				}
				if tc.cause != nil {
					if got := tt.cause.Load().(causeBox).err; !errors.Is(got, tc.cause) {
						t.Errorf("cause %v, want %v", got, tc.cause)
					}
				}
			})
		})
	}
}

func TestListenDoesNotDelayTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv, _ := newTestServer(t)
		c := serve(t, srv, Options{})
		c.send(
			`{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true},` +
				`"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`,
		)
		if a := c.next(); a.Method != "notifications/subscriptions/acknowledged" {
			t.Fatalf("first line = %+v, want notifications/subscriptions/acknowledged", a)
		}
		begin := time.Now()
		c.in.Close()
		if a := c.next(); string(a.ID) != "1" || a.Error != nil {
			t.Fatalf("answer at the end of input = %+v, want the result of request 1", a)
		}
		c.wantEnd(nil)
		if d := time.Since(begin); d != 0 {
			t.Fatalf("waited %v", d)
		}
	})
}

func TestPanic(t *testing.T) {
	srv, _ := newTestServer(t)
	var logged bytes.Buffer
	c := serve(t, srv, Options{Logger: slog.New(slog.NewTextHandler(&logged, nil))})
	c.send(call("1", "panic", ""))
	a := c.next()
	if a.Error == nil || a.Error.Code != mcp.INTERNAL_ERROR || strings.Contains(a.Error.Message, "secret") {
		t.Fatalf("error of a panic = %+v, want an internal error without the panic's text", a.Error)
	}
	c.send(call("1", "echo", `"text":"alive"`))
	c.wantText("1", "alive")
	c.wantEnd(nil)
	if s := logged.String(); !strings.Contains(s, "secret-in-a-panic") || !strings.Contains(s, "serve_test.go") {
		t.Fatalf("log without panic or stack: %s", s)
	}
}

func TestAnswerThatIsNotJSON(t *testing.T) {
	srv, _ := newTestServer(t)
	c := serve(t, srv, Options{})
	c.send(initializeLine)
	c.next()
	srv.SendNotificationToAllClients("notifications/x", map[string]any{"x": func() {}})
	c.send(call("1", "unmarshalable", ""))
	c.wantError("1", mcp.INTERNAL_ERROR, "cannot be written as JSON")
	c.wantEnd(nil)
}

// brokenAfter is an output that fails with EPIPE after n writes.
type brokenAfter struct{ n int }

func (b *brokenAfter) Write(p []byte) (int, error) {
	if b.n--; b.n < 0 {
		return 0, syscall.EPIPE
	}
	return len(p), nil
}

func TestBrokenOutput(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv, tt := newTestServer(t)
		inR, inW := io.Pipe()
		defer inW.Close()
		done := make(chan error, 1)
		go func() { done <- Serve(context.Background(), srv, inR, &brokenAfter{1}, Options{}) }()
		fmt.Fprintln(inW, call("1", "block", ""))
		fmt.Fprintln(inW, ping("2"))
		fmt.Fprintln(inW, ping("3"))
		if err := <-done; !errors.Is(err, syscall.EPIPE) {
			t.Fatalf("got %v", err)
		}
		if tt.cancelled.Load() != 1 || !errors.Is(tt.cause.Load().(causeBox).err, errOutputBroken) {
			t.Fatalf("the call in flight was not cancelled for the output: %v", tt.cause.Load())
		}
	})
}

func TestOutputThatNobodyReads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv, _ := newTestServer(t)
		inR, inW := io.Pipe()
		outR, outW := io.Pipe()
		ctx, cancel := context.WithCancel(context.Background())
		done := make(chan error, 1)
		go func() { done <- Serve(ctx, srv, inR, outW, Options{}) }()
		fmt.Fprintln(inW, initializeLine)
		if _, err := bufio.NewReader(outR).ReadSlice('\n'); err != nil { // The last line that is read.
			t.Fatal(err)
		}
		fmt.Fprintln(inW, call("1", "progress", `"n":5000`))
		synctest.Wait()
		begin := time.Now()
		cancel()
		if err := <-done; err == nil || !strings.Contains(err.Error(), "read nothing") {
			t.Fatalf("got %v", err)
		}
		if d := time.Since(begin); d > 2*grace {
			t.Fatalf("took %v", d)
		}
		outR.Close()
		inW.Close()
	})
}

func TestReadError(t *testing.T) {
	srv, _ := newTestServer(t)
	inR, inW := io.Pipe()
	inW.CloseWithError(syscall.EIO)
	if err := Serve(context.Background(), srv, inR, io.Discard, Options{}); !errors.Is(err, syscall.EIO) {
		t.Fatalf("got %v", err)
	}
}

// slowConn takes a second to return from a Read.
type slowConn struct {
	net.Conn
	reading atomic.Bool
}

func (c *slowConn) Read(p []byte) (int, error) {
	c.reading.Store(true)
	defer c.reading.Store(false)
	n, err := c.Conn.Read(p)
	time.Sleep(time.Second)
	return n, err
}

// A Read that can be interrupted does not outlive Serve.
func TestInterruptsRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv, _ := newTestServer(t)
		pipe, clientEnd := net.Pipe()
		defer clientEnd.Close()
		serverEnd := &slowConn{Conn: pipe}
		ctx, cancel := context.WithCancel(context.Background())
		done := make(chan error, 1)
		go func() { done <- Serve(ctx, srv, serverEnd, io.Discard, Options{}) }()
		fmt.Fprintln(clientEnd, ping("1"))
		time.Sleep(2 * time.Second)
		cancel()
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		if serverEnd.reading.Load() {
			t.Fatal("Serve returned while it was reading")
		}
	})
}

func TestServersShareNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv, tt := newTestServer(t)
		a, b := serve(t, srv, Options{}), serve(t, srv, Options{})
		a.send(call("1", "block", ""))
		b.send(call("1", "echo", `"text":"b"`))
		b.wantText("1", "b")
		b.send(cancelCall("1"))
		synctest.Wait()
		if tt.cancelled.Load() != 0 {
			t.Fatal("one client cancelled the call of another")
		}
		b.send(strings.Replace(initializeLine, "tester", "other", 1))
		b.next()
		a.send(call("2", "whoami", ""))
		a.wantText("2", "  ")
		close(tt.release)
		a.wantText("1", "released")
		b.wantEnd(nil)
		a.wantEnd(nil)
	})
}

func FuzzServe(f *testing.F) {
	for _, s := range []string{
		initializeLine, initializedLine, call("1", "echo", `"text":"x"`), cancelCall("1"), "[]", "\n\r\n",
		`{"jsonrpc":"2.0","ID":null,"id":1,"method":"ping"}`, call("1", "panic", "") + "\n" + call("1", "panic", ""),
	} {
		f.Add([]byte(s))
	}
	srv, tt := newTestServer(f)
	close(tt.release)
	f.Fuzz(func(t *testing.T, in []byte) {
		var out bytes.Buffer
		if err := Serve(context.Background(), srv, bytes.NewReader(in), &out, Options{MaxMessageBytes: 1024}); err != nil {
			t.Fatal(err)
		}
		for line := range bytes.Lines(out.Bytes()) {
			var a struct {
				JSONRPC string `json:"jsonrpc"`
			}
			if err := json.Unmarshal(line, &a); err != nil || a.JSONRPC != "2.0" {
				t.Fatalf("%q: %v", line, err)
			}
		}
	})
}

// The same calls through Serve and through the library's own stdio server, in one run.
func BenchmarkRoundTrip(b *testing.B) {
	servers := []struct {
		name  string
		serve func(srv *server.MCPServer, in io.Reader, out io.Writer) error
	}{
		{"ptyctl", func(srv *server.MCPServer, in io.Reader, out io.Writer) error {
			return Serve(context.Background(), srv, in, out, Options{})
		}},
		{"mcp-go", func(srv *server.MCPServer, in io.Reader, out io.Writer) error {
			return server.NewStdioServer(srv).Listen(context.Background(), in, out)
		}},
	}
	for _, size := range []int{2, 64 << 10} {
		// Text as terminals send it: lines, some colour, some HTML-unsafe characters.
		text := strings.Repeat("-rw-r--r-- 1 root root 4096 \x1b[01;34mname\x1b[0m <a> && b\r\n", size/50+1)[:size]
		for _, s := range servers {
			b.Run(fmt.Sprintf("%d/%s", size, s.name), func(b *testing.B) {
				srv := server.NewMCPServer("bench", "1", server.WithToolCapabilities(true))
				srv.AddTool(mcp.NewTool("get"), func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
					return mcp.NewToolResultText(text), nil
				})
				inR, inW := io.Pipe()
				outR, outW := io.Pipe()
				done := make(chan error, 1)
				go func() { done <- s.serve(srv, inR, outW) }()
				answers := bufio.NewReaderSize(outR, 1<<20)
				request := []byte(call("1", "get", "") + "\n")
				for b.Loop() {
					if _, err := inW.Write(request); err != nil {
						b.Fatal(err)
					}
					if _, err := answers.ReadSlice('\n'); err != nil {
						b.Fatal(err)
					}
				}
				inW.Close()
				if err := <-done; err != nil {
					b.Fatal(err)
				}
			})
		}
	}
}
