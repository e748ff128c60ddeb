package ssh

import (
	"io"
	"net"
	"strconv"
	"strings"
	"testing"

	"ptyctl/internal/lab"
)

// A session that is left alone for session.idle_timeout_ms is closed and marked, and its connection ends; so is one
// that is too old, though it is used. A call may set its own idle timeout.
func TestLifetimes(t *testing.T) {
	s := lab.StartSSHD(t)
	c := lab.HomeFor(t, []*lab.SSHD{s}, "[session]\nidle_timeout_ms = 3000\nmax_age_ms = 12000").Connect(t)
	idle := c.Open(t, s)
	used := c.Open(t, s)
	state := func(id string) (state, text string) {
		r := c.Call(t, lab.ToolSession, `{"action":"list"}`)
		for _, s := range r.Sessions {
			if s.SessionID == id {
				return s.State, r.Text
			}
		}
		return "", r.Text
	}
	c.Call(t, lab.ToolExec, `{"session_id":%s,"cmd":"sleep 5"}`, used) // a running command counts as activity
	if st, text := state(idle); st != "closed" {
		t.Errorf("the idle session is %q: %s", st, text)
	}
	if r := c.Call(t, lab.ToolSession, `{"action":"status","session_id":%s}`, idle); !strings.Contains(
		r.Text,
		"its idle timeout",
	) {
		t.Errorf("status does not say why: %s", r.Text)
	}
	if st, text := state(used); st != "open" {
		t.Errorf("the session that is used is %q: %s", st, text)
	}
	c.Call(t, lab.ToolIO, `{"action":"write","session_id":%s,"data":"while sleep 0.1; do echo tick; done\r"}`, used)
	if r := c.Call(
		t, lab.ToolIO, `{"action":"read","session_id":%s,"max_bytes":1000000,"until_regex":"never-there","timeout_ms":20000}`,
		used,
	); !r.EOF {
		t.Errorf("the old session goes on: %s", r.Text)
	}
	if r := c.Call(t, lab.ToolSession, `{"action":"status","session_id":%s}`, used); !strings.Contains(
		r.Text,
		"the longest age of a session",
	) {
		t.Errorf("status does not say why: %s", r.Text)
	}
	s.WaitIdle(t)
}

// A host that takes the connection and says nothing costs session.connect_timeout_ms.
func TestConnectTimeoutOfTheConfiguration(t *testing.T) {
	port := lab.StartListener(t, func(conn net.Conn) { _, _ = io.Copy(io.Discard, conn) })
	c := lab.NewHome(t, "[session]\nconnect_timeout_ms = 700").Connect(t)
	e := c.Refused(
		t,
		"CONNECT_TIMEOUT",
		lab.ToolSession,
		`{"action":"open","protocol":"ssh","host":"127.0.0.1","port":%s,"username":"x"}`,
		port,
	)
	if !strings.Contains(e.Message, "within 700ms") {
		t.Errorf("message %q", e.Message)
	}
}

// ConnectTimeout of ssh_config goes before session.connect_timeout_ms, as the operator's own word about this host.
func TestConnectTimeoutOfSSHConfig(t *testing.T) {
	port := lab.StartListener(t, func(conn net.Conn) { _, _ = io.Copy(io.Discard, conn) })
	h := lab.NewHome(t, "")
	h.Write(t, h.SSHConfig, "Host silent\n  HostName 127.0.0.1\n  Port "+strconv.Itoa(port)+"\n  ConnectTimeout 1\n")
	c := h.Connect(t)
	e := c.Refused(t, "CONNECT_TIMEOUT", lab.ToolSession, `{"action":"open","protocol":"ssh","host":"silent"}`)
	if !strings.Contains(e.Message, "within 1s (ConnectTimeout, "+h.SSHConfig+":4)") {
		t.Errorf("message %q", e.Message)
	}
}
