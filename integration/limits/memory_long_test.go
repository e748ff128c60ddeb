//go:build long

package limits

import (
	"testing"
	"time"

	"ptyctl/internal/lab"
	"ptyctl/internal/sshserver"
)

// TestVerboseSessionsInASmallGroup opens as many sessions as ptyctl allows by default in a control group of 64 MiB,
// each with more output than it keeps, while callers read as much as one result may hold. Nothing is killed for want of
// memory: calls are answered, or refused and can be tried again.
func TestVerboseSessionsInASmallGroup(t *testing.T) {
	const limit = 64 << 20
	s := lab.ServeSSH(t, sshserver.Config{NoAuth: true})
	h := lab.NewHome(t, "[session]\nclosed_retention_ms = 1000")
	h.Trust(t, s.KnownHostsLine())
	h.Program = lab.PlainBinary
	g := newMemoryGroup(t, limit)
	h.Wrap = g.wrap()
	c := h.Connect(t)
	refused, began := 0, time.Now()
	room := func(r lab.Result, err error) bool {
		t.Helper()
		if err != nil {
			t.Error(err)
			return false
		}
		if r.ErrorCode == "" {
			return true
		}
		refused++
		if l := r.Details.Limit; r.ErrorCode != "LIMIT_EXCEEDED" || !r.Retryable || l != "memory.max" &&
			l != "limits.max_total_buffer_bytes" && l != "session.max_sessions" {
			t.Errorf("in a full group: %s, want LIMIT_EXCEEDED of the memory, retryable", lab.Tail(r.Text, 500))
		}
		return false
	}
	var open []string
	for range 100 {
		r, err := c.Try(t.Context(), lab.ToolSession, openSSH, s.Port())
		if !room(r, err) {
			continue
		}
		open = append(open, r.SessionID)
		c.Call(t, lab.ToolIO,
			`{"action":"write","session_id":%s,"data":"head -c 1000000 /dev/urandom | base64; echo the''end\r"}`,
			r.SessionID)
		if r := c.Call(t, lab.ToolIO,
			`{"action":"read","session_id":%s,"mode":"tail","max_lines":2,"until_regex":"theend","timeout_ms":20000}`,
			r.SessionID); !r.Matched {
			t.Fatalf("the output has no end: %s", lab.Tail(r.Text, 500))
		}
	}
	t.Logf("after %v %d sessions are open, %d were refused; ptyctl has %d KiB", time.Since(began), len(open), refused,
		lab.StatusField(t, c.PID, "VmRSS"))
	if len(open) < 16 {
		t.Errorf("%d sessions have room, want at least 16", len(open))
	}
	lab.ForEach(t, 600, 12, func(i int) error {
		r, err := c.Try(t.Context(), lab.ToolIO,
			`{"action":"read","session_id":%s,"mode":"tail","max_bytes":131072,"max_lines":20000,"timeout_ms":0}`, open[i%len(open)])
		if err == nil && r.ErrorCode != "" {
			t.Errorf("read: %s", r.Text)
		}
		return err
	})
	lab.ForEach(t, 64, 12, func(i int) error {
		r, err := c.Try(t.Context(), lab.ToolExec,
			`{"session_id":%s,"cmd":"head -c 1000000 /dev/urandom | base64","lane":"channel","max_output_bytes":131072}`,
			open[i%len(open)])
		room(r, err)
		return err
	})
	t.Logf("after %v %d calls were refused; ptyctl has %d KiB at most", time.Since(began), refused,
		lab.StatusField(t, c.PID, "VmHWM"))
	for _, id := range open {
		c.Close(t, id)
	}
	if n := g.killed(t); n != 0 {
		t.Errorf("the system has ended %d processes for want of memory", n)
	}
	lab.Eventually(t, "room again", func() bool { // once ended sessions are forgotten
		r, err := c.Try(t.Context(), lab.ToolSession, openSSH, s.Port())
		return room(r, err)
	})
}
