package lab

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"ptyctl/internal/leaktest"
)

// The four tools.
const (
	ToolSession = "ptyctl_session"
	ToolExec    = "ptyctl_session_exec"
	ToolIO      = "ptyctl_session_io"
	ToolConfig  = "ptyctl_session_config"

	// And two more.
	ToolRun    = "ptyctl_run"
	ToolHealth = "ptyctl_health"
)

// A Client is an MCP client, another implementation of the protocol than the server's, with a ptyctl of its own.
type Client struct {
	*Program
	Tools
	Session *mcp.ClientSession
}

// Tools are the server's, as the tests call them, by whichever client.
type Tools struct {
	CallTool ToolCall
	tb       testing.TB
	Heard    *leaktest.Client // secrets given to the tools
}

// A ToolCall calls a tool of the server.
type ToolCall func(ctx context.Context, tool string, arguments json.RawMessage) (ToolAnswer, error)

// NewTools returns the tools of a server that call calls.
func NewTools(tb testing.TB, call ToolCall) Tools { return Tools{call, tb, new(leaktest.Client)} }

// A ToolAnswer is the answer to a call as a client has understood it.
type ToolAnswer struct {
	Content           []struct{ Type, Text string }
	StructuredContent json.RawMessage
	IsError           bool
}

// Connect starts ptyctl and shakes hands with it.
func (h *Home) Connect(tb testing.TB, args ...string) *Client {
	tb.Helper()
	return h.Start(tb, args...).ShakeHands(tb, nil)
}

// ShakeHands makes the official SDK for Go the client of p, over stdio.
func (p *Program) ShakeHands(tb testing.TB, o *mcp.ClientOptions) *Client {
	tb.Helper()
	return p.ConnectOver(tb, &mcp.IOTransport{Reader: io.NopCloser(p.stdout), Writer: p.Stdin}, o)
}

// ConnectOver makes a client of the official SDK for Go.
func (p *Program) ConnectOver(tb testing.TB, over mcp.Transport, o *mcp.ClientOptions) *Client {
	tb.Helper()
	session, err := mcp.NewClient(&mcp.Implementation{Name: "integration", Version: "1"}, o).
		Connect(tb.Context(), over, nil)
	if err != nil {
		tb.Fatalf("the handshake failed: %v; its log:\n%s", err, p.Log)
	}
	tb.Cleanup(func() { session.Close() })
	return &Client{Program: p, Tools: goTools(tb, session), Session: session}
}

// goTools are the tools as the official SDK for Go calls them.
func goTools(tb testing.TB, session *mcp.ClientSession) Tools {
	return NewTools(tb, func(ctx context.Context, tool string, arguments json.RawMessage) (a ToolAnswer, err error) {
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

// A Result holds the fields of a tool's answer, success or failure, that the tests check.
type Result struct {
	Text string `json:"-"` // the whole of it

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
				Name   string
				OK     bool
				Detail string
			}
		}
		Recorded []struct {
			File string
			Line int
		}
		DeviceOwner struct {
			Node      string
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
	EndCode   string `json:"end_code"`
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
		LocalState
	}

	LocalState
	RC         *int
	Signal     string
	ExitSignal string `json:"exit_signal"`
	Usage      *struct {
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
	StderrEncoding string `json:"stderr_encoding"`
	BytesWritten   int    `json:"bytes_written"`
	WriteTimedOut  bool   `json:"write_timed_out"`
	Version        string
	GoVersion      string `json:"go_version"`
	UptimeS        *int   `json:"uptime_s"`
	Counts         struct{ Open, Ended, Local int }

	Stdout string
	Stderr string

	SecurityWarning string `json:"security_warning"`
	Telnet          TelnetState
	Trials          []struct {
		Begin, Apply, Confirm []string
		Pending               string
	}
	Opens     int
	Reopening ReopeningState
	Fired     []Result
	Gaps      []string
	Session   struct {
		LocalState
		Opens           int
		Gaps            []string
		Reopening       ReopeningState
		Cwd             string
		EndReason       string   `json:"end_reason"`
		EndCode         string   `json:"end_code"`
		LimitExceeded   string   `json:"limit_exceeded"`
		Suspected       []string `json:"limit_suspected"`
		Cols, Rows      int
		WaitingReaders  int    `json:"waiting_readers"`
		SecurityWarning string `json:"security_warning"`
		Telnet          TelnetState
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
	WaitingFor     struct{ Kind, Text string } `json:"waiting_for"`

	DoneReason  string `json:"done_reason"`
	ExecID      string `json:"exec_id"`
	StdoutBytes int64  `json:"stdout_bytes"`
	RemainingMS *int64 `json:"remaining_ms"`
	LostBytes   int64  `json:"lost_bytes"`

	Chunk         string
	Encoding      string
	MatchedLines  *int   `json:"matched_lines"`
	TotalLines    *int   `json:"total_lines"`
	Unsearched    int64  `json:"unsearched_bytes"`
	NextCursor    string `json:"next_cursor"`
	Matched       bool
	TimedOut      bool `json:"timed_out"`
	EOF           bool
	Truncated     bool
	DroppedBytes  int64 `json:"dropped_bytes"`
	BufferedBytes int64 `json:"buffered_bytes"`
}

// A ReopeningState is the part of a result about a session that is being reopened.
type ReopeningState struct {
	Attempts  int
	LastError string `json:"last_error"`
}

// A LocalState is the part of a result about a local session's program.
type LocalState struct {
	PID      int
	Title    string
	Argv     []string
	ExitCode *int `json:"exit_code"`
}

// A TelnetState is the part of a result about a Telnet connection.
type TelnetState struct {
	Raw           bool
	Local, Remote []string
	RemoteEcho    bool `json:"remote_echo"`
	Cols          int
}

// Try calls a tool. The arguments are JSON; each %s in them is replaced by one of values, as JSON. Any goroutine may
// use it.
func (c Tools) Try(ctx context.Context, tool, arguments string, values ...any) (Result, error) {
	encoded := make([]any, len(values))
	for i, v := range values {
		text, err := json.Marshal(v)
		if err != nil {
			return Result{}, err
		}
		encoded[i] = string(text)
	}
	arguments = fmt.Sprintf(arguments, encoded...)
	session := c.Heard.Call(c.tb, arguments)
	answer, err := c.CallTool(ctx, tool, json.RawMessage(arguments))
	if err != nil {
		return Result{}, fmt.Errorf("%s %s: %w", tool, arguments, err)
	}
	if len(answer.Content) != 1 || answer.Content[0].Type != "text" {
		return Result{}, fmt.Errorf("%s %s: the content is %+v, want one block of text", tool, arguments, answer.Content)
	}
	r := Result{Text: answer.Content[0].Text}
	if err := json.Unmarshal([]byte(r.Text), &r); err != nil {
		return r, fmt.Errorf("%s %s: the result %q: %w", tool, arguments, r.Text, err)
	}
	c.Heard.Result(session, r.Text)
	if answer.IsError != (r.ErrorCode != "") {
		return r, fmt.Errorf("%s %s: isError is %v and the result %s", tool, arguments, answer.IsError, r.Text)
	}
	return r, nil
}

// Call calls a tool and ends the test if that fails.
func (c Tools) Call(tb testing.TB, tool, arguments string, values ...any) Result {
	tb.Helper()
	r, err := c.Try(tb.Context(), tool, arguments, values...)
	if err == nil && r.ErrorCode != "" {
		err = errors.New(r.Text)
	}
	if err != nil {
		tb.Fatalf("%s %s: %v", tool, arguments, err)
	}
	return r
}

// Refused calls a tool that must answer with an error of the given code.
func (c Tools) Refused(tb testing.TB, code, tool, arguments string, values ...any) Result {
	tb.Helper()
	r, err := c.Try(tb.Context(), tool, arguments, values...)
	if err != nil {
		tb.Fatal(err)
	}
	if r.ErrorCode != code {
		tb.Fatalf("%s %s: got %s, want an error %s", tool, arguments, r.Text, code)
	}
	return r
}

// OpenSSH are the arguments that open a session on a port of this machine, as a user: see tools.try.
const OpenSSH = `{"action":"open","protocol":"ssh","host":"127.0.0.1","port":%s,"username":%s}`

// Open opens a session on s and returns its id.
func (c Tools) Open(tb testing.TB, s *SSHD) string {
	tb.Helper()
	r := c.Call(tb, ToolSession, OpenSSH, s.Port, s.User)
	if r.State == "connecting" { // the configuration lets calls wait for less than a login takes on a busy machine
		Eventually(tb, "session "+r.SessionID+" is open", func() bool {
			return c.Call(tb, ToolSession, `{"action":"status","session_id":%s}`, r.SessionID).State != "connecting"
		})
		r.State = c.Call(tb, ToolSession, `{"action":"status","session_id":%s}`, r.SessionID).State
	}
	if r.State != "open" || r.SessionID == "" || r.Cursor != "0" {
		tb.Fatalf("open: %s", r.Text)
	}
	return r.SessionID
}

// Enter writes text into a terminal and waits for pattern in the output after it.
func (c Tools) Enter(tb testing.TB, id, text, pattern string) Result {
	tb.Helper()
	r := c.Call(
		tb,
		ToolIO,
		`{"action":"write","session_id":%s,"data":%s,"until_regex":%s,"timeout_ms":50000}`,
		id,
		text,
		pattern,
	)
	if !r.Matched {
		tb.Fatalf("after writing %q: want a match of %q, got %s", text, pattern, Tail(r.Text, 4<<10))
	}
	return r
}

// Close ends a session.
func (c Tools) Close(tb testing.TB, id string) {
	tb.Helper()
	if r := c.Call(tb, ToolSession, `{"action":"close","session_id":%s}`, id); r.State != "closed" {
		tb.Fatalf("close: %s", r.Text)
	}
}

// DeniedBy calls a tool that a rule must deny, and checks that the denial names it.
func (c Tools) DeniedBy(tb testing.TB, rule, tool, arguments string, values ...any) {
	tb.Helper()
	r := c.Refused(tb, "POLICY_DENIED", tool, arguments, values...)
	if !strings.Contains(r.Text, `"rule":"`+rule) || !strings.Contains(r.Message, rule) || r.Retryable {
		tb.Errorf("%s: %s does not name %s", arguments, r.Text, rule)
	}
}
