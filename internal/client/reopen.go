package client

import (
	"context"
	"time"
)

// A ReopenCall holds the arguments of the action reopen of ToolSession, without secrets: the login asks for them.
type ReopenCall struct {
	Action    string `json:"action"`
	SessionID string `json:"session_id"`
	WaitMS    int64  `json:"wait_ms,omitempty"`
}

// A WaitCall holds the arguments of the action wait of ToolSession.
type WaitCall struct {
	Action string      `json:"action"`
	On     []WaitEntry `json:"on"`
}

// A WaitEntry is a session to wait for.
type WaitEntry struct {
	SessionID  string `json:"session_id"`
	UntilState string `json:"until_state"`
}

// A ReopenResult is the result of the action reopen, as far as the commands need it.
type ReopenResult struct {
	State     string
	Opens     int64
	Cursor    string // at which the output of the new connection begins
	Warnings  []string
	Reopening Reopening
}

// A Reopening says how far the attempts to connect a session again have come.
type Reopening struct {
	Attempts  int
	LastError string `json:"last_error"`
	Until     int64  // Unix milliseconds: when the last attempt begins
}

// Reopen connects the session again, and returns after the first attempt, or with a question of the login. A process
// that cannot reach the host repeats the attempt for as long as try says.
func (s Session) Reopen(ctx context.Context, try time.Duration) (res ReopenResult, err error) {
	err = s.Process.Call(ctx, ToolSession, ReopenCall{"reopen", s.SessionID, try.Milliseconds()}, &res)
	return res, err
}

// AwaitOpen waits until a session that is being opened is open, asks a question or has ended.
func (s Session) AwaitOpen(ctx context.Context) error {
	for {
		var out struct{ Fired []struct{ State string } }
		wait := WaitCall{"wait", []WaitEntry{{s.SessionID, "open"}}}
		if err := s.Process.Call(ctx, ToolSession, wait, &out); err != nil || len(out.Fired) > 0 {
			return err
		} // else the call has lasted for as long as one may
	}
}
