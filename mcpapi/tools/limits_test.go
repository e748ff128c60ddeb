package tools_test

import (
	"strings"
	"testing"
	"time"

	"ptyctl/mcpapi/internal/mcptest"
	"ptyctl/session"
	"ptyctl/term"
)

func TestWaitingReads(t *testing.T) {
	dialers, _ := wired(0)
	l := mcptest.NewLab(t, mcptest.Config{Sessions: session.Config{Dialers: dialers, MaxReads: 1}})
	l.Open("")
	_, waits := l.Start(
		"tools/call",
		l.Params(mcptest.IOTool, `{"action":"read","session_id":"$S","until_regex":"the end","timeout_ms":20000}`),
	)
	for l.OK(mcptest.SessionTool, `{"action":"status","session_id":"$S"}`).Session.Readers == 0 { // it has the place then
	}
	const read = `{"action":"read","session_id":"$S","until_regex":"never","timeout_ms":20000}`
	r := l.Fails(mcptest.IOTool, read, term.LimitExceeded, "limits.max_waiting_reads", "timeout_ms 0")
	if r.Details.Limit != "limits.max_waiting_reads" || r.Details.Value != 1 {
		t.Errorf("details: %s", r.Text)
	}
	l.OK(mcptest.IOTool, `{"action":"read","session_id":"$S","cursor":"0","timeout_ms":0}`)
	w := l.OK(mcptest.IOTool, `{"action":"write","session_id":"$S","data":"x","until_regex":"never","timeout_ms":20000}`)
	if w.BytesWritten == nil || *w.BytesWritten != 1 || len(w.Warnings) != 1 ||
		!strings.Contains(w.Warnings[0], "limits.max_waiting_reads") {
		t.Errorf("write: %s", w.Text)
	}
	l.OK(mcptest.SessionTool, `{"action":"close","session_id":"$S"}`)
	if r := l.Read((<-waits).Result); !r.EOF {
		t.Errorf("the read that waits: %s", r.Text)
	}
}

func TestTotalBuffer(t *testing.T) {
	l := mcptest.NewLab(t, mcptest.Config{Sessions: session.Config{MaxBufferBytes: 16 << 10}})
	l.Open("")
	l.OK(
		mcptest.IOTool,
		`{"action":"write","session_id":"$S","data":"head -c 100000 /dev/zero | tr '\\0' x; echo; echo th''e end\r","until_regex":"the end","max_bytes":1000000,"timeout_ms":20000}`,
	)
	r := l.OK(mcptest.SessionTool, `{"action":"status","session_id":"$S"}`)
	if s := r.Session; s.BufferedBytes > 16<<10 || s.BytesIn < 100_000 || len(s.Warnings) != 1 ||
		!strings.Contains(s.Warnings[0], "limits.max_total_buffer_bytes") {
		t.Errorf("status: %s", r.Text)
	}
	for name, c := range map[string]struct{ tool, args string }{
		"open": {mcptest.SessionTool, l.OpenArgs("")},
		"exec": {mcptest.ExecTool, `{"session_id":"$S","cmd":"true","lane":"channel"}`},
	} {
		r := l.Fails(c.tool, c.args, term.LimitExceeded, "limits.max_total_buffer_bytes")
		if d := r.Details; d.Limit != "limits.max_total_buffer_bytes" || d.Value != 16<<10 {
			t.Errorf("%s: details %s", name, r.Text)
		}
	}
}

// A session that is left alone is closed and marked so; one that is used stays.
func TestIdleSessionsAreClosed(t *testing.T) {
	l := mcptest.NewLab(t, mcptest.Config{})
	l.Open(`,"timeouts":{"idle_timeout_ms":300}`)
	idle := l.Session
	l.Open("")
	r := l.OK(
		mcptest.IOTool,
		strings.ReplaceAll(
			`{"action":"read","session_id":"ID","cursor":"0","until_regex":"never","timeout_ms":20000}`,
			"ID",
			idle,
		),
	)
	if !r.EOF {
		t.Errorf("read: %s", r.Text)
	}
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); {
		if r = l.OK(mcptest.SessionTool, `{"action":"list"}`); len(r.Sessions) == 2 &&
			r.Sessions[0].State.Ended() != r.Sessions[1].State.Ended() {
			break
		}
	}
	for _, s := range r.Sessions {
		switch {
		case s.SessionID == idle && (s.State != session.Closed || !strings.Contains(s.EndReason, "idle timeout")),
			s.SessionID != idle && s.State != session.Open:
			t.Errorf("list: %+v", s.ListEntry)
		}
	}
}
