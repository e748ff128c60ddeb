package tools_test

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"ptyctl/internal/leaktest"
	"ptyctl/mcpapi/internal/mcptest"
	"ptyctl/mcpapi/tools"
	"ptyctl/mcpapi/wire"
	"ptyctl/session"
	"ptyctl/term"
)

func TestMain(m *testing.M) { os.Exit(leaktest.Main(m)) }

func TestListFilters(t *testing.T) {
	dialers, _ := wired(0)
	dialers["telnet"] = dialers["ssh"]
	l := mcptest.NewLab(t, mcptest.Config{Sessions: session.Config{Dialers: dialers}})
	ids := make(map[string]string) // by host
	for _, s := range []struct{ protocol, host string }{
		{"ssh", "web1.example.net"},
		{"telnet", "sw1.example.net"},
		{"ssh", "db1.example.org"},
	} {
		ids[s.host] = l.OK(
			mcptest.SessionTool,
			fmt.Sprintf(`{"action":"open","protocol":%q,"host":%q}`, s.protocol, s.host),
		).SessionID
	}
	l.OK(mcptest.SessionTool, fmt.Sprintf(`{"action":"close","session_id":%q}`, ids["web1.example.net"]))
	for filter, want := range map[string]string{
		``:                                       "sw1.example.net db1.example.org web1.example.net", // ended ones last
		`,"state":"open"`:                        "sw1.example.net db1.example.org",
		`,"state":"closed"`:                      "web1.example.net",
		`,"state":"error"`:                       "",
		`,"protocol":"ssh"`:                      "db1.example.org web1.example.net",
		`,"host":"*.example.net"`:                "sw1.example.net web1.example.net",
		`,"host":"DB1.example.org"`:              "db1.example.org",
		`,"host":"*.example.net","state":"open"`: "sw1.example.net",
		`,"host":"db1"`:                          "",
	} {
		r := l.OK(mcptest.SessionTool, `{"action":"list"`+filter+`}`)
		var hosts []string
		for _, s := range r.Sessions {
			hosts = append(hosts, s.Host)
		}
		if got := strings.Join(hosts, " "); got != want || string(r.Members["count"]) != fmt.Sprint(len(hosts)) ||
			r.Members["more"] != nil {
			t.Errorf("list%s: %q, want %q: %s", filter, got, want, r.Text)
		}
	}
	l.Fails(mcptest.SessionTool, `{"action":"list","state":"opened"}`, term.InvalidArgument, "connecting", "error")
	l.OK(mcptest.SessionTool, `{"action":"list","host":"","port":0,"argv":[]}`) // from clients that give every argument
	l.Fails(mcptest.SessionTool, `{"action":"list","port":22}`, term.InvalidArgument, "port")
	l.Fails(mcptest.SessionTool, `{"action":"status","session_id":"x","state":"open"}`, term.InvalidArgument, "state")
}

func TestListIsBounded(t *testing.T) {
	dialers, _ := wired(0)
	l := mcptest.NewLab(t, mcptest.Config{Sessions: session.Config{Dialers: dialers, MaxSessions: 200}})
	first := l.OK(mcptest.SessionTool, `{"action":"open","protocol":"ssh","host":"ended"}`).SessionID
	l.OK(mcptest.SessionTool, fmt.Sprintf(`{"action":"close","session_id":%q}`, first))
	for i := range tools.MaxListed {
		l.OK(mcptest.SessionTool, fmt.Sprintf(`{"action":"open","protocol":"ssh","host":"h%d"}`, i))
	}
	r := l.OK(mcptest.SessionTool, `{"action":"list"}`)
	if len(r.Sessions) != tools.MaxListed || string(r.Members["count"]) != "101" || string(r.Members["more"]) != "true" ||
		r.Sessions[0].Host != "h0" ||
		r.Sessions[99].Host != "h99" {
		t.Errorf("%d sessions: %.300s", len(r.Sessions), r.Text)
	}
	if r = l.OK(mcptest.SessionTool, `{"action":"list","state":"closed"}`); len(r.Sessions) != 1 ||
		r.Members["more"] != nil {
		t.Errorf("the ended one: %s", r.Text)
	}
}

// status has all that an operator asks for, in both directions.
func TestStatusIsComplete(t *testing.T) {
	l := mcptest.NewLab(t, mcptest.Config{})
	l.OpenShell()
	l.OK(mcptest.ExecTool, `{"session_id":"$S","cmd":"true","lane":"channel"}`)
	l.OK(mcptest.IOTool, `{"action":"write","session_id":"$S","data":"echo hi\r","until_regex":"hi\\r?\\n"}`)
	l.OK(mcptest.SessionTool, `{"action":"lock","session_id":"$S","task_id":"a"}`)
	l.Start(
		"tools/call",
		l.Params(mcptest.IOTool, `{"action":"read","session_id":"$S","until_regex":"never","timeout_ms":20000}`),
	)
	var r mcptest.Reply
	for r.Session == nil || r.Session.Readers == 0 {
		r = l.OK(mcptest.SessionTool, `{"action":"status","session_id":"$S"}`)
	}
	for _, member := range []string{
		`"state":"open"`, `"created_at":`, `"last_in":`, `"last_out":`, `"bytes_in":`, `"bytes_out":8`, `"drained_at":`, `"buffered_bytes":`, `"buffer_limit_bytes":`,
		`"execs":1`, `"waiting_readers":1`, `"lock_holder":"a"`, `"lock_epoch":`, `"lock_expires_at":`, `"capabilities":{`, `"algorithms":{`, `"ladder":[`, `"host_key_fingerprint":`,
	} {
		if !strings.Contains(r.Text, member) {
			t.Errorf("no %s in %s", member, r.Text)
		}
	}
}

func TestTxEventsInStatus(t *testing.T) {
	for _, recorded := range []bool{true, false} {
		dialers, _ := wired(0)
		l := mcptest.NewLab(t, mcptest.Config{Sessions: session.Config{Dialers: dialers, Input: session.InputOptions{RecordTxEvents: recorded}}})
		l.Open("")
		l.OK(mcptest.IOTool, `{"action":"write","session_id":"$S","data":"some text","task_id":"a"}`)
		l.OK(mcptest.IOTool, `{"action":"write","session_id":"$S","key":"ctrl_c"}`)
		l.OK(mcptest.IOTool, `{"action":"write","session_id":"$S","data":"hunter22-1138","sensitive":true}`)
		r := l.OK(mcptest.SessionTool, `{"action":"status","session_id":"$S"}`)
		e := r.Session.TxEvents
		if !recorded {
			if strings.Contains(r.Text, "tx_events") {
				t.Errorf("nobody asked for %s", r.Text)
			}
			continue
		}
		if len(e) != 3 || e[0].At == 0 {
			t.Fatalf("status: %s", r.Text)
		}
		for i := range e {
			e[i].At = 0
		}
		if e[0] != (wire.TxEvent{Verb: "write", TaskID: "a", Bytes: 9}) ||
			e[1] != (wire.TxEvent{Verb: "write", Bytes: 1, Key: "ctrl_c"}) ||
			e[2] != (wire.TxEvent{Verb: "write", Sensitive: true}) {
			t.Errorf("events = %+v, want 9 bytes written by task a, one key ctrl_c, one sensitive write", e)
		}
		if strings.Contains(r.Text, "hunter22-1138") || strings.Contains(r.Text, "some text") {
			t.Errorf("what was typed is in %s", r.Text)
		}
	}
}

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
