package main

import (
	"bytes"
	"crypto/ecdh"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"ptyctl/cluster/internal/natstest"
	"ptyctl/cluster/nodes"
	"ptyctl/mcpapi/peers"
)

// printed runs a command of the program, and returns its output and exit status.
func printed(tb testing.TB, lines string, args ...string) (stdout, stderr string, code int) {
	tb.Helper()
	cmd := program(tb, lines, args...)
	var out, said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &said
	err := cmd.Run()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		code = exit.ExitCode()
	} else if err != nil {
		tb.Fatal(err)
	}
	return out.String(), said.String(), code
}

// says fails unless a command ends with a status and prints the texts, to stdout or, if it fails, to stderr.
func says(tb testing.TB, lines string, status int, args []string, texts ...string) string {
	tb.Helper()
	stdout, stderr, code := printed(tb, lines, args...)
	if code != status {
		tb.Fatalf("%q ends with status %d, want %d; it says\n%s%s", args, code, status, stdout, stderr)
	}
	said := stdout
	if status != 0 {
		said = stderr
	}
	for _, text := range texts {
		if !strings.Contains(said, text) {
			tb.Errorf("%q says\n%s\nwant %q", args, said, text)
		}
	}
	return stdout
}

// A nodeLine is a node of status --json.
type nodeLine struct {
	Name, State        string
	Sessions, Consoles int
	Draining           bool
}

// A clusterStatus is the part of status --json that the tests look at.
type clusterStatus struct {
	Nodes    []nodeLine
	Consoles []struct {
		Device string `json:"device_id"`
		Node   string
	}
	Buckets  []struct{ Name, State, Leader string }
	Problems []string
}

// statusOf runs status --json.
func statusOf(tb testing.TB, lines string) (s clusterStatus, code int) {
	tb.Helper()
	stdout, stderr, code := printed(tb, lines, "status", "--json")
	if err := json.Unmarshal([]byte(stdout), &s); err != nil {
		tb.Fatalf("status --json: %v, status %d\n%s%s", err, code, stdout, stderr)
	}
	return s, code
}

// TestDrain is a rolling upgrade: a node is drained while a session lives there. New sessions go to the other node, the
// old one works on through both, and when it is closed the process ends by itself, with status 0. A node of the same name
// can then be started.
func TestDrain(t *testing.T) {
	t.Parallel()
	url, port := natstest.Start(t, 1)[0].URL, console(t)
	all := map[string]*node{"a": start(t, lines("a", url)), "b": start(t, lines("b", url))}
	conf := lines("a", url)
	says(t, conf, 1, []string{"drain", "c"}, `there is no node "c"`, "these are: a, b")
	first, device, old, other := result{}, "", "b", "a"
	for i := 100; peers.NodeOf(first.SessionID) != old; i++ { // that one is not at the node of its client
		if first.SessionID != "" {
			all["a"].call(map[string]any{"action": "close", "session_id": first.SessionID, "task_id": "t"})
		}
		device = fmt.Sprintf("switch-%d", i)
		if first = all["a"].open(device, port); first.ErrorCode != "" {
			t.Fatalf("open = %+v", first)
		}
	}
	natstest.Eventually(t, "status has the console", func() bool {
		s, code := statusOf(t, conf)
		return code == 0 && len(s.Nodes) == 2 && len(s.Consoles) == 1 && s.Consoles[0].Device == device && s.Consoles[0].Node == old
	})
	says(t, conf, 0, []string{"status"}, device, "ptyctl-devices", "live", first.SessionID)
	says(t, conf, 0, []string{"drain", old}, "node "+old+" takes no new sessions, and ends when its last one has ended: 1 session left, 1 console")
	says(t, conf, 0, []string{"drain", old}, "1 session left") // idempotent
	says(t, conf, 0, []string{"drain", old, "--undo"}, "node "+old+" takes new sessions")
	says(t, conf, 0, []string{"drain", old}, "1 session left")
	natstest.Eventually(t, "status says that it drains", func() bool {
		s, code := statusOf(t, conf)
		return code == 0 && slices.ContainsFunc(s.Nodes, func(n nodeLine) bool { return n.Name == old && n.Draining })
	})
	for i, device := range []string{"switch-002", "switch-003", "switch-004", "switch-005"} {
		at := []string{"a", "b"}[i%2]
		if r := all[at].open(device, port); peers.NodeOf(r.SessionID) != other {
			t.Errorf("open of %s at %s = %+v, want it on %s", device, at, r, other)
		}
	}
	for _, at := range []string{"a", "b"} {
		if r := all[at].call(map[string]any{"action": "status", "session_id": first.SessionID}); r.ErrorCode != "" {
			t.Errorf("status of the old session at %s = %+v", at, r)
		}
	}
	if r := all[other].call(map[string]any{"action": "close", "session_id": first.SessionID, "task_id": "t"}); r.ErrorCode != "" {
		t.Fatalf("close of the old session at %s = %+v", other, r)
	}
	<-all[old].ended
	if code := all[old].cmd.ProcessState.ExitCode(); code != 0 {
		t.Errorf("the drained node has ended with status %d, want 0; it has logged\n%s", code, all[old].process.log)
	}
	s, code := statusOf(t, conf)
	if code != 0 || len(s.Nodes) != 1 || s.Nodes[0].Name != other {
		t.Errorf("status after the end = %d, %+v, want %s alone", code, s, other)
	}
	again := start(t, lines(old, url))
	if r := again.call(map[string]any{"action": "list"}); r.ErrorCode != "" {
		t.Errorf("list at the new node %s = %+v", old, r)
	}
	says(t, conf, 0, []string{"drain", old, "--wait"}, "has none, and ends") // an empty node ends at once
	<-again.ended
}

// TestStatusOfFaults: status and drain report each fault, with status 1.
func TestStatusOfFaults(t *testing.T) {
	t.Parallel()
	server := natstest.Start(t, 1)[0]
	conf := lines("a", server.URL)
	says(t, conf, 1, []string{"status"}, "there is no such group", "bucket ptyctl-devices is missing")
	a := start(t, conf)
	a.kill()
	says(t, conf, 1, []string{"anchors", "/no/such/file"}, "no node of the group has kept the end of an audit log")
	natstest.Eventually(t, "the killed node is silent", func() bool {
		s, code := statusOf(t, conf)
		return code == 1 && len(s.Problems) == 1 && strings.Contains(s.Problems[0], "node a is silent: it was heard of")
	})
	says(t, conf, 1, []string{"drain"}, "node a is silent since")
	server.Kill()
	says(t, conf, 1, []string{"status"}, "no NATS server can be reached", server.URL)
	says(t, conf, 1, []string{"drain"}, "no NATS server can be reached")
	says(t, "", 2, []string{"drain"}, "names no cluster")
	says(t, conf, 2, []string{"drain", "a", "b"}, "does not take")
}

// TestStatusWithoutMajority: status reports a bucket without a majority of its servers, although a server answers.
func TestStatusWithoutMajority(t *testing.T) {
	t.Parallel()
	servers := natstest.Start(t, 3)
	conf := strings.Replace(lines("a", "URLS"), "URLS", strings.Join(natstest.URLs(servers), `", "`), 1)
	start(t, conf)
	natstest.Eventually(t, "all buckets have leaders", func() bool {
		s, code := statusOf(t, conf)
		return code == 0 && s.Buckets[0].Leader != ""
	})
	servers[0].Kill()
	servers[1].Kill()
	natstest.Eventually(t, "the majority is gone", func() bool {
		s, code := statusOf(t, conf)
		return code == 1 && slices.Contains(s.Problems, "bucket ptyctl-devices has no leader: most of the servers that keep it "+
			"are down or cut off from each other")
	})
}

// TestTwoVersions: a node that speaks only later numbers of the protocol gets no sessions and no calls of this one, and
// both are said.
func TestTwoVersions(t *testing.T) {
	t.Parallel()
	url, port := natstest.Start(t, 1)[0].URL, console(t)
	a := start(t, lines("a", url))
	nc, err := nats.Connect(url)
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	other, err := ecdh.X25519().GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	r, err := nodes.Join(t.Context(), nodes.Options{Conn: nc}, nodes.Node{
		Name: "later", Version: "v9.0.0", WireMin: 7, WireMax: 8, Key: other.PublicKey().Bytes(), Started: time.Now(),
	})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = r.Leave(t.Context()) }()
	natstest.Eventually(t, "a knows the other node", func() bool {
		r := a.call(map[string]any{"action": "status", "session_id": "web1-aaaaaaaa@later"})
		return r.ErrorCode == "NODE_UNREACHABLE" && r.Retryable && strings.Contains(r.Message, "with the numbers 7 to 8, and this node with 1")
	})
	for _, device := range []string{"switch-001", "switch-002", "switch-003", "switch-004", "switch-005", "switch-006"} {
		if r := a.open(device, port); peers.NodeOf(r.SessionID) != "a" {
			t.Errorf("open of %s = %+v, want it on a", device, r)
		}
	}
	says(t, lines("a", url), 1, []string{"status"}, "nodes a and later have no number of the protocol in common (1 to 1, 7 to 8)")
}

// TestSessionsOfAll: people at the control socket of a node see its sessions, and with --cluster those of all nodes, or
// which of those do not answer.
func TestSessionsOfAll(t *testing.T) {
	t.Parallel()
	url, port := natstest.Start(t, 1)[0].URL, console(t)
	dir, err := os.MkdirTemp("", "s") //nolint:usetesting // short, for the path of a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	conf := strings.Replace(lines("a", url), `control_mode = "disabled"`, `control_socket_path = "`+filepath.Join(dir, "sock")+`"`, 1)
	a, b := start(t, conf), start(t, lines("b", url))
	var ids []string
	on := make(map[string]int)
	for _, device := range []string{"switch-001", "switch-002", "switch-003", "switch-004", "switch-005", "switch-006", "switch-007"} {
		r := a.open(device, port)
		ids = append(ids, r.SessionID)
		on[peers.NodeOf(r.SessionID)]++
	}
	if on["a"] == 0 || on["b"] == 0 {
		t.Fatalf("the sessions are on %v, want both nodes", on)
	}
	listed := func(text string) (all []string) {
		for _, id := range ids {
			if strings.Contains(text, id) {
				all = append(all, id)
			}
		}
		return all
	}
	if here := listed(says(t, conf, 0, []string{"sessions"})); len(here) != on["a"] {
		t.Errorf("sessions shows %q of %q, want those of a", here, ids)
	}
	if all := listed(says(t, conf, 0, []string{"sessions", "--cluster"})); len(all) != len(ids) {
		t.Errorf("sessions --cluster shows %q, want %q", all, ids)
	}
	b.kill()
	if here := listed(says(t, conf, 1, []string{"sessions", "--cluster"}, "1 node gave no answer", ": b")); len(here) != on["a"] {
		t.Errorf("sessions --cluster without b shows %q of %q, want those of a", here, ids)
	}
	says(t, conf, 2, []string{"sessions", "--cluster", "--all"}, "exclude each other")
}
