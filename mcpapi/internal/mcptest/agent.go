package mcptest

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"ptyctl/internal/leaktest"
	"ptyctl/mcpapi"
	"ptyctl/mcpapi/stdio"
	"ptyctl/term"
)

// An Agent is an MCP client on the other end of a stdio.Serve. Its calls may be made by several goroutines.
type Agent struct {
	T        *testing.T
	Session  string
	revision string
	sent     leaktest.Client

	mu      sync.Mutex
	in      io.Writer
	lastID  int
	waiting map[string]chan Answer
}

// An Answer is a JSON-RPC response as the client reads it.
type Answer struct {
	ID     json.RawMessage `json:"id"`
	Result json.RawMessage `json:"result"`
	Error  *struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
		Data    json.RawMessage
	} `json:"error"`
}

// NewAgent connects a client to srv and initializes it; an empty revision is 2025-06-18.
func NewAgent(t *testing.T, srv *mcpapi.Server, revision string) *Agent {
	t.Helper()
	a, _ := Connected(t, context.Background(), srv, "tester", revision)
	return a
}

// Connected is NewAgent for one of several clients: name is its program's, and ctx may have its identity.Caller. gone
// ends the connection, as the end of the client's process does, and returns when its calls have ended.
func Connected(
	t *testing.T, ctx context.Context, srv *mcpapi.Server, name, revision string,
) (a *Agent, gone func()) {
	t.Helper()
	if revision == "" {
		revision = "2025-06-18"
	}
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	a = &Agent{T: t, in: inW, revision: revision, waiting: make(map[string]chan Answer)}
	var running sync.WaitGroup
	running.Go(func() {
		o := stdio.Options{DrainTimeout: time.Millisecond}
		if err := stdio.Serve(ctx, srv, inR, outW, o); err != nil {
			t.Error(err)
		}
		outW.Close()
	})
	running.Go(func() {
		lines := bufio.NewScanner(io.TeeReader(outR, leaktest.Writer(t, "stdout")))
		// Larger than any answer: a line that is too long would end the reader without a word.
		lines.Buffer(nil, 64<<20)
		for lines.Scan() {
			a.deliver(lines.Bytes())
		}
	})
	gone = func() {
		inW.Close()
		running.Wait()
	}
	t.Cleanup(gone)
	got := a.Request("initialize", fmt.Sprintf(
		`{"protocolVersion":%q,"capabilities":{},"clientInfo":{"name":%q,"version":"7"}}`, revision, name,
	))
	if got.Error != nil {
		t.Fatalf("initialize: %+v", got.Error)
	}
	a.Write(InitializedLine)
	return a, gone
}

// deliver hands an answer to the call that waits for it.
func (a *Agent) deliver(line []byte) {
	var got Answer
	if err := json.Unmarshal(line, &got); err != nil {
		a.T.Errorf("the server wrote %q: %v", line, err)
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	// A notification has no id, and belongs to no call.
	if wait := a.waiting[string(got.ID)]; wait != nil {
		wait <- got
	}
}

// Write sends one line as it is, which need not be a valid message.
func (a *Agent) Write(line string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if _, err := io.WriteString(a.in, line+"\n"); err != nil {
		a.T.Error(err)
	}
}

// Start sends a request; its answer comes on the channel.
func (a *Agent) Start(method, params string) (id string, answer <-chan Answer) {
	// Buffered: the reader must not wait for a test that has stopped to look.
	c := make(chan Answer, 1)
	a.mu.Lock()
	a.lastID++
	id = strconv.Itoa(a.lastID)
	a.waiting[id] = c
	a.mu.Unlock()
	a.Write(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":%q,"params":%s}`, id, method, params))
	return id, c
}

// Request sends a request and waits for its answer. The limit only detects a hang.
func (a *Agent) Request(method, params string) Answer {
	a.T.Helper()
	_, answer := a.Start(method, params)
	select {
	case got := <-answer:
		return got
	case <-time.After(30 * time.Second):
		a.T.Fatalf("no answer to %s %.200s", method, params)
		return Answer{}
	}
}

// Params returns the params of a tools/call; $S in args is replaced by the session's id.
func (a *Agent) Params(tool, args string) string {
	args = strings.ReplaceAll(args, "$S", a.Session)
	// Registers the secrets in the arguments, so that it is searched for in all output.
	a.sent.Call(a.T, args)
	return fmt.Sprintf(`{"name":%q,"arguments":%s}`, tool, args)
}

// Call makes a tool call, which may fail.
func (a *Agent) Call(tool, args string) Reply {
	a.T.Helper()
	got := a.Request("tools/call", a.Params(tool, args))
	if got.Error != nil {
		a.T.Fatalf("%s %s: JSON-RPC error %+v", tool, args, got.Error)
	}
	r := a.Read(got.Result)
	a.sent.Result(a.Session, r.Text)
	return r
}

// OK makes a tool call that must succeed.
func (a *Agent) OK(tool, args string) Reply {
	a.T.Helper()
	r := a.Call(tool, args)
	if r.IsError {
		a.T.Fatalf("%s %s failed: %s", tool, args, r.Text)
	}
	return r
}

// Fails makes a tool call that must fail in the way given, with a message that has all the parts.
func (a *Agent) Fails(tool, args string, kind term.Kind, parts ...string) Reply {
	a.T.Helper()
	r := a.Call(tool, args)
	if !r.IsError || r.ErrorCode != kind {
		a.T.Fatalf("%s %s: got %.600s, want %s", tool, args, r.Text, kind)
	}
	for _, p := range parts {
		if !strings.Contains(r.Message, p) {
			a.T.Errorf("%s %s: the message lacks %q: %s", tool, args, p, r.Message)
		}
	}
	if r.Retryable != kind.Retryable() {
		a.T.Errorf("%s: retryable is %v", kind, r.Retryable)
	}
	return r
}

// ToolNames returns the names of the tools that the server lists.
func (a *Agent) ToolNames() (names []string) {
	var list struct{ Tools []struct{ Name string } }
	a.Decode(a.Request("tools/list", `{}`).Result, &list)
	for _, t := range list.Tools {
		names = append(names, t.Name)
	}
	return names
}

// Decode reads JSON, or fails the test.
func (a *Agent) Decode(raw json.RawMessage, into any) {
	a.T.Helper()
	if err := json.Unmarshal(raw, into); err != nil {
		a.T.Fatalf("%v in %s", err, raw)
	}
}
