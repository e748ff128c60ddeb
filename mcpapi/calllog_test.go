package mcpapi_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"

	"ptyctl/mcpapi"
	"ptyctl/mcpapi/internal/mcptest"
)

// A lockedBuffer may be written and read by several goroutines.
type lockedBuffer struct {
	mu  sync.Mutex // guards buf
	buf bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

// TestCallLog follows one session through the log: each line must have request, session and task, and no line a
// secret.
func TestCallLog(t *testing.T) {
	var out lockedBuffer
	log := slog.New(slog.NewJSONHandler(&out, &slog.HandlerOptions{Level: slog.LevelDebug}))
	l := mcptest.NewLab(t, mcptest.Config{Options: mcpapi.Options{Logger: log}})
	l.Open(`,"request_id":"first","auth":{"password":"hunter2-1138"}`)
	l.OK(mcptest.IOTool, `{"action":"write","session_id":"$S","task_id":"deploy-7","data":"hunter3-1138\r","sensitive":true}`)
	l.Call(mcptest.ExecTool,
		`{"session_id":"nobody-12345678","cmd":"echo hunter4","task_id":"`+strings.Repeat("x", 300)+`"}`)

	type line struct {
		Msg, Tool, Action, Session, Task string

		RequestID string `json:"request_id"`
		ErrorCode string `json:"error_code"`
		Took      int64
	}
	var got []line
	for text := range strings.Lines(out.String()) {
		var l line
		var id struct{ Request json.Number }
		if err := errors.Join(json.Unmarshal([]byte(text), &l), json.Unmarshal([]byte(text), &id)); err != nil {
			t.Fatalf("%v in %s", err, text)
		}
		if l.Msg == "call" {
			if l.Took <= 0 || id.Request == "" {
				t.Errorf("a call took %d, request %q", l.Took, id.Request)
			}
			l.Took = 0
			got = append(got, l)
		}
	}
	want := []line{
		{Msg: "call", Tool: mcptest.SessionTool, Action: "open", Session: l.Session, RequestID: "first"},
		{Msg: "call", Tool: mcptest.IOTool, Action: "write", Session: l.Session, Task: "deploy-7"},
		{Msg: "call", Tool: mcptest.ExecTool, Session: "nobody-12345678", Task: strings.Repeat("x", mcpapi.MaxLogged), ErrorCode: "NOT_FOUND"},
	}
	if len(got) != len(want) {
		t.Fatalf("the log has %d calls, want %d:\n%s", len(got), len(want), &out)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("line %d is %+v, want %+v", i, got[i], want[i])
		}
	}
	if strings.Contains(out.String(), "hunter") {
		t.Errorf("the log shows a secret:\n%s", &out)
	}
}
