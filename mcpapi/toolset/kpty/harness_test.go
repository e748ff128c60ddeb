package kpty

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"ptyctl/internal/leaktest"
	"ptyctl/mcpapi"
	"ptyctl/mcpapi/identity"
	"ptyctl/mcpapi/stdio"
	"ptyctl/mcpapi/toolset"
	"ptyctl/mcpapi/wire"
	"ptyctl/ptyx"
	"ptyctl/session"
	"ptyctl/term"
)

func TestMain(m *testing.M) { os.Exit(leaktest.Main(m)) }

// An agent is an MCP client of a server with k_pty, in this process. Several goroutines
// may make its calls.
type agent struct {
	tb      testing.TB
	manager *session.Manager
	server  *mcpapi.Server
	sent    leaktest.Client

	mu      sync.Mutex // guards the following
	in      io.Writer
	last    int
	waiting map[int]chan answer
}

// An answer is one JSON-RPC response.
type answer struct {
	ID     int
	Result struct {
		Content           []struct{ Text string }
		StructuredContent json.RawMessage
		IsError           bool
	}
	Error json.RawMessage
	Raw   json.RawMessage `json:"-"` // the whole line
}

// A reply is an answer of k_pty.
type reply struct {
	OK          bool
	ErrorCode   Code `json:"error_code"`
	Message     string
	Retryable   bool
	Cause       term.Kind
	SessionID   string `json:"session_id"`
	Output      string
	Encoding    string
	Truncated   bool
	Dropped     int64  `json:"dropped_bytes"`
	Omitted     int64  `json:"omitted_bytes"`
	ExitCode    *int   `json:"exit_code"`
	ExitReason  string `json:"exit_code_reason"`
	Running     bool
	Stopped     *bool
	ExecID      string        `json:"exec_id"`
	Waiting     *wire.Waiting `json:"waiting_for"`
	TimedOut    bool          `json:"timed_out"`
	EOF         bool
	More        bool
	DoneReason  string `json:"done_reason"`
	Bytes       *int   `json:"bytes_written"`
	Ended       bool   `json:"already_ended"`
	Field       string
	Example     string
	Warnings    []string
	Help        string
	Cols, Rows  int
	Shell, Cwd  string
	PID         int
	CreatedAt   string `json:"created_at"`
	Sessions    []reply
	text        string
	isError     bool
	withoutCopy bool // structuredContent differs from the text
}

// A setting configures the server of an agent. The zero value works.
type setting struct {
	options  mcpapi.Options
	sessions session.Config
}

// newAgent starts a server and connects a client. $SHELL is /bin/sh.
func newAgent(tb testing.TB, c setting) *agent {
	tb.Helper()
	home := tb.TempDir()
	if t, ok := tb.(*testing.T); ok {
		t.Setenv("HOME", home)
		t.Setenv("SHELL", "/bin/sh")
	}
	if c.sessions.Dialers == nil {
		c.sessions.Dialers = map[string]term.Dialer{"local": ptyx.Host{}.Open}
	}
	c.sessions.Logger = leaktest.Log(tb)
	a := &agent{tb: tb, manager: session.NewManager(c.sessions), waiting: make(map[int]chan answer)}
	tb.Cleanup(func() { a.manager.Close(context.Background()) })
	c.options.Sessions, c.options.Logger = a.manager, c.sessions.Logger
	c.options.More, c.options.Toolsets, c.options.Local = []toolset.Set{Toolset(NewBookmarks())}, []string{"k_pty"}, []string{"stdio"}
	a.server = mcpapi.NewServer(c.options)
	a.serve(identity.Caller{})
	return a
}

// as connects another client with the given identity to the same server.
func (a *agent) as(caller identity.Caller) *agent {
	a.tb.Helper()
	b := &agent{tb: a.tb, manager: a.manager, server: a.server, waiting: make(map[int]chan answer)}
	b.serve(caller)
	return b
}

// serve runs the server and reads its answers until the test ends.
func (a *agent) serve(caller identity.Caller) {
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	a.in = inW
	var running sync.WaitGroup
	running.Go(func() {
		if err := stdio.Serve(identity.WithCaller(context.Background(), caller), a.server, inR, outW,
			stdio.Options{DrainTimeout: time.Millisecond}); err != nil {
			a.tb.Error(err)
		}
		outW.Close()
	})
	running.Go(func() {
		lines := bufio.NewScanner(io.TeeReader(outR, leaktest.Writer(a.tb, "stdout")))
		lines.Buffer(nil, 64<<20)
		for lines.Scan() {
			var got answer
			if err := json.Unmarshal(lines.Bytes(), &got); err != nil {
				a.tb.Errorf("the server wrote %q, want JSON: %v", lines.Bytes(), err)
			}
			got.Raw = bytes.Clone(lines.Bytes())
			a.mu.Lock()
			if c := a.waiting[got.ID]; c != nil {
				c <- got
			}
			a.mu.Unlock()
		}
	})
	a.tb.Cleanup(func() {
		inW.Close()
		running.Wait()
	})
	a.request(
		"initialize",
		`{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"tester","version":"7"}}`,
	)
	a.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
}

func (a *agent) send(line string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if _, err := io.WriteString(a.in, line+"\n"); err != nil {
		a.tb.Error(err)
	}
}

func (a *agent) request(method, params string) answer {
	a.tb.Helper()
	_, c := a.start(method, params)
	select {
	case got := <-c:
		return got
	case <-time.After(90 * time.Second):
		a.tb.Errorf("no answer to %s %.200s within 90s", method, params)
		return answer{}
	}
}

// start sends a request and returns the channel on which its answer will come.
func (a *agent) start(method, params string) (id int, c chan answer) {
	c = make(chan answer, 1)
	a.mu.Lock()
	a.last++
	id = a.last
	a.waiting[id] = c
	a.mu.Unlock()
	a.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`, id, method, params))
	return id, c
}

// call calls k_pty. Each %s in the arguments is replaced by a value as JSON.
func (a *agent) call(arguments string, values ...any) reply {
	a.tb.Helper()
	for i, v := range values {
		if raw, ok := v.(rawJSON); ok {
			values[i] = string(raw)
			continue
		}
		b, err := json.Marshal(v)
		if err != nil {
			a.tb.Fatal(err)
		}
		values[i] = b
	}
	arguments = fmt.Sprintf(arguments, values...)
	a.sent.Call(a.tb, arguments)
	return a.reply(a.request("tools/call", `{"name":"k_pty","arguments":`+arguments+`}`))
}

func (a *agent) reply(got answer) (r reply) {
	a.tb.Helper()
	if got.Error != nil || len(got.Result.Content) != 1 {
		a.tb.Errorf("answer = %+v %s, want one content", got, got.Error)
		return r
	}
	r.text = got.Result.Content[0].Text
	if err := json.Unmarshal([]byte(r.text), &r); err != nil {
		a.tb.Errorf("text of the answer = %s, want JSON: %v", r.text, err)
	}
	r.isError, r.withoutCopy = got.Result.IsError, !sameJSON(r.text, got.Result.StructuredContent)
	if r.OK == r.isError || r.withoutCopy || strings.Contains(r.Message, "ptyctl_") || r.isError && r.Message == "" {
		a.tb.Errorf("answer has isError %v, structured %s, text %s; want them to agree",
			r.isError, got.Result.StructuredContent, r.text)
	}
	return r
}

// ok calls k_pty. The call must succeed.
func (a *agent) ok(arguments string, values ...any) reply {
	a.tb.Helper()
	r := a.call(arguments, values...)
	if !r.OK {
		a.tb.Fatalf("call %s = %s, want success", fmt.Sprintf(arguments, values...), r.text)
	}
	return r
}

// spawn starts a shell and returns the id of its session.
func (a *agent) spawn(shell string) string {
	a.tb.Helper()
	return a.ok(`{"action":"spawn","shell":%s}`, shell).SessionID
}

// shells returns the paths of the shells on this machine that the tests use.
func shells(tb testing.TB) (found []string) {
	tb.Helper()
	for _, name := range []string{"bash", "sh", "dash", "zsh"} {
		for _, folder := range []string{"/bin", "/usr/bin"} {
			path := filepath.Join(folder, name)
			if _, err := os.Stat(path); err == nil {
				found = append(found, path)
				break
			}
		}
	}
	if len(found) < 2 {
		tb.Fatalf("found the shells %v, want at least bash and sh", found)
	}
	return found
}

func isCode(code *int, want int) bool { return code != nil && *code == want }

// sameJSON reports whether two JSON texts have equal values. The text and the structured
// copy differ in their escapes: one is escaped for HTML.
func sameJSON(text string, structured json.RawMessage) bool {
	var a, b any
	return json.Unmarshal([]byte(text), &a) == nil && json.Unmarshal(structured, &b) == nil && reflect.DeepEqual(a, b)
}

// list returns the raw answer to tools/list.
func (a *agent) list() json.RawMessage {
	a.tb.Helper()
	_, c := a.start("tools/list", "{}")
	return (<-c).Raw
}
