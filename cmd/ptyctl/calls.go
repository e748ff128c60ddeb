package main

import (
	"encoding/base64"
	"fmt"
	"strings"
)

// The tools that the commands call, the fields of their arguments, and those of their results that they look at.
const (
	toolSession = "ptyctl_session"
	toolExec    = "ptyctl_session_exec"
	toolIO      = "ptyctl_session_io"
	toolConfig  = "ptyctl_session_config"
)

type sessionCall struct {
	Action    string `json:"action"`
	SessionID string `json:"session_id,omitempty"`
	TaskID    string `json:"task_id,omitempty"`
	State     string `json:"state,omitempty"`
	LockTTL   int64  `json:"lock_ttl_ms,omitempty"`
	TakeOver  bool   `json:"take_over,omitempty"`
}

type statusResult struct {
	State   string
	Prompt  *prompt
	Session struct {
		sessionEntry
		ExitCode   *int   `json:"exit_code"`
		ExitSignal string `json:"exit_signal"`
		PTY        bool   `json:"pty_enabled"`
		Denied     string `json:"typing_denied_by"` // the rule because of which nothing that we type would be taken
		Cols, Rows int
		ResizedAt  int64 `json:"resized_at,string"` // the cursor from which on that is its size
	}
}

// A prompt is a question of a login.
type prompt struct {
	Hop   int    `json:"hop"`
	User  string `json:"user,omitempty"`
	Host  string `json:"host,omitempty"`
	Kind  string `json:"kind"`
	Text  string `json:"text"`
	Echo  bool   `json:"echo"`
	Index int    `json:"index"`
	Of    int    `json:"of"`
}

type configCall struct {
	Action    string `json:"action"`
	SessionID string `json:"session_id"`
	TaskID    string `json:"task_id,omitempty"`
	Cols      int    `json:"cols,omitempty"`
	Rows      int    `json:"rows,omitempty"`
}

type ioCall struct {
	Action    string `json:"action"`
	SessionID string `json:"session_id"`
	TaskID    string `json:"task_id,omitempty"`
	Data      string `json:"data,omitempty"`
	Key       string `json:"key,omitempty"`
	Encoding  string `json:"encoding,omitempty"`
	Sensitive bool   `json:"sensitive,omitempty"`
	Mode      string `json:"mode,omitempty"`
	Cursor    string `json:"cursor,omitempty"`
	MaxBytes  int    `json:"max_bytes,omitempty"`
	MaxLines  int    `json:"max_lines,omitempty"`
	Timeout   *int64 `json:"timeout_ms,omitempty"`
	ExecID    string `json:"exec_id,omitempty"`
	Stream    string `json:"stream,omitempty"`
}

type ioResult struct {
	State       string
	Prompt      *prompt
	Chunk       string
	Encoding    string
	Next        string `json:"next_cursor"`
	BufferStart int64  `json:"buffer_start_cursor,string"`
	BufferEnd   int64  `json:"buffer_end_cursor,string"`
	Dropped     int64  `json:"dropped_bytes"`
	EOF         bool
}

// data is the output that a read has returned.
func (r *ioResult) data() ([]byte, error) { return decode(r.Chunk, r.Encoding) }

func decode(text, encoding string) ([]byte, error) {
	if encoding != "base64" {
		return []byte(text), nil
	}
	b, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return nil, fmt.Errorf("the output that came is no base64: %w", err)
	}
	return b, nil
}

// printable is text from elsewhere on one line of a person's terminal, which it cannot do anything to.
func printable(text string) string {
	return strings.Join(strings.FieldsFunc(plain(text), func(r rune) bool { return r == '\n' || r == '\t' }), " ")
}
