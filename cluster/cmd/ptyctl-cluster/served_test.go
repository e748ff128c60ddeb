package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"ptyctl/audit"
	"ptyctl/cluster/internal/natstest"
	"ptyctl/mcpapi/peers"
)

// get returns the status and the body of an answer.
func get(tb testing.TB, url string) (int, string) {
	tb.Helper()
	r, err := http.Get(url)
	if err != nil {
		tb.Fatal(err)
	}
	defer r.Body.Close()
	text, err := io.ReadAll(r.Body)
	if err != nil {
		tb.Fatal(err)
	}
	return r.StatusCode, string(text)
}

var servingAt = regexp.MustCompile(`serving MCP at (http://[^/]+)/mcp`)

// TestBalancer: a node that drains, or has lost the servers, is not ready but alive, and says why. Its metrics describe
// the cluster.
func TestBalancer(t *testing.T) {
	t.Parallel()
	server, port := natstest.Start(t, 1)[0], console(t)
	conf := lines("a", server.URL, "[server]", `transport = "both"`, "[server.http]", `listen = "127.0.0.1:0"`)
	a, b := start(t, conf), start(t, lines("b", server.URL))
	at := servingAt.FindStringSubmatch(a.process.log.String())
	if at == nil {
		t.Fatalf("the node does not say where it serves:\n%s", a.process.log)
	}
	base := at[1]
	is := func(path string, status int, want string) {
		t.Helper()
		if got, text := get(t, base+path); got != status || !strings.Contains(text, want) {
			t.Errorf("GET %s = %d %s, want %d and %q", path, got, text, status, want)
		}
	}
	is("/healthz", 200, "ok")
	is("/readyz", 200, "ok")
	var far result
	for i := 0; peers.NodeOf(far.SessionID) != "b"; i++ {
		far = a.open(fmt.Sprintf("switch-%03d", i), port)
		if far.ErrorCode != "" {
			t.Fatalf("open = %+v", far)
		}
	}
	if r := b.open("switch-000", port); r.ErrorCode != "" {
		t.Fatalf("open at b = %+v", r)
	}
	_, text := get(t, base+"/metrics")
	for _, want := range []string{
		`ptyctl_cluster_nodes{state="live"} 2`, `ptyctl_cluster_nodes{state="silent"} 0`, "ptyctl_cluster_connected 1\n",
		"ptyctl_cluster_registered 1\n", "ptyctl_cluster_draining 0\n", `ptyctl_cluster_anchors_total{outcome="ok"} 0`,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the metrics do not have %s", want)
		}
	}
	for _, want := range []string{
		`(?m)^ptyctl_cluster_forwarded_seconds_count{outcome="ok"} [1-9]`, `(?m)^ptyctl_cluster_served_seconds_count{outcome="ok"} \d`,
		`(?m)^ptyctl_cluster_leases \d`,
	} {
		if !regexp.MustCompile(want).MatchString(text) {
			t.Errorf("the metrics have no line %s:\n%s", want, text)
		}
	}
	says(t, lines("a", server.URL), 0, []string{"drain", "b"}, "takes no new sessions")
	natstest.Eventually(t, "a sees that b drains", func() bool {
		_, text := get(t, base+"/metrics")
		return strings.Contains(text, `ptyctl_cluster_nodes{state="draining"} 1`)
	})
	r := a.open("switch-900", port) // so that a does not end at once
	if peers.NodeOf(r.SessionID) != "a" {
		t.Fatalf("open = %+v, want it on a", r)
	}
	says(t, lines("a", server.URL), 0, []string{"drain"}, "node a takes no new sessions")
	is("/healthz", 200, "ok")
	is("/readyz", 503, "drained")
	says(t, lines("a", server.URL), 0, []string{"drain", "--undo"}, "node a takes new sessions")
	is("/readyz", 200, "ok")
	server.Kill()
	natstest.Eventually(t, "a has lost the servers", func() bool { status, _ := get(t, base+"/readyz"); return status == 503 })
	is("/readyz", 503, "no connection to the NATS servers")
	is("/healthz", 200, "ok")
	if _, text := get(t, base+"/metrics"); !strings.Contains(text, "ptyctl_cluster_connected 0\n") {
		t.Errorf("the metrics say that there is a connection:\n%s", text)
	}
}

// entries returns the lines of an audit log.
func entries(tb testing.TB, path string) (all []audit.Entry) {
	tb.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		tb.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		var e audit.Entry
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			tb.Fatal(err)
		}
		all = append(all, e)
	}
	return all
}

// TestAudit: each node has its own log, with its name in each line, and the name of the node that a caller is connected
// to. The cluster keeps the ends of the logs, and they show that a log was cut.
func TestAudit(t *testing.T) {
	t.Parallel()
	url, port := natstest.Start(t, 1)[0].URL, console(t)
	dir := t.TempDir()
	log := func(node string) string { return filepath.Join(dir, node+".jsonl") }
	conf := func(node string) string { return lines(node, url, "[audit]", fmt.Sprintf("path = %q", log(node))) }
	all := map[string]*node{"a": start(t, conf("a")), "b": start(t, conf("b"))}
	here := all["a"].open("switch-001", port)
	owner := peers.NodeOf(here.SessionID)
	entry := map[string]string{"a": "b", "b": "a"}[owner]
	if all[owner] == nil {
		t.Fatalf("open = %+v", here)
	}
	for _, at := range []string{entry, owner} {
		want := "" // of the client that has opened it
		if at != "a" {
			want = "LOCKED"
		}
		if r := all[at].call(map[string]any{"action": "lock", "session_id": here.SessionID, "task_id": "t"}); r.ErrorCode != want {
			t.Fatalf("lock at %s = %+v, want %q", at, r, want)
		}
	}
	says(t, conf(owner), 0, []string{"anchors", log(owner)}, "have all 1 ends that are kept of node "+owner)
	if err := all[owner].client.Close(); err != nil {
		t.Fatal(err)
	}
	<-all[owner].ended
	if !slices.ContainsFunc(entries(t, log(owner)), func(e audit.Entry) bool {
		return e.Event == "lock" && e.Node == owner && e.Actor.Node == entry
	}) || !slices.ContainsFunc(entries(t, log(owner)), func(e audit.Entry) bool {
		return e.Event == "lock" && e.Node == owner && e.Actor.Node == ""
	}) {
		text, _ := os.ReadFile(log(owner))
		t.Errorf("the log of %s has no lock of each node's caller:\n%s", owner, text)
	}
	says(t, conf(entry), 0, []string{"status", "--anchors"}, "AUDIT LOG OF", "start", "end")
	says(t, conf(entry), 0, []string{"anchors", "--node", owner, log(owner)}, "have all 2 ends")
	says(t, conf(entry), 1, []string{"anchors", "--node", "c", log(owner)}, "no end of the audit log of node c is kept")
	text, err := os.ReadFile(log(owner))
	if err != nil {
		t.Fatal(err)
	}
	whole := strings.SplitAfter(string(text), "\n")
	cut := strings.Join(whole[:len(whole)-3], "") // whole lines, so that the chain itself is whole
	if err := os.WriteFile(log(owner), []byte(cut), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := audit.Verify("", log(owner)); err != nil {
		t.Errorf("the log that was cut shows it by itself: %v", err)
	}
	says(t, conf(entry), 1, []string{"anchors", "--node", owner, log(owner)}, "was cut, written anew, or is another node's")
}
