package mcpapi

import (
	"fmt"
	"strings"
	"testing"

	"ptyctl/session"
	"ptyctl/term"
)

func TestListFilters(t *testing.T) {
	dialers, _ := wired(0)
	dialers["telnet"] = dialers["ssh"]
	l := newLab(t, labConfig{sessions: session.Config{Dialers: dialers}})
	ids := make(map[string]string) // by host
	for _, s := range []struct{ protocol, host string }{{"ssh", "web1.example.net"}, {"telnet", "sw1.example.net"}, {"ssh", "db1.example.org"}} {
		ids[s.host] = l.ok(
			sessionName,
			fmt.Sprintf(`{"action":"open","protocol":%q,"host":%q}`, s.protocol, s.host),
		).SessionID
	}
	l.ok(sessionName, fmt.Sprintf(`{"action":"close","session_id":%q}`, ids["web1.example.net"]))
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
		r := l.ok(sessionName, `{"action":"list"`+filter+`}`)
		var hosts []string
		for _, s := range r.Sessions {
			hosts = append(hosts, s.Host)
		}
		if got := strings.Join(hosts, " "); got != want || string(r.members["count"]) != fmt.Sprint(len(hosts)) ||
			r.members["more"] != nil {
			t.Errorf("list%s: %q, want %q: %s", filter, got, want, r.text)
		}
	}
	l.fails(sessionName, `{"action":"list","state":"opened"}`, term.InvalidArgument, "connecting", "error")
	l.fails(sessionName, `{"action":"list","host":""}`, term.InvalidArgument)
	l.fails(sessionName, `{"action":"list","port":22}`, term.InvalidArgument, "port")
	l.fails(sessionName, `{"action":"status","session_id":"x","state":"open"}`, term.InvalidArgument, "state")
}

func TestListIsBounded(t *testing.T) {
	dialers, _ := wired(0)
	l := newLab(t, labConfig{sessions: session.Config{Dialers: dialers, MaxSessions: 200}})
	first := l.ok(sessionName, `{"action":"open","protocol":"ssh","host":"ended"}`).SessionID
	l.ok(sessionName, fmt.Sprintf(`{"action":"close","session_id":%q}`, first))
	for i := range maxListed {
		l.ok(sessionName, fmt.Sprintf(`{"action":"open","protocol":"ssh","host":"h%d"}`, i))
	}
	r := l.ok(sessionName, `{"action":"list"}`)
	if len(r.Sessions) != maxListed || string(r.members["count"]) != "101" || string(r.members["more"]) != "true" ||
		r.Sessions[0].Host != "h0" ||
		r.Sessions[99].Host != "h99" {
		t.Errorf("%d sessions: %.300s", len(r.Sessions), r.text)
	}
	if r = l.ok(sessionName, `{"action":"list","state":"closed"}`); len(r.Sessions) != 1 || r.members["more"] != nil {
		t.Errorf("the ended one: %s", r.text)
	}
}

// status says what an operator asks for, in both directions.
func TestStatusIsComplete(t *testing.T) {
	l := newLab(t, labConfig{})
	l.openShell()
	l.ok(execName, `{"session_id":"$S","cmd":"true","lane":"channel"}`)
	l.ok(ioName, `{"action":"write","session_id":"$S","data":"echo hi\r","until_regex":"hi\\r?\\n"}`)
	l.ok(sessionName, `{"action":"lock","session_id":"$S","task_id":"a"}`)
	l.start(
		"tools/call",
		l.params(ioName, `{"action":"read","session_id":"$S","until_regex":"never","timeout_ms":20000}`),
	)
	var r reply
	for r.Session == nil || r.Session.Readers == 0 {
		r = l.ok(sessionName, `{"action":"status","session_id":"$S"}`)
	}
	for _, member := range []string{
		`"state":"open"`, `"created_at":`, `"last_in":`, `"last_out":`, `"bytes_in":`, `"bytes_out":8`, `"drained_at":`, `"buffered_bytes":`, `"buffer_limit_bytes":`,
		`"execs":1`, `"waiting_readers":1`, `"lock_holder":"a"`, `"lock_epoch":`, `"lock_expires_at":`, `"capabilities":{`, `"algorithms":{`, `"ladder":[`, `"host_key_fingerprint":`,
	} {
		if !strings.Contains(r.text, member) {
			t.Errorf("no %s in %s", member, r.text)
		}
	}
}

func TestTxEventsInStatus(t *testing.T) {
	for _, recorded := range []bool{true, false} {
		dialers, _ := wired(0)
		l := newLab(t, labConfig{sessions: session.Config{Dialers: dialers, RecordTxEvents: recorded}})
		l.open("")
		l.ok(ioName, `{"action":"write","session_id":"$S","data":"some text","task_id":"a"}`)
		l.ok(ioName, `{"action":"write","session_id":"$S","key":"ctrl_c"}`)
		l.ok(ioName, `{"action":"write","session_id":"$S","data":"hunter22-1138","sensitive":true}`)
		r := l.ok(sessionName, `{"action":"status","session_id":"$S"}`)
		e := r.Session.TxEvents
		if !recorded {
			if strings.Contains(r.text, "tx_events") {
				t.Errorf("nobody asked for %s", r.text)
			}
			continue
		}
		if len(e) != 3 || e[0].At == 0 {
			t.Fatalf("status: %s", r.text)
		}
		for i := range e {
			e[i].At = 0
		}
		if e[0] != (txEvent{Verb: "write", TaskID: "a", Bytes: 9}) ||
			e[1] != (txEvent{Verb: "write", Bytes: 1, Key: "ctrl_c"}) ||
			e[2] != (txEvent{Verb: "write", Sensitive: true}) {
			t.Errorf("events = %+v, want 9 bytes written by task a, one key ctrl_c, one sensitive write", e)
		}
		if strings.Contains(r.text, "hunter22-1138") || strings.Contains(r.text, "some text") {
			t.Errorf("what was typed is in %s", r.text)
		}
	}
}
