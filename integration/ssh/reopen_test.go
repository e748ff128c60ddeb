package ssh

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"ptyctl/internal/lab"
	"ptyctl/internal/sshserver"
)

const (
	reopen     = `{"action":"reopen","session_id":%s}`
	reopenLong = `{"action":"reopen","session_id":%s,"wait_ms":600000}`
	untilOpen  = `{"action":"wait","on":[{"session_id":%s,"until_state":"open"}],"timeout_ms":40000}`
)

// waitLost waits until the session's connection is lost, and returns the cursor of its end.
func waitLost(t *testing.T, c *lab.Client, id string) (end string) {
	t.Helper()
	r := c.Call(t, lab.ToolIO,
		`{"action":"read","session_id":%s,"cursor":"0","until_regex":"never-there","timeout_ms":50000}`, id)
	if !r.EOF || !slices.Contains([]string{"lost", "remote_closed", "exited", "killed"}, r.EndCode) {
		t.Fatalf("after the server is gone a read returns %s, want eof", lab.Tail(r.Text, 2000))
	}
	return r.NextCursor
}

// TestReopen works on in one session after the server has gone and come back: cursors, results and the gap.
func TestReopen(t *testing.T) {
	s := lab.StartSSHD(t)
	c := lab.HomeFor(t, []*lab.SSHD{s}).Connect(t)
	id := c.Open(t, s)
	c.Call(t, lab.ToolIO, `{"action":"write","session_id":%s,"data":"PS1='old> '\r","until_regex":"^old> $","timeout_ms":20000}`, id)
	started := c.Call(t, lab.ToolExec, `{"session_id":%s,"cmd":"echo part; sleep 1000","lane":"channel","wait_ms":500}`, id)
	lab.Eventually(t, "the output of the command", func() bool {
		return c.Call(t, lab.ToolIO, `{"action":"read","session_id":%s,"exec_id":%s}`, id, started.ExecID).Chunk == "part\n"
	})
	s.Stop(t)
	gap := waitLost(t, c, id)

	// Nothing listens: one attempt fails, and the session stays as it was.
	if r := c.Refused(t, "CONNECT_FAILED", lab.ToolSession, reopen, id); !strings.Contains(r.Message, "refused") {
		t.Errorf("reopen without a server: %s", r.Text)
	}
	st := c.Call(t, lab.ToolSession, `{"action":"status","session_id":%s}`, id)
	if st.EndCode != "lost" || !strings.Contains(st.Session.EndReason, "not reopened") || !strings.Contains(st.Session.EndReason, "refused") {
		t.Errorf("status after a failed reopen: %s", st.Text)
	}
	r := c.Call(t, lab.ToolSession, reopenLong, id)
	if r.State != "connecting" || r.Reopening.Attempts != 1 || r.Cursor != gap || r.SessionID != id {
		t.Errorf("reopen that goes on: %s", r.Text)
	}
	c.Refused(t, "BUSY", lab.ToolSession, reopen, id)
	c.Refused(t, "BUSY", lab.ToolIO, `{"action":"write","session_id":%s,"data":"x"}`, id)
	s.Again(t)
	if r = c.Call(t, lab.ToolSession, untilOpen, id); len(r.Fired) != 1 || r.Fired[0].State != "open" || r.Fired[0].NextCursor != gap {
		t.Fatalf("wait until the session is open: %s", r.Text)
	}
	st = c.Call(t, lab.ToolSession, `{"action":"status","session_id":%s}`, id)
	if st.State != "open" || st.Session.Opens != 2 || !slices.Equal(st.Session.Gaps, []string{gap}) || st.Session.Reopening.Attempts != 0 {
		t.Errorf("status of the reopened session: %s", st.Text)
	}
	c.Refused(t, "INVALID_ARGUMENT", lab.ToolSession, reopen, id)

	// Beside its terminal, in which nothing was typed since, and in it.
	if r := c.Call(t, lab.ToolExec, `{"session_id":%s,"cmd":"echo again"}`, id); r.Stdout != "again\n" || r.ExecLane != "channel" {
		t.Errorf("exec after reopen: %s", r.Text)
	}
	r = c.Call(t, lab.ToolIO,
		`{"action":"write","session_id":%s,"data":"echo ne''w\r","until_regex":"^new$","timeout_ms":20000}`, id)
	if !r.Matched || strings.Contains(r.Chunk, "old>") {
		t.Errorf("a write after reopen: %s", r.Text)
	}
	r = c.Call(t, lab.ToolIO, `{"action":"read","session_id":%s,"cursor":"0","until_regex":"^new$","timeout_ms":20000}`, id)
	if !r.Matched || !slices.Equal(r.Gaps, []string{gap}) || !strings.Contains(r.Chunk, "old> ") {
		t.Errorf("a read across the gap: %s", r.Text)
	}
	// The last line of one connection and the first of the next are two.
	r = c.Call(t, lab.ToolIO, `{"action":"search","session_id":%s,"pattern":"^old> $"}`, id)
	if !strings.Contains(r.Text, `"text":"old> "`) {
		t.Errorf("a search for the line before the gap: %s", r.Text)
	}
	r = c.Call(t, lab.ToolIO, `{"action":"read","session_id":%s,"cursor":"0","match":"^old> "}`, id)
	if r.Chunk != "old> " {
		t.Errorf("the lines that match before the gap: %s", r.Text)
	}
	if r := c.Call(t, lab.ToolExec, `{"session_id":%s,"exec_id":%s}`, id, started.ExecID); r.StdoutBytes != 5 ||
		r.DoneReason != "eof" || r.ExitCodeReason != "connection_lost" {
		t.Errorf("the command that the gap has ended: %s", r.Text)
	}
	if r := c.Call(t, lab.ToolIO, `{"action":"read","session_id":%s,"exec_id":%s}`, id, started.ExecID); r.Chunk != "part\n" {
		t.Errorf("the output of the command that the gap has ended: %s", r.Text)
	}

	// A shell that exits can be started again; a session that was closed cannot.
	c.Call(t, lab.ToolIO, `{"action":"write","session_id":%s,"data":"exit 3\r"}`, id)
	waitLost(t, c, id)
	if r := c.Call(t, lab.ToolSession, reopen, id); r.State != "open" || r.Opens != 3 {
		t.Errorf("reopen after exit: %s", r.Text)
	}
	c.Close(t, id)
	if r := c.Refused(t, "ALREADY_CLOSED", lab.ToolSession, reopen, id); r.Retryable || !strings.Contains(r.Message, "for good") {
		t.Errorf("reopen after close: %s", r.Text)
	}
}

// TestReopenHostKey: another key of the host ends the attempts.
func TestReopenHostKey(t *testing.T) {
	s := lab.StartSSHD(t)
	c := lab.HomeFor(t, []*lab.SSHD{s}).Connect(t)
	id := c.Open(t, s)
	s.Stop(t)
	waitLost(t, c, id)
	c.Call(t, lab.ToolSession, reopenLong, id)
	s.Again(t, lab.NewKey(t, "ed25519"))
	r := c.Call(t, lab.ToolSession, untilOpen, id)
	if len(r.Fired) != 1 || r.Fired[0].State != "error" || r.Fired[0].EndCode != "lost" {
		t.Fatalf("the wait: %s", r.Text)
	}
	st := c.Call(t, lab.ToolSession, `{"action":"status","session_id":%s}`, id)
	if !strings.Contains(st.Session.EndReason, "host key") {
		t.Errorf("status: %s", st.Text)
	}
	c.Refused(t, "HOSTKEY_MISMATCH", lab.ToolSession, reopenLong, id)
}

// TestReopenPassword: the password of the open is not kept. A wrong one is tried once, however long the attempts may go
// on; without one the login asks.
func TestReopenPassword(t *testing.T) {
	const password, wrong = "correct-horse-1138", "wrong-horse-1138"
	s := lab.ServeSSH(t, sshserver.Config{Passwords: map[string]string{"alice": password}})
	h := lab.NewHome(t)
	h.Trust(t, s.KnownHostsLine())
	c := h.Connect(t)
	c.Hide(password)
	c.Hide(wrong)
	id := c.Call(t, lab.ToolSession,
		`{"action":"open","protocol":"ssh","host":"127.0.0.1","port":%s,"username":"alice","auth":{"password":%s}}`,
		s.Port(), password).SessionID
	away := func(away bool) {
		t.Helper()
		s.SetFaults(sshserver.Faults{CloseAfterAccept: away})
		if away {
			s.DropConnections()
			waitLost(t, c, id)
		}
	}
	const with = `{"action":"reopen","session_id":%s,"auth":{"password":%s},"wait_ms":600000}`
	seen := func() int { return s.Stats().PasswordsSeen }

	away(true)
	before := seen()
	if r := c.Call(t, lab.ToolSession, with, id, wrong); r.State != "connecting" {
		t.Fatalf("reopen while the server is away: %s", r.Text)
	}
	away(false)
	if r := c.Call(t, lab.ToolSession, untilOpen, id); len(r.Fired) != 1 || r.Fired[0].State != "error" {
		t.Errorf("the wait with a wrong password: %s", r.Text)
	}
	time.Sleep(3 * time.Second) // longer than the pauses so far
	if n := seen() - before; n != 1 {
		t.Errorf("the server has seen %d passwords, want one", n)
	}
	c.Refused(t, "AUTH_FAILED", lab.ToolSession, with, id, wrong)
	c.Refused(t, "AUTH_FAILED", lab.ToolSession, `{"action":"reopen","session_id":%s,"auth":{"interactive":false}}`, id)

	// Without a password it asks.
	r := c.Call(t, lab.ToolSession, reopen, id)
	if r.State != "authenticating" || r.Prompt == nil || r.Prompt.Kind != "password" {
		t.Fatalf("reopen without a password: %s", r.Text)
	}
	c.Call(t, lab.ToolIO, `{"action":"write","session_id":%s,"data":%s,"sensitive":true}`, id, password+"\r")
	if r := c.Call(t, lab.ToolSession, untilOpen, id); len(r.Fired) != 1 || r.Fired[0].State != "open" {
		t.Errorf("the wait after the answer: %s", r.Text)
	}
	away(true)
	away(false)
	if r := c.Call(t, lab.ToolSession, with, id, password); r.State != "open" || r.Opens != 3 {
		t.Errorf("reopen with the password: %s", r.Text)
	}
}

// TestReopenJudged: the operator's rules, the role of the caller and the lock decide about a reopen as about an open.
func TestReopenJudged(t *testing.T) {
	s := lab.StartSSHD(t)
	h := lab.HomeFor(t, []*lab.SSHD{s})
	c := h.Connect(t)
	id := c.Call(t, lab.ToolSession, fmt.Sprintf(
		`{"action":"open","protocol":"ssh","host":"127.0.0.1","port":%d,"username":%q,"acquire_lock":true,"task_id":"t1"}`, s.Port, s.User,
	)).SessionID
	s.Stop(t)
	waitLost(t, c, id)
	s.Again(t)
	c.Refused(t, "LOCKED", lab.ToolSession, `{"action":"reopen","session_id":%s,"task_id":"t2"}`, id)
	c.Refused(t, "LOCKED", lab.ToolSession, reopen, id)
	if r := c.Call(t, lab.ToolSession, `{"action":"reopen","session_id":%s,"task_id":"t1"}`, id); r.State != "open" {
		t.Errorf("reopen by the holder: %s", r.Text)
	}
	if r := c.Call(t, lab.ToolSession, `{"action":"status","session_id":%s}`, id); r.Holder != "t1" {
		t.Errorf("status: %s", r.Text)
	}
	c.Refused(t, "INVALID_ARGUMENT", lab.ToolSession, `{"action":"wait","on":[{"session_id":%s,"until_state":"closed"}]}`, id)
	c.Refused(t, "INVALID_ARGUMENT", lab.ToolSession,
		`{"action":"wait","on":[{"session_id":%s,"until_state":"open","until_prompt":true}]}`, id)
	c.Refused(t, "NOT_FOUND", lab.ToolSession, reopen, "web1-aaaaaaaa")

	reader := h.Connect(t, "--read-only")
	reader.Refused(t, "POLICY_DENIED", lab.ToolSession, reopen, id)
	local := c.Call(t, lab.ToolSession, `{"action":"open","protocol":"local","argv":["true"]}`)
	waitLost(t, c, local.SessionID)
	c.Refused(t, "UNSUPPORTED", lab.ToolSession, reopen, local.SessionID)
}
