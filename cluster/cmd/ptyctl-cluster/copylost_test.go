package main

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ptyctl/cluster/internal/natstest"
)

// long makes a file of the source that takes a while to copy.
func (c *copies) long(name string, size int64) (path string) {
	c.tb.Helper()
	path, _, _ = c.write(name, 1)
	if err := os.Truncate(path, size); err != nil {
		c.tb.Fatal(err)
	}
	return path
}

// tooLong is the size of a file that takes longer to copy than a test takes to end the copy.
const tooLong = 800 << 20

// begun waits until more of a copy has come, under a name of its own, than the last blocks that are never trusted.
func (c *copies) begun(below string) {
	c.tb.Helper()
	natstest.Eventually(c.tb, "the copy has begun", func() bool {
		found, err := filepath.Glob(filepath.Join(c.to, below, ".*"))
		if err != nil {
			c.tb.Fatal(err)
		}
		for _, path := range found {
			if info, err := os.Stat(path); err == nil && info.Size() > 16<<20 {
				return true
			}
		}
		return false
	})
}

// during copies, and does something once the copy has begun.
func (c *copies) during(at *caller, from, to string, more map[string]any, below string, do func()) copied {
	c.tb.Helper()
	type outcome struct {
		copied
		err error
	}
	over := make(chan outcome, 1)
	go func() {
		got, err := c.try(at, from, to, more)
		over <- outcome{got, err}
	}()
	c.begun(below)
	do()
	got := <-over
	if got.err != nil {
		c.tb.Fatal(got.err)
	}
	return got.copied
}

// TestCopyWithoutItsTarget: if the target's node is killed during a copy, the result says that the end of the copy is
// unknown, and how far it had read. There is no file at the path of the target.
func TestCopyWithoutItsTarget(t *testing.T) {
	t.Parallel()
	for _, at := range []string{"a", "c"} {
		t.Run(at, func(t *testing.T) {
			t.Parallel()
			c := newCopies(t, nil)
			path := c.long("long", tooLong)
			to := filepath.Join(c.to, "long")
			r := c.during(c.at(at), path, to, nil, "", c.nodes["b"].kill)
			if r.ErrorCode != "NODE_SILENT" || r.Retryable || r.Details.Node != "b" || !strings.Contains(r.Message, "it had read ") ||
				strings.Contains(r.Message, " 0 bytes") {
				t.Errorf("a copy whose node is killed = %s, want NODE_SILENT with how far it had read", r.text)
			}
			if _, err := os.Lstat(to); !os.IsNotExist(err) {
				t.Errorf("the target is there: %v", err)
			}
		})
	}
}

// TestCopyWithoutItsSource: a copy that loses its source leaves the same as on one node: nothing, or with resume the
// bytes that have come.
func TestCopyWithoutItsSource(t *testing.T) {
	t.Parallel()
	for _, at := range []string{"b", "c"} {
		t.Run(at, func(t *testing.T) {
			t.Parallel()
			c := newCopies(t, nil)
			path := c.long("long", tooLong)
			r := c.during(c.at(at), path, filepath.Join(c.to, "long"), nil, "", c.nodes["a"].kill)
			if r.ErrorCode != "NODE_UNREACHABLE" || !r.Retryable || r.Details.Node != "a" || !strings.Contains(r.Message, "has replaced nothing") {
				t.Errorf("a copy whose source is lost = %s, want NODE_UNREACHABLE", r.text)
			}
			c.wantNames("after it")
			r = c.copy(c.at(at), path, filepath.Join(c.to, "long"), nil)
			if r.ErrorCode != "NODE_UNREACHABLE" || !r.Retryable {
				t.Errorf("the same copy later = %s, want NODE_UNREACHABLE", r.text)
			}
		})
	}
	t.Run("tree", func(t *testing.T) {
		t.Parallel()
		c := newCopies(t, nil)
		c.write("tree/1", 10)
		c.long("tree/2", tooLong)
		to := filepath.Join(c.to, "tree")
		r := c.during(c.at("c"), filepath.Join(c.from, "tree"), to, map[string]any{"recursive": true, "resume": true}, "tree", c.nodes["a"].kill)
		if r.ErrorCode != "REMOTE_CLOSED" || r.Details.Node != "a" || !strings.Contains(r.Message, "(1 files were copied before)") {
			t.Errorf("a copy of a tree whose source is lost = %s, want to hear that a part was copied", r.text)
		}
		entries, err := os.ReadDir(to)
		if err != nil || len(entries) != 2 || !strings.HasSuffix(entries[0].Name(), ".ptyctl-part") || entries[1].Name() != "1" {
			t.Errorf("the target has %v, %v; want the first file, and a part of the second", entries, err)
		}
	})
}

// TestCopyOutlivesItsCall: a copy between two nodes goes on when its call is over or given up, and its exec_id is waited for
// and canceled through any node.
func TestCopyOutlivesItsCall(t *testing.T) {
	t.Parallel()
	const brief = "[limits]\nmax_wait_ms = 100\n[session]\nread_timeout_ms = 100\n"
	c := newCopies(t, map[string]string{"a": brief, "b": brief, "c": brief})
	path := c.long("long", tooLong)
	for _, at := range []string{"a", "b", "c"} {
		client, to := c.at(at), filepath.Join(c.to, "canceled")
		r := c.copy(client, path, to, nil)
		if r.DoneReason != "running" || r.ExecID == "" || r.SessionID != c.ids["b"] {
			t.Fatalf("at %s: a long copy = %s, want it to go on", at, r.text)
		}
		end := client.tool("ptyctl_session_exec", map[string]any{"session_id": r.SessionID, "exec_id": r.ExecID, "cancel": true})
		natstest.Eventually(t, "the canceled copy has tidied up", func() bool {
			entries, err := os.ReadDir(c.to)
			return err == nil && len(entries) == 0
		})
		if end.ErrorCode != "" {
			t.Errorf("at %s: cancel = %s", at, end.text)
		}
	}
	const size = 100 << 20
	path, to := c.long("shorter", size), filepath.Join(c.to, "given-up")
	ctx, giveUp := context.WithCancel(t.Context())
	defer giveUp()
	client, over := c.at("c"), make(chan error, 1)
	go func() {
		_, err := client.try(ctx, "ptyctl_fs", map[string]any{
			"action": "copy", "from": map[string]any{"session_id": c.ids["a"], "path": path}, "verify": false,
			"to": map[string]any{"session_id": c.ids["b"], "path": to},
		})
		over <- err
	}()
	c.begun("")
	giveUp()
	<-over
	natstest.Eventually(t, "the copy whose call was given up is complete", func() bool {
		info, err := os.Stat(to)
		return err == nil && info.Size() == size
	})

	// Neither end needs the node of the client any more.
	if err := os.Remove(to); err != nil {
		t.Fatal(err)
	}
	r := c.copy(client, path, to, map[string]any{"verify": false})
	if r.DoneReason != "running" {
		t.Fatalf("copy = %s, want it to go on", r.text)
	}
	c.nodes["c"].kill()
	end := c.at("a").tool("ptyctl_session_exec", map[string]any{"session_id": r.SessionID, "exec_id": r.ExecID})
	natstest.Eventually(t, "the copy whose client's node was killed is complete", func() bool {
		info, err := os.Stat(to)
		return err == nil && info.Size() == size
	})
	if end.ErrorCode != "" {
		t.Errorf("a wait for the copy, at another node = %s", end.text)
	}
}

// TestCopyResumed: a copy that was canceled goes on where it was, through another node.
func TestCopyResumed(t *testing.T) {
	t.Parallel()
	c := newCopies(t, nil)
	const size = 64 << 20 // which a busy machine copies within one call
	path, to := c.long("long", size), filepath.Join(c.to, "long")
	more := map[string]any{"resume": true, "verify": false}
	r := c.during(c.at("c"), path, to, more, "", func() {
		var status struct {
			Session struct {
				Running []string `json:"running_exec_ids"`
			}
		}
		answer := c.at("a").call(map[string]any{"action": "status", "session_id": c.ids["b"]})
		if err := json.Unmarshal([]byte(answer.text), &status); err != nil || len(status.Session.Running) != 1 {
			t.Fatalf("status = %s, %v; want the exec of the copy", answer.text, err)
		}
		c.at("a").tool("ptyctl_session_exec", map[string]any{
			"session_id": c.ids["b"], "exec_id": status.Session.Running[0], "cancel": true,
		})
	})
	if r.ErrorCode != "CANCELED" || !strings.Contains(r.Message, "is kept") {
		t.Fatalf("a copy that was canceled = %s, want to hear that its data is kept", r.text)
	}
	if r = c.copy(c.at("a"), path, to, more); r.ErrorCode != "" || r.ResumedAt == 0 || r.Bytes+r.ResumedAt != size {
		t.Errorf("the same copy again = %s, want it to go on", r.text)
	}
	if info, err := os.Stat(to); err != nil || info.Size() != size {
		t.Errorf("the target is %v, %v", info, err)
	}
}

// TestCopyByTheRulesOfAll: a copy is refused if the rules of either end, or of the node of the client, refuse it there.
func TestCopyByTheRulesOfAll(t *testing.T) {
	t.Parallel()
	c := newCopies(t, map[string]string{
		"a": "[policy]\nread_only_hosts = [\"far2\"]\n", // of the other node's session
		"c": "[policy]\ndeny_hosts = [\"far1\"]\n",
	})
	path, data, _ := c.write("file", 10)
	to := filepath.Join(c.to, "file")
	for at, want := range map[string]string{"a": "by the rules of node a, to which the client is connected", "c": "by the rules of node c, to which the client is connected"} {
		r := c.copy(c.at(at), path, to, nil)
		if r.ErrorCode != "POLICY_DENIED" || !strings.Contains(r.Message, want) || r.Details.Rule == "" {
			t.Errorf("at %s: copy = %s, want it denied: %s", at, r.text, want)
		}
		c.wantNames("a copy that is denied")
	}
	if r := c.copy(c.at("b"), path, to, nil); r.ErrorCode != "" {
		t.Errorf("at b, by whose rules it is allowed, as by those of a for its end: %s", r.text)
	}
	c.want(to, data)
	c.nodes["b"].reload(t, strings.Replace(readLines(t, c.nodes["b"]), "[fs]", "[policy]\nread_only_hosts = [\"far2\"]\n[fs]", 1))
	for _, at := range []string{"b", "c"} {
		if r := c.copy(c.at(at), path, to+"-2", nil); r.ErrorCode != "POLICY_DENIED" {
			t.Errorf("at %s: copy to a host that b only reads = %s", at, r.text)
		}
	}
	c.wantNames("after all", "file")
}

// readLines returns the configuration of a node.
func readLines(tb testing.TB, s *served) string {
	tb.Helper()
	text, err := os.ReadFile(s.cmd.Args[len(s.cmd.Args)-1])
	if err != nil {
		tb.Fatal(err)
	}
	return string(text)
}

// TestCopyOfOthers: a caller copies neither from nor to a session of another caller, and one who only reads copies nothing.
func TestCopyOfOthers(t *testing.T) {
	t.Parallel()
	c := newCopies(t, nil)
	path, _, _ := c.write("file", 10)
	for _, at := range []string{"a", "b", "c"} {
		mine := c.nodes[at].dial(t, otherToken)
		own := sessionsOn(t, mine)
		for name, ends := range map[string][2]string{"from": {c.ids["a"], own["b"]}, "to": {own["a"], c.ids["b"]}, "both": {c.ids["a"], c.ids["b"]}} {
			r := mine.tool("ptyctl_fs", map[string]any{
				"action": "copy", "from": map[string]any{"session_id": ends[0], "path": path},
				"to": map[string]any{"session_id": ends[1], "path": filepath.Join(c.to, "x")},
			})
			if r.ErrorCode != "NOT_FOUND" {
				t.Errorf("at %s: a copy with %s of another caller's = %s", at, name, r.text)
			}
		}
		if r := c.copy(c.nodes[at].dial(t, readToken), path, filepath.Join(c.to, "x"), nil); r.ErrorCode != "POLICY_DENIED" {
			t.Errorf("at %s: a copy by one who only reads = %s", at, r.text)
		}
	}
	c.wantNames("after all")
}
