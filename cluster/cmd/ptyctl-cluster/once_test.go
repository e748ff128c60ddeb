package main

import (
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"ptyctl/cluster/internal/natstest"
	"ptyctl/mcpapi/peers"
)

// TestOnce: a call with a request_id is done once, at whichever nodes it is repeated. After the node that had it was
// killed no other does it again.
func TestOnce(t *testing.T) {
	t.Parallel()
	url, host, dir := natstest.Start(t, 1)[0].URL, sshHost(t, "accept_new"), t.TempDir()
	all := map[string]*served{
		"a": serve(t, host+httpLines(t, "a", url)), "c": serve(t, host+httpLines(t, "c", url)),
		"near": serve(t, host+httpLines(t, "near", url, entry)),
	}
	at := make(map[string]*caller)
	for name, n := range all {
		at[name] = n.dial(t, opsToken)
	}
	executed, opened := filepath.Join(dir, "executed"), filepath.Join(dir, "opened")
	exec := map[string]any{"host": "far1", "cmd": "echo x >> " + executed + "; echo $$", "request_id": "deploy-1"}
	open := map[string]any{
		"action": "open", "protocol": "local", "argv": []string{"sh", "-c", "echo x >> " + opened + "; exec sleep 600"}, "request_id": "open-1",
	}
	first, session := at["near"].tool("ptyctl_session_exec", exec), at["near"].call(open)
	if first.Stdout == "" || session.SessionID == "" {
		t.Fatalf("exec = %s; open = %s", first.text, session.text)
	}
	for name, c := range at {
		if r := c.tool("ptyctl_session_exec", exec); r.Stdout != first.Stdout || r.SessionID != first.SessionID {
			t.Errorf("exec again at %s = %s, want %s", name, r.text, first.text)
		}
		if r := c.call(open); r.SessionID != session.SessionID {
			t.Errorf("open again at %s = %s, want %s", name, r.text, session.text)
		}
	}
	// Another token's request has the same name and is another.
	other := all["near"].dial(t, otherToken)
	if r := other.tool("ptyctl_session_exec", exec); r.Stdout == first.Stdout || r.Stdout == "" {
		t.Errorf("exec of another token = %s, want one of its own", r.text)
	}
	natstest.Eventually(t, "the session has begun", func() bool { return marks(t, opened) == 1 })
	if n := marks(t, executed); n != 2 {
		t.Errorf("the commands of two tokens were done %d times", n)
	}
	for _, again := range []struct {
		owner, tool string
		arguments   map[string]any
	}{
		{peers.NodeOf(first.SessionID), "ptyctl_session_exec", exec},
		{peers.NodeOf(session.SessionID), "ptyctl_session", open},
	} {
		if all[again.owner] == nil || again.owner == "near" {
			t.Fatalf("%s was done at node %q", again.tool, again.owner)
		}
		all[again.owner].kill()
		for name, c := range at {
			if !all[name].alive() {
				continue
			}
			if r := c.tool(again.tool, again.arguments); r.ErrorCode != "NODE_UNREACHABLE" && r.ErrorCode != "NODE_SILENT" {
				t.Errorf("%s again at %s after the kill of %s = %s, want that it cannot be reached", again.tool, name, again.owner, r.text)
			}
		}
	}
	if executed, opened := marks(t, executed), marks(t, opened); executed != 2 || opened != 1 {
		t.Errorf("after the kill the commands of two tokens were done %d times, and the session was opened %d times", executed, opened)
	}
}

// TestOnceRestarted: the process that had a request remembers what it did, and a later one of the same node does not, so
// that a repetition is not done again there.
func TestOnceRestarted(t *testing.T) {
	t.Parallel()
	url, host, dir := natstest.Start(t, 1)[0].URL, sshHost(t, "accept_new"), t.TempDir()
	conf := host + httpLines(t, "a", url)
	a, near := serve(t, conf), serve(t, host+httpLines(t, "near", url, entry))
	at := near.dial(t, opsToken)
	executed, opened := filepath.Join(dir, "executed"), filepath.Join(dir, "opened")
	exec := map[string]any{"host": "far1", "cmd": "echo x >> " + executed, "request_id": "deploy-1"}
	open := map[string]any{
		"action": "open", "protocol": "local", "argv": []string{"sh", "-c", "echo x >> " + opened + "; exec sleep 600"}, "request_id": "open-1",
	}
	if r := at.tool("ptyctl_session_exec", exec); r.ErrorCode != "" {
		t.Fatalf("exec = %s", r.text)
	}
	if r := at.call(open); r.ErrorCode != "" {
		t.Fatalf("open = %s", r.text)
	}
	natstest.Eventually(t, "the session has begun", func() bool { return marks(t, opened) == 1 })
	_ = a.cmd.Process.Signal(syscall.SIGTERM) // so that its name is free at once
	<-a.ended
	lost := func(c *caller, code, what string) {
		t.Helper()
		for tool, arguments := range map[string]map[string]any{"ptyctl_session_exec": exec, "ptyctl_session": open} {
			if r := c.tool(tool, arguments); r.ErrorCode != code || !strings.Contains(r.Message, what) || strings.Contains(r.Message, "nothing was done") {
				t.Errorf("%s again = %s, want %s and %q", tool, r.text, code, what)
			}
		}
	}
	natstest.Eventually(t, "the others know that the node has left", func() bool {
		return !strings.Contains(at.tool("ptyctl_session_exec", exec).Message, "nothing was done")
	})
	lost(at, "NODE_UNREACHABLE", "whether the request was done is known there alone")
	a = serve(t, conf)
	here := a.dial(t, opsToken)
	lost(here, "NODE_SILENT", "has begun anew since")
	natstest.Eventually(t, "the others know the node again", func() bool { return at.tool("ptyctl_session_exec", exec).ErrorCode == "NODE_SILENT" })
	lost(at, "NODE_SILENT", "has begun anew since")
	if executed, opened := marks(t, executed), marks(t, opened); executed != 1 || opened != 1 {
		t.Errorf("the command was done %d times, and the session was opened %d times", executed, opened)
	}
	open["request_id"] = "open-2"
	if r := at.call(open); r.ErrorCode != "" {
		t.Errorf("open with another request_id = %s", r.text)
	}
}
