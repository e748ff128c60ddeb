package client

import (
	"encoding/base64"
	"fmt"
)

// The tools that the commands call.
const (
	ToolSession = "ptyctl_session"
	ToolExec    = "ptyctl_session_exec"
	ToolIO      = "ptyctl_session_io"
	ToolConfig  = "ptyctl_session_config"
)

// A SessionCall holds the arguments of ToolSession, except those that open a session.
type SessionCall struct {
	Action    string `json:"action"`
	SessionID string `json:"session_id,omitempty"`
	TaskID    string `json:"task_id,omitempty"`
	State     string `json:"state,omitempty"`
	LockTTL   int64  `json:"lock_ttl_ms,omitempty"`
	TakeOver  bool   `json:"take_over,omitempty"`
}

// A giveCall holds the arguments of the action give of ToolSession, which only people are shown.
type giveCall struct {
	Action    string `json:"action"`
	SessionID string `json:"session_id"`
	To        string `json:"to"`
}

// A StatusResult is the result of the action status, as far as the commands need it.
type StatusResult struct {
	State    string
	Question *Question `json:"prompt"`
	Session  struct {
		Session
		ExitCode   *int   `json:"exit_code"`
		ExitSignal string `json:"exit_signal"`
		PTY        bool   `json:"pty_enabled"`
		Denied     string `json:"typing_denied_by"` // the rule that denies typing; empty: none
		Cols, Rows int
		ResizedAt  int64 `json:"resized_at,string"` // the cursor from which on the terminal has this size
		Opens      int64 // connections so far; 0: one
		Warnings   []string
	}
}

// A Question is a question of a login.
type Question struct {
	Hop   int    `json:"hop"`
	User  string `json:"user,omitempty"`
	Host  string `json:"host,omitempty"`
	Kind  string `json:"kind"`
	Text  string `json:"text"`
	Echo  bool   `json:"echo"`
	Index int    `json:"index"`
	Of    int    `json:"of"`
}

// A ConfigCall holds the arguments of ToolConfig.
type ConfigCall struct {
	Action    string `json:"action"`
	SessionID string `json:"session_id"`
	TaskID    string `json:"task_id,omitempty"`
	Cols      int    `json:"cols,omitempty"`
	Rows      int    `json:"rows,omitempty"`
}

// An IOCall holds the arguments of ToolIO.
type IOCall struct {
	Action    string `json:"action"`
	SessionID string `json:"session_id"`
	TaskID    string `json:"task_id,omitempty"`
	Data      string `json:"data,omitempty"`
	Key       string `json:"key,omitempty"`
	Encoding  string `json:"encoding,omitempty"`
	Sensitive bool   `json:"sensitive,omitempty"`
	Paste     bool   `json:"paste,omitempty"`
	Mode      string `json:"mode,omitempty"`
	Cursor    string `json:"cursor,omitempty"`
	MaxBytes  int    `json:"max_bytes,omitempty"`
	MaxLines  int    `json:"max_lines,omitempty"`
	Timeout   *int64 `json:"timeout_ms,omitempty"`
	ExecID    string `json:"exec_id,omitempty"`
	Stream    string `json:"stream,omitempty"`
	Format    string `json:"format,omitempty"`
	Theme     string `json:"theme,omitempty"`

	Pattern    string `json:"pattern,omitempty"`
	IgnoreCase bool   `json:"ignore_case,omitempty"`
}

// An IOResult is the result of ToolIO, as far as the commands need it.
type IOResult struct {
	State       string
	Question    *Question `json:"prompt"`
	Chunk       string
	Encoding    string
	Next        string `json:"next_cursor"`
	BufferStart int64  `json:"buffer_start_cursor,string"`
	BufferEnd   int64  `json:"buffer_end_cursor,string"`
	Dropped     int64  `json:"dropped_bytes"`
	EOF         bool
}

// Data returns the output that a read has returned.
func (r *IOResult) Data() ([]byte, error) { return Decode(r.Chunk, r.Encoding) }

// Decode returns output that has come in an encoding, "base64" or none.
func Decode(text, encoding string) ([]byte, error) {
	if encoding != "base64" {
		return []byte(text), nil
	}
	b, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return nil, fmt.Errorf("the output that came is no base64: %w", err)
	}
	return b, nil
}
