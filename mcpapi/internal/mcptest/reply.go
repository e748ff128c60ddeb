package mcptest

import (
	"encoding/json"

	"ptyctl/mcpapi/wire"
	"ptyctl/session"
	"ptyctl/term"
)

// A Reply is the result of a tool call, with the members that tests look at.
type Reply struct {
	IsError    bool                       `json:"-"`
	Text       string                     `json:"-"`
	Structured json.RawMessage            `json:"-"`
	Members    map[string]json.RawMessage `json:"-"`

	ErrorCode term.Kind `json:"error_code"`
	Message   string
	Retryable bool
	Details   struct {
		SessionID string `json:"session_id"`
		wire.Details
	}
	Warnings []string

	Action, State, Protocol, Cursor string
	Success                         bool
	SessionID                       string `json:"session_id"`
	PTYEnabled                      *bool  `json:"pty_enabled"`
	ServerBanner                    string `json:"server_banner"`
	WaitingForInput                 bool   `json:"waiting_for_input"`
	Prompt                          *wire.Prompt
	Capabilities                    *wire.Capabilities
	Sessions                        []wire.SessionStatus
	Session                         *wire.SessionStatus
	AlreadyClosed                   bool     `json:"already_closed"`
	Existing                        string   `json:"existing_session_id"`
	LockAcquired                    *bool    `json:"lock_acquired"`
	LockHolder                      string   `json:"lock_holder"`
	LockExpiresAt                   int64    `json:"lock_expires_at"`
	NewBytes                        *int64   `json:"new_bytes"`
	Running                         []string `json:"running_exec_ids"`
	Unfetched                       []string `json:"unfetched_exec_ids"`

	Stdout, Stderr   string
	ExitCode         *int    `json:"exit_code"`
	ExitCodeReason   *string `json:"exit_code_reason"`
	DoneReason       string  `json:"done_reason"`
	TimedOut         bool    `json:"timed_out"`
	ExecLane         string  `json:"exec_lane"`
	ExecID           string  `json:"exec_id"`
	Truncated        bool
	StdoutBytes      int64     `json:"stdout_bytes"`
	StdoutCursor     string    `json:"stdout_cursor"`
	RemainingMS      *int64    `json:"remaining_ms"`
	StdoutEncoding   string    `json:"stdout_encoding"`
	StdoutOmitted    *omission `json:"stdout_omitted"`
	ErrorHints       []string  `json:"error_hints"`
	Cols, Rows       int       //
	Expect           Patterns  //
	BytesWritten     *int      `json:"bytes_written"`
	Chunk, Encoding  string
	NextCursor       string `json:"next_cursor"`
	BufferEnd        string `json:"buffer_end_cursor"`
	Matched          bool
	IdleReached      bool `json:"idle_reached"`
	EOF              bool
	DroppedBytes     int64 `json:"dropped_bytes"`
	BufferLimitBytes int   `json:"buffer_limit_bytes"`
}

// An omission is the part that was left out of a stream.
type omission struct {
	At     int    `json:"at"`
	Bytes  int64  `json:"bytes"`
	Cursor string `json:"cursor"`
}

// Patterns are the patterns in force, as a result shows them.
type Patterns struct {
	Profile   string
	Class     session.Class
	Prompt    string     `json:"prompt_regex"`
	Pagers    []string   `json:"pager_regexes"`
	Errors    []string   `json:"error_regexes"`
	AutoPage  *AutoPager `json:"auto_page"`
	PagingOff []string   `json:"paging_off"`
	Note      string
}

// An AutoPager is how pages are turned.
type AutoPager struct {
	Key string
	Max int `json:"max_pages"`
}

// Read parses a tools/call result, and checks the properties that all results have.
func (a *Agent) Read(result json.RawMessage) Reply {
	a.T.Helper()
	var raw struct {
		Content []struct {
			Type, Text string
		}
		StructuredContent json.RawMessage
		IsError           bool
	}
	if err := json.Unmarshal(result, &raw); err != nil {
		a.T.Fatal(err)
	}
	if len(raw.Content) != 1 || raw.Content[0].Type != "text" {
		a.T.Fatalf("want one text block, got %.300s", result)
	}
	r := Reply{IsError: raw.IsError, Text: raw.Content[0].Text, Structured: raw.StructuredContent}
	if err := json.Unmarshal([]byte(r.Text), &r); err != nil {
		a.T.Fatalf("the text is not the object expected: %v: %.600s", err, r.Text)
	}
	if err := json.Unmarshal([]byte(r.Text), &r.Members); err != nil {
		a.T.Fatal(err)
	}
	if (r.ErrorCode != "") != r.IsError {
		a.T.Fatalf("isError is %v and error_code %q", r.IsError, r.ErrorCode)
	}
	return r
}
