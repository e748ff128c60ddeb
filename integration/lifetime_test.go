package integration

import (
	"io"
	"net"
	"strings"
	"testing"
	"time"
)

// A session that is left alone for session.idle_timeout_ms is closed and marked, and its connection ends; so is one that is
// too old, though it is used. A call may set its own idle timeout.
func TestLifetimes(t *testing.T) {
	s := startSSHD(t)
	c := homeFor(t, []*sshd{s}, "[session]\nidle_timeout_ms = 500\nmax_age_ms = 8000").connect(t)
	idle := c.open(t, s)
	used := c.open(t, s)
	state := func(id string) (state, text string) {
		r := c.call(t, toolSession, `{"action":"list"}`)
		for _, s := range r.Sessions {
			if s.SessionID == id {
				return s.State, r.text
			}
		}
		return "", r.text
	}
	c.call(t, toolExec, `{"session_id":%s,"cmd":"sleep 2"}`, used) // a command that runs is no idleness
	if st, text := state(idle); st != "closed" {
		t.Errorf("the idle session is %q: %s", st, text)
	}
	if r := c.call(t, toolSession, `{"action":"status","session_id":%s}`, idle); !strings.Contains(
		r.text,
		"idle_timeout_ms",
	) {
		t.Errorf("status does not say why: %s", r.text)
	}
	if st, text := state(used); st != "open" {
		t.Errorf("the session that is used is %q: %s", st, text)
	}
	c.call(t, toolIO, `{"action":"write","session_id":%s,"data":"while sleep 0.1; do echo tick; done\r"}`, used)
	if r := c.call(t, toolIO, `{"action":"read","session_id":%s,"max_bytes":1000000,"until_regex":"never-there","timeout_ms":20000}`, used); !r.EOF {
		t.Errorf("the old session goes on: %s", r.text)
	}
	if r := c.call(t, toolSession, `{"action":"status","session_id":%s}`, used); !strings.Contains(r.text, "max_age_ms") {
		t.Errorf("status does not say why: %s", r.text)
	}
	s.idle(t)
}

// A host that takes the connection and says nothing costs session.connect_timeout_ms.
func TestConnectTimeoutOfTheConfiguration(t *testing.T) {
	port := startListener(t, func(conn net.Conn) { _, _ = io.Copy(io.Discard, conn) })
	c := newHome(t, "[session]\nconnect_timeout_ms = 700").connect(t)
	begin := time.Now()
	c.refused(
		t,
		"CONNECT_TIMEOUT",
		toolSession,
		`{"action":"open","protocol":"ssh","host":"127.0.0.1","port":%s,"username":"x"}`,
		port,
	)
	if took := time.Since(begin); took > 10*time.Second { // the default is 15
		t.Errorf("it took %v", took)
	}
}
