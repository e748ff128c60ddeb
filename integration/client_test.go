package integration

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"ptyctl/internal/leaktest"
)

// The four tools.
const (
	toolSession = "ptyctl_session"
	toolExec    = "ptyctl_session_exec"
	toolIO      = "ptyctl_session_io"
	toolConfig  = "ptyctl_session_config"

	// And two more.
	toolRun    = "ptyctl_run"
	toolHealth = "ptyctl_health"
)

// A client is an MCP client, another implementation of the protocol than the server's, with a ptyctl of its own.
type client struct {
	*program
	tools
	session *mcp.ClientSession
}

// Tools are the server's, as the tests call them, by whichever client.
type tools struct {
	callTool toolCall
	tb       testing.TB
	heard    *leaktest.Client // what the tools are told in confidence
}

type toolCall func(ctx context.Context, tool string, arguments json.RawMessage) (toolAnswer, error)

func newTools(tb testing.TB, call toolCall) tools { return tools{call, tb, new(leaktest.Client)} }

// A toolAnswer is what a client has understood of the answer to a call.
type toolAnswer struct {
	Content           []struct{ Type, Text string }
	StructuredContent json.RawMessage
	IsError           bool
}

// connect starts ptyctl and shakes hands with it.
func (h *home) connect(tb testing.TB, args ...string) *client {
	tb.Helper()
	return h.start(tb, args...).shakeHands(tb, nil)
}

// shakeHands makes the official SDK for Go the client of p, over stdio.
func (p *program) shakeHands(tb testing.TB, o *mcp.ClientOptions) *client {
	tb.Helper()
	return p.client(tb, &mcp.IOTransport{Reader: io.NopCloser(p.stdout), Writer: p.stdin}, o)
}

// client makes a client of the official SDK for Go.
func (p *program) client(tb testing.TB, over mcp.Transport, o *mcp.ClientOptions) *client {
	tb.Helper()
	session, err := mcp.NewClient(&mcp.Implementation{Name: "integration", Version: "1"}, o).
		Connect(tb.Context(), over, nil)
	if err != nil {
		tb.Fatalf("the handshake failed: %v; its log:\n%s", err, p.log)
	}
	tb.Cleanup(func() { session.Close() })
	return &client{program: p, tools: goTools(tb, session), session: session}
}

// goTools are the tools as the official SDK for Go calls them.
func goTools(tb testing.TB, session *mcp.ClientSession) tools {
	return newTools(tb, func(ctx context.Context, tool string, arguments json.RawMessage) (a toolAnswer, err error) {
		got, err := session.CallTool(ctx, &mcp.CallToolParams{Name: tool, Arguments: arguments})
		if err != nil {
			return a, err
		}
		text, err := json.Marshal(got)
		if err != nil {
			return a, err
		}
		return a, json.Unmarshal(text, &a)
	})
}

// A result is what the tests look at of a tool's answer: success or failure.
type result struct {
	text string // the whole of it

	ErrorCode string `json:"error_code"`
	Message   string
	Retryable bool
	Details   struct {
		Field       string
		Limit       string
		Rule        string
		Fingerprint string
		Ladder      []struct {
			Steps []struct {
				Name string
				OK   bool
			}
		}
		Recorded []struct {
			File string
			Line int
		}
		DeviceOwner struct {
			PID       int
			Socket    string
			SessionID string `json:"session_id"`
			Since     int64
		} `json:"device_owner"`
	}

	Success   bool
	SessionID string `json:"session_id"`
	Existing  string `json:"existing_session_id"`
	Locked    *bool  `json:"lock_acquired"`
	Holder    string `json:"lock_holder"`
	State     string
	Cursor    string
	Prompt    *struct {
		Kind  string
		Text  string
		Echo  bool
		Index int
		Of    int
	}
	WaitingForInput bool `json:"waiting_for_input"`
	Warnings        []string
	Sessions        []struct {
		SessionID string `json:"session_id"`
		State     string
		localState
	}

	localState
	RC     *int
	Signal string
	Usage  *struct {
		CPUMS    int64 `json:"cpu_ms"`
		MaxRSSKB int64 `json:"max_rss_kb"`
	}
	Cwd           string
	StartedAt     int64 `json:"started_at"`
	DurationMS    int64 `json:"duration_ms"`
	Killed        string
	LimitExceeded string   `json:"limit_exceeded"`
	Suspected     []string `json:"limit_suspected"`
	StdoutOmitted *struct {
		At     int
		Bytes  int64
		Cursor string
	} `json:"stdout_omitted"`
	StdoutEncoding string `json:"stdout_encoding"`
	BytesWritten   int    `json:"bytes_written"`
	WriteTimedOut  bool   `json:"write_timed_out"`
	Version        string
	GoVersion      string `json:"go_version"`
	UptimeS        *int   `json:"uptime_s"`
	Counts         struct{ Open, Ended, Local int }

	Stdout string
	Stderr string

	SecurityWarning string `json:"security_warning"`
	Telnet          telnetState
	Session         struct {
		localState
		Cwd             string
		EndReason       string   `json:"end_reason"`
		LimitExceeded   string   `json:"limit_exceeded"`
		Suspected       []string `json:"limit_suspected"`
		Cols, Rows      int
		WaitingReaders  int    `json:"waiting_readers"`
		SecurityWarning string `json:"security_warning"`
		Telnet          telnetState
		Capabilities    struct {
			Resize   string `json:"supports_resize"`
			ExitCode string `json:"supports_exit_code"`
		}
		Ladder []struct {
			Port  int
			Steps []struct{ Name string }
		}
	}

	ExitCodeReason string   `json:"exit_code_reason"`
	ExecLane       string   `json:"exec_lane"`
	ErrorHints     []string `json:"error_hints"`
	Pages          int
	WaitingFor     struct{ Kind string } `json:"waiting_for"`

	DoneReason  string `json:"done_reason"`
	ExecID      string `json:"exec_id"`
	StdoutBytes int64  `json:"stdout_bytes"`
	LostBytes   int64  `json:"lost_bytes"`

	Chunk         string
	NextCursor    string `json:"next_cursor"`
	Matched       bool
	TimedOut      bool `json:"timed_out"`
	EOF           bool
	Truncated     bool
	DroppedBytes  int64 `json:"dropped_bytes"`
	BufferedBytes int64 `json:"buffered_bytes"`
}

// A localState is what a result says of a local session's program.
type localState struct {
	PID      int
	Title    string
	Argv     []string
	ExitCode *int `json:"exit_code"`
}

// A telnetState is what a result says of a Telnet connection.
type telnetState struct {
	Raw           bool
	Local, Remote []string
	RemoteEcho    bool `json:"remote_echo"`
	Cols          int
}

// try calls a tool. Each %s in arguments, which are JSON, stands for one of values, as JSON. Any goroutine may use it.
func (c tools) try(ctx context.Context, tool, arguments string, values ...any) (result, error) {
	encoded := make([]any, len(values))
	for i, v := range values {
		text, err := json.Marshal(v)
		if err != nil {
			return result{}, err
		}
		encoded[i] = string(text)
	}
	arguments = fmt.Sprintf(arguments, encoded...)
	session := c.heard.Call(c.tb, arguments)
	answer, err := c.callTool(ctx, tool, json.RawMessage(arguments))
	if err != nil {
		return result{}, fmt.Errorf("%s %s: %w", tool, arguments, err)
	}
	if len(answer.Content) != 1 || answer.Content[0].Type != "text" {
		return result{}, fmt.Errorf("%s %s: the content is %+v, want one block of text", tool, arguments, answer.Content)
	}
	r := result{text: answer.Content[0].Text}
	if err := json.Unmarshal([]byte(r.text), &r); err != nil {
		return r, fmt.Errorf("%s %s: the result %q: %w", tool, arguments, r.text, err)
	}
	c.heard.Result(session, r.text)
	if answer.IsError != (r.ErrorCode != "") {
		return r, fmt.Errorf("%s %s: isError is %v and the result %s", tool, arguments, answer.IsError, r.text)
	}
	return r, nil
}

// call calls a tool and ends the test if that fails.
func (c tools) call(tb testing.TB, tool, arguments string, values ...any) result {
	tb.Helper()
	r, err := c.try(tb.Context(), tool, arguments, values...)
	if err == nil && r.ErrorCode != "" {
		err = errors.New(r.text)
	}
	if err != nil {
		tb.Fatalf("%s %s: %v", tool, arguments, err)
	}
	return r
}

// refused calls a tool that must answer with an error of the given code.
func (c tools) refused(tb testing.TB, code, tool, arguments string, values ...any) result {
	tb.Helper()
	r, err := c.try(tb.Context(), tool, arguments, values...)
	if err != nil {
		tb.Fatal(err)
	}
	if r.ErrorCode != code {
		tb.Fatalf("%s %s: got %s, want an error %s", tool, arguments, r.text, code)
	}
	return r
}

const openSSH = `{"action":"open","protocol":"ssh","host":"127.0.0.1","port":%s,"username":%s}`

// open opens a session on s and returns its id.
func (c tools) open(tb testing.TB, s *sshd) string {
	tb.Helper()
	r := c.call(tb, toolSession, openSSH, s.port, s.user)
	if r.State != "open" || r.SessionID == "" || r.Cursor != "0" {
		tb.Fatalf("open: %s", r.text)
	}
	return r.SessionID
}

// enter writes text into a terminal and waits for pattern in what comes after.
func (c tools) enter(tb testing.TB, id, text, pattern string) result {
	tb.Helper()
	r := c.call(
		tb,
		toolIO,
		`{"action":"write","session_id":%s,"data":%s,"until_regex":%s,"timeout_ms":20000}`,
		id,
		text,
		pattern,
	)
	if !r.Matched {
		tb.Fatalf("%q was written, and %q did not come: %s", text, pattern, tail(r.text, 4<<10))
	}
	return r
}

// close ends a session.
func (c tools) close(tb testing.TB, id string) {
	tb.Helper()
	if r := c.call(tb, toolSession, `{"action":"close","session_id":%s}`, id); r.State != "closed" {
		tb.Fatalf("close: %s", r.text)
	}
}
