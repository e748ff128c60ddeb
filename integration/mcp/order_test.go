package mcp

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ptyctl/internal/lab"
)

// answersTo returns the results of calls that were sent at once.
func answersTo(t *testing.T, c *lab.Conversation, ids []string) map[string]lab.Result {
	t.Helper()
	got := make(map[string]lab.Result)
	for range ids {
		a := c.Next()
		got[string(a.ID)] = a.ToolResult(t)
	}
	return got
}

// openCat opens a local program that returns its input as it is.
func openCat(t *testing.T, c *lab.Conversation) string {
	t.Helper()
	r := c.NextResult(c.Ask(lab.ToolSession,
		`{"action":"open","protocol":"local","argv":["sh","-c","stty raw -echo; echo ready; exec cat"]}`))
	if ready := c.NextResult(c.Ask(lab.ToolIO, `{"action":"read","session_id":%s,"cursor":"0","until_regex":"ready","timeout_ms":20000}`,
		r.SessionID)); !ready.Matched {
		t.Fatal(ready.Text)
	}
	return r.SessionID
}

// closeAll closes the sessions.
func closeAll(t *testing.T, c *lab.Conversation, sessions ...string) {
	t.Helper()
	for _, id := range sessions {
		if r := c.NextResult(c.Ask(lab.ToolSession, `{"action":"close","session_id":%s}`, id)); r.ErrorCode != "" {
			t.Errorf("close: %s", r.Text)
		}
	}
}

// Writes into one terminal are typed in the order in which a client sends them, although it waits for no answer.
func TestOrderOfWrites(t *testing.T) {
	const writes = 200
	c := lab.NewHome(t).Converse(t)
	one, other := openCat(t, c), openCat(t, c)
	var lines, ids, want []string
	for i := range writes {
		line, id := c.Request(lab.ToolIO, `{"action":"write","session_id":%s,"data":%s}`, []string{one, other}[i%2], fmt.Sprintf("%03d ", i))
		lines, ids = append(lines, line), append(ids, id)
		if i%2 == 0 {
			want = append(want, fmt.Sprintf("%03d", i))
		}
	}
	last, lastID := c.Request(lab.ToolIO, `{"action":"write","session_id":%s,"data":"end"}`, one)
	for batch := range 4 { // no more than may be in flight
		part := lines[batch*writes/4 : (batch+1)*writes/4]
		c.Send(strings.Join(part, "\n") + "\n")
		answersTo(t, c, ids[batch*writes/4:(batch+1)*writes/4])
	}
	c.Send(last + "\n")
	c.NextResult(lastID)
	r := c.NextResult(c.Ask(lab.ToolIO, `{"action":"read","session_id":%s,"cursor":"0","until_regex":"end","timeout_ms":20000}`, one))
	if _, got, _ := strings.Cut(strings.TrimSpace(r.Chunk), "ready"); strings.TrimSpace(got) != strings.Join(want, " ")+" end" {
		t.Errorf("typed were %q, want %q", got, want)
	}
	closeAll(t, c, one, other)
}

// Calls about one file run one after the other; those about other files do not wait for them.
func TestOrderOfFiles(t *testing.T) {
	dir := t.TempDir()
	c := lab.NewHome(t, "[fs]", "roots = ['"+dir+"']").Converse(t)
	for round := range 20 {
		file := filepath.Join(dir, fmt.Sprint(round))
		var lines, ids []string
		ask := func(arguments string, values ...string) {
			line, id := c.Request("ptyctl_fs", arguments, values...)
			lines, ids = append(lines, line), append(ids, id)
		}
		ask(`{"action":"write","path":%s,"data":"0"}`, file)
		for i := 1; i < 10; i++ {
			ask(`{"action":"write","path":%s,"data":%s,"append":true}`, file, fmt.Sprint(i))
		}
		ask(`{"action":"read","path":%s}`, file)
		ask(`{"action":"write","path":%s,"data":"over"}`, dir+"/./"+fmt.Sprint(round))
		c.Send(strings.Join(lines, "\n") + "\n")
		answers := answersTo(t, c, ids)
		if r := answers[ids[10]]; !strings.Contains(r.Text, `"data":"0123456789"`) {
			t.Fatalf("round %d: a read after ten writes: %s", round, r.Text)
		}
		if data, err := os.ReadFile(file); err != nil || string(data) != "over" {
			t.Fatalf("round %d: %q, %v", round, data, err)
		}
	}
}

// A write that waits for a person holds up no later one: ctrl_c must always get through.
func TestOrderWhileAPersonIsAsked(t *testing.T) {
	sshd := lab.StartSSHD(t)
	h := lab.HomeFor(t, []*lab.SSHD{sshd}, "[policy]", "ask = ['echo pushed*']", "consent = 'person'", "typing = 'allow'\n"+lab.ReadWrite)
	c := h.Converse(t)
	session := c.Open(sshd)
	for _, lane := range []string{"terminal", "channel"} {
		asks, asksID := c.Request(lab.ToolExec, `{"session_id":%s,"cmd":"echo pushed","lane":%s}`, session, lane)
		stops, stopsID := c.Request(lab.ToolIO, `{"action":"write","session_id":%s,"key":"ctrl_c"}`, session)
		c.Send(asks + "\n" + stops + "\n")
		if r := c.NextResult(stopsID); r.ErrorCode != "" {
			t.Errorf("ctrl_c behind a command that waits: %s", r.Text)
		}
		c.Send(fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%s}}`, asksID) + "\n")
	}
	closeAll(t, c, session)
}

// A retry that waits for the call before it types nothing, and holds up no later one.
func TestOrderBehindARetry(t *testing.T) {
	c := lab.NewHome(t).Converse(t)
	s := c.NextResult(c.Ask(lab.ToolSession, `{"action":"open","protocol":"local","argv":["bash","--norc"]}`))
	sleeps, id := c.Request(lab.ToolExec, `{"session_id":%s,"cmd":"echo be''gun; sleep 60","request_id":"once"}`, s.SessionID)
	again, againID := c.Request(lab.ToolExec, `{"session_id":%s,"cmd":"echo be''gun; sleep 60","request_id":"once"}`, s.SessionID)
	stops, stopsID := c.Request(lab.ToolIO, `{"action":"write","session_id":%s,"key":"ctrl_c"}`, s.SessionID)
	c.Send(sleeps + "\n")
	if r := c.NextResult(c.Ask(lab.ToolIO, `{"action":"read","session_id":%s,"cursor":"0","until_regex":"begun","timeout_ms":20000}`,
		s.SessionID)); !r.Matched {
		t.Fatal(r.Text)
	}
	c.Send(again + "\n" + stops + "\n")
	got := answersTo(t, c, []string{id, againID, stopsID})
	for _, id := range []string{id, againID} {
		if r := got[id]; r.DoneReason != "prompt_seen" && r.DoneReason != "marker_seen" {
			t.Errorf("the command and its retry: %s, want its end", r.Text)
		}
	}
	if r := got[stopsID]; r.ErrorCode != "" {
		t.Errorf("ctrl_c behind them: %s", r.Text)
	}
	closeAll(t, c, s.SessionID)
}
