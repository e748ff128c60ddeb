package main

import (
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"ptyctl/cluster/internal/natstest"
)

// truth is how long a caller may wait until it learns that a node does not answer.
const truth = 20 * time.Second

// gone calls a tool about a session of a node that does not answer. The answer must say so in time, and be one of codes.
func (c *caller) gone(tool string, arguments map[string]any, codes ...string) result {
	c.tb.Helper()
	began := time.Now()
	r := c.tool(tool, arguments)
	if took := time.Since(began); took > truth {
		c.tb.Errorf("%v: the answer took %v: %s", arguments, took, r.text)
	}
	for _, code := range codes {
		if r.ErrorCode == code && r.Retryable == (code == "NODE_UNREACHABLE") {
			return r
		}
	}
	c.tb.Errorf("%v = %s, want one of %q", arguments, r.text, codes)
	return r
}

// appending is a call that adds a line to a file.
func appending(id, path string) map[string]any {
	return map[string]any{"action": "write", "session_id": id, "data": "echo x >> " + path + "\r"}
}

// TestStopped: a node that is stopped is silent; when it goes on, nothing was done twice, and its sessions are there.
func TestStopped(t *testing.T) {
	t.Parallel()
	url, path := natstest.Start(t, 1)[0].URL, filepath.Join(t.TempDir(), "written")
	far := start(t, lines("far", url))
	near := start(t, lines("near", url, entry))
	id := near.call(map[string]any{"action": "open", "protocol": "local", "argv": []string{"sh"}}).SessionID
	if err := far.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	near.gone("ptyctl_session_io", appending(id, path), "NODE_SILENT")
	silent := 1 // calls
	natstest.Eventually(t, "the node is known to be silent", func() bool {
		silent++
		r := near.gone("ptyctl_session_io", appending(id, path), "NODE_SILENT", "NODE_UNREACHABLE")
		if r.ErrorCode == "NODE_UNREACHABLE" && !strings.Contains(r.Message, "has not been heard of for ") {
			t.Errorf("write = %s", r.text)
		}
		return r.ErrorCode == "NODE_UNREACHABLE"
	})
	if err := far.cmd.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	written := map[string]any{
		"action": "write", "session_id": id, "data": "echo x >> " + path + "; echo do''ne\r", "until_regex": "done", "timeout_ms": 20000,
	}
	natstest.Eventually(t, "the session goes on", func() bool { return near.tool("ptyctl_session_io", written).Matched })
	if n := marks(t, path); n < 1 || n > silent+1 {
		t.Errorf("a write, and %d of unknown outcome, were done %d times", silent, n)
	}
}

// TestKilled: a caller learns that the node of its session was killed while it ran a command, or before.
func TestKilled(t *testing.T) {
	t.Parallel()
	url, path := natstest.Start(t, 1)[0].URL, filepath.Join(t.TempDir(), "begun")
	far := start(t, lines("far", url))
	near := start(t, lines("near", url, entry))
	id := near.call(map[string]any{"action": "open", "protocol": "local", "argv": []string{"sh"}}).SessionID
	go func() {
		for marks(t, path) == 0 {
			time.Sleep(10 * time.Millisecond)
		}
		far.kill()
	}()
	near.gone("ptyctl_session_exec", map[string]any{"session_id": id, "cmd": "echo x >> " + path + "; sleep 600"}, "NODE_SILENT")
	near.gone("ptyctl_session_io", appending(id, path), "NODE_UNREACHABLE")
	if n := marks(t, path); n != 1 {
		t.Errorf("the command was begun %d times", n)
	}
}

// TestPartition: a node that is cut off from NATS keeps its sessions for its own clients, and has them for those of
// other nodes when the partition ends.
func TestPartition(t *testing.T) {
	t.Parallel()
	url, path := natstest.Start(t, 1)[0].URL, filepath.Join(t.TempDir(), "written")
	var cut atomic.Bool
	far := start(t, lines("far", natstest.Proxy(t, url, &cut)))
	near := start(t, lines("near", url, entry))
	id := near.call(map[string]any{"action": "open", "protocol": "local", "argv": []string{"sh"}}).SessionID
	exec := map[string]any{"session_id": id, "cmd": "echo x >> " + path + "; echo here"}
	cut.Store(true)
	near.gone("ptyctl_session_exec", exec, "NODE_SILENT", "NODE_UNREACHABLE")
	if r := far.tool("ptyctl_session_exec", exec); r.Stdout != "here\n" {
		t.Errorf("exec at a node that is cut off = %s, want that of a session of its own", r.text)
	}
	cut.Store(false)
	natstest.Eventually(t, "the session is there again", func() bool {
		return near.tool("ptyctl_session_exec", map[string]any{"session_id": id, "cmd": "echo here"}).Stdout == "here\n"
	})
	if n := marks(t, path); n > 2 {
		t.Errorf("two commands were done %d times", n)
	}
}

// TestNoServers: without any server of NATS each node serves its own sessions and opens new ones, and says that the
// others cannot be reached.
func TestNoServers(t *testing.T) {
	t.Parallel()
	servers := natstest.Start(t, 3)
	all := map[string]*node{}
	ids := map[string]string{}
	open := map[string]any{"action": "open", "protocol": "local", "argv": []string{"sh"}}
	for _, name := range []string{"a", "b"} {
		all[name] = start(t, lines(name, servers[0].URL))
		ids[name] = all[name].call(open).SessionID
	}
	for _, s := range servers {
		s.Kill()
	}
	for name, other := range map[string]string{"a": "b", "b": "a"} {
		n := all[name]
		if r := n.tool("ptyctl_session_exec", map[string]any{"session_id": ids[name], "cmd": "echo here"}); r.Stdout != "here\n" {
			t.Errorf("exec in a session of its own = %s", r.text)
		}
		if r := n.call(open); r.State != "open" {
			t.Errorf("open without servers = %s", r.text)
		}
		natstest.Eventually(t, "the other node is known to be unreachable", func() bool {
			r := n.gone("ptyctl_session_exec", map[string]any{"session_id": ids[other], "cmd": "echo there"}, "NODE_UNREACHABLE", "NODE_SILENT")
			return r.ErrorCode == "NODE_UNREACHABLE"
		})
	}
}

// TestNoMajority: without most of the servers a node does not say of another that it has left.
func TestNoMajority(t *testing.T) {
	t.Parallel()
	servers := natstest.Start(t, 3)
	url := strings.Join(natstest.URLs(servers), `", "`)
	conf := func(name string, more ...string) string {
		return strings.Replace(lines(name, "URLS", more...), "URLS", url, 1)
	}
	far := start(t, conf("far"))
	near := start(t, conf("near", entry))
	id := near.call(map[string]any{"action": "open", "protocol": "local", "argv": []string{"sh"}}).SessionID
	servers[0].Kill()
	servers[1].Kill()
	exec := map[string]any{"session_id": id, "cmd": "echo here"}
	natstest.Eventually(t, "the lost majority is said", func() bool {
		r := near.tool("ptyctl_session_exec", exec)
		if strings.Contains(r.Message, "has left it") {
			t.Errorf("exec = %s", r.text)
		}
		return r.ErrorCode == "NODE_UNREACHABLE" && r.Retryable && strings.Contains(r.Message, "the NATS servers do not tell the nodes of each other")
	})
	if r := far.tool("ptyctl_session_exec", exec); r.Stdout != "here\n" {
		t.Errorf("exec at the node of the session = %s", r.text)
	}
}
