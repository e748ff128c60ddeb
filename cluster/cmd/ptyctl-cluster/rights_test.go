package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"

	"ptyctl/cluster/internal/natstest"
	"ptyctl/cluster/join"
	"ptyctl/config"
	"ptyctl/mcpapi/peers"
)

// rights returns the subjects that the page for operators lists for "node" or "operator".
func rights(tb testing.TB, who, name string) (publish, subscribe []string) {
	tb.Helper()
	page, err := os.ReadFile("../../../docs/cluster.md")
	if err != nil {
		tb.Fatal(err)
	}
	_, text, _ := strings.Cut(string(page), "<!-- rights:"+who+" -->")
	text, _, found := strings.Cut(text, "<!-- /rights -->")
	if !found {
		tb.Fatalf("docs/cluster.md has no rights of %s", who)
	}
	for line := range strings.Lines(text) {
		verb, subject, _ := strings.Cut(strings.TrimSpace(line), " ")
		all := expanded(strings.NewReplacer("GROUP", "ptyctl", "NODE", name).Replace(subject))
		switch verb {
		case "publish":
			publish = append(publish, all...)
		case "subscribe":
			subscribe = append(subscribe, all...)
		}
	}
	if len(publish) == 0 || len(subscribe) == 0 {
		tb.Fatalf("docs/cluster.md lists no rights of %s", who)
	}
	return publish, subscribe
}

// TestOtherCredentials: a node with the credentials of another, or of another group, is told that it is they that do not
// suffice, and so is who asks for the status: no server is called slow, and no bucket without a majority.
func TestOtherCredentials(t *testing.T) {
	t.Parallel()
	accounts := natstest.NewAccounts(t)
	server := natstest.StartWith(t, 1, accounts.Lines)[0]
	publish, subscribe := rights(t, "node", "a")
	creds := fmt.Sprintf("credentials_file = %q", accounts.Credentials(t, publish, subscribe))
	for what, conf := range map[string]string{
		"of another node": lines("b", server.URL, creds), "of another group": lines("a", server.URL, creds, `group = "other"`),
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			says(t, conf, 1, []string{"mcp"}, "does not join its cluster", "the credentials do not suffice", "Permissions Violation")
			if _, said, code := printed(t, conf, "status"); code != 1 || strings.Contains(said, "has no leader") ||
				!strings.Contains(said, "the credentials do not suffice") {
				t.Errorf("status ends with %d and says %s", code, said)
			}
		})
	}
}

// expanded returns what a subject with one pair of braces stands for.
func expanded(subject string) (all []string) {
	head, rest, found := strings.Cut(subject, "{")
	words, tail, _ := strings.Cut(rest, "}")
	if !found {
		return []string{subject}
	}
	for word := range strings.SplitSeq(words, ",") {
		all = append(all, head+word+tail)
	}
	return all
}

// TestRights: with the rights that docs/cluster.md lists and no others two nodes do all that nodes do, and an operator
// sees and drains them; no server complains. A node can write no other node's entry, nor take its calls.
func TestRights(t *testing.T) {
	t.Parallel()
	accounts := natstest.NewAccounts(t)
	server, port := natstest.StartWith(t, 1, accounts.Lines)[0], console(t)
	creds := make(map[string]string)
	for name, who := range map[string]string{"a": "node", "b": "node", "person": "operator"} {
		publish, subscribe := rights(t, who, name)
		creds[name] = accounts.Credentials(t, publish, subscribe)
	}
	dir := t.TempDir()
	conf := func(node, as string) string {
		return lines(node, server.URL, fmt.Sprintf("credentials_file = %q", creds[as]), "max_sessions_per_host = 100",
			"[audit]", fmt.Sprintf("path = %q", filepath.Join(dir, node+".jsonl")))
	}
	all := map[string]*node{"a": start(t, conf("a", "a")), "b": start(t, conf("b", "b"))}
	on := make(map[string]string) // a session on each node
	var last, opener string       // the newest session, and the node of the client that has opened it
	for i := 0; len(on) < 2; i++ {
		r := all[[]string{"a", "b"}[i%2]].call(map[string]any{
			"action": "open", "protocol": "telnet", "host": "127.0.0.1", "port": port, "device_id": fmt.Sprintf("switch-%03d", i),
			"session_type": "console", "acquire_lock": true, "task_id": "t", "request_id": fmt.Sprintf("open-%d", i),
		})
		if r.ErrorCode != "" {
			t.Fatalf("open = %+v", r)
		}
		on[peers.NodeOf(r.SessionID)], opener = r.SessionID, []string{"a", "b"}[i%2]
		last = r.SessionID
	}
	for _, n := range all {
		for _, id := range on {
			if r := n.call(map[string]any{"action": "status", "session_id": id}); r.ErrorCode != "" {
				t.Errorf("status of %s = %+v", id, r)
			}
		}
		if r := n.call(map[string]any{"action": "list"}); r.ErrorCode != "" || len(r.Unanswered) > 0 {
			t.Errorf("list = %+v", r)
		}
	}
	if r := all[opener].call(map[string]any{"action": "close", "session_id": last, "task_id": "t"}); r.ErrorCode != "" {
		t.Errorf("close = %+v", r)
	}
	busy := map[string]string{"a": "b", "b": "a"}[peers.NodeOf(last)] // it does not end when it is drained
	says(t, conf("a", "a"), 0, []string{"status"}, "switch-0")
	says(t, conf("a", "a"), 0, []string{"status", "--anchors", "--credentials", creds["person"]}, "AUDIT LOG OF")
	says(t, conf("a", "person"), 0, []string{"status", "--anchors"}, "switch-0", "AUDIT LOG OF")
	says(t, conf("a", "person"), 0, []string{"anchors", filepath.Join(dir, "a.jsonl")}, "ok: ")
	says(t, conf("a", "person"), 0, []string{"drain", busy}, "node "+busy+" takes no new sessions")
	says(t, conf("a", "person"), 0, []string{"drain", busy, "--undo"}, "node "+busy+" takes new sessions")
	for _, n := range all {
		if err := n.client.Close(); err != nil {
			t.Fatal(err)
		}
		<-n.ended
	}
	says(t, conf("a", "person"), 0, []string{"status", "--anchors"}, "no nodes", "end")
	if complaints := server.Violations(t); len(complaints) > 0 {
		t.Fatalf("the server complains:\n%s", strings.Join(complaints, "\n"))
	}
	start(t, conf("a", "a"))
	says(t, conf("b", "b"), 1, []string{"drain", "a"}, "these credentials may not do that", "ptyctl.v1.admin.a")
	nc, err := nats.Connect(server.URL, nats.UserCredentials(creds["b"]), nats.CustomInboxPrefix("_INBOX.b"))
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	for _, subject := range []string{"$KV.ptyctl-nodes.node.a", "$KV.ptyctl-anchors.node.a", "$JS.API.STREAM.DELETE.KV_ptyctl-anchors",
		"$JS.API.STREAM.PURGE.KV_ptyctl-anchors", "ptyctl.v1.admin.a"} {
		if err := nc.Publish(subject, []byte("x")); err != nil {
			t.Fatal(err)
		}
	}
	for _, subject := range []string{"ptyctl.v1.call.a", "ptyctl.v1.call.*", "_INBOX.a.>", "_INBOX.>"} {
		if _, err := nc.SubscribeSync(subject); err != nil {
			t.Fatal(err)
		}
	}
	if err := nc.Flush(); err != nil {
		t.Fatal(err)
	}
	natstest.Eventually(t, "the server complains of each", func() bool { return len(server.Violations(t)) >= 10 })
}

// TestAccounts: the script that makes users gives them the rights of the page, also those of a node that comes later.
func TestAccounts(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	nsc := "#!/bin/sh\nif test \"$1\" = describe; then test -e known; exit; fi\n" +
		"for word in \"$@\"; do printf '%s\\n' \"$word\"; done >>said\n"
	if err := os.WriteFile(filepath.Join(dir, "nsc"), []byte(nsc), 0o700); err != nil {
		t.Fatal(err)
	}
	script, err := filepath.Abs("../../../packaging/cluster/accounts.sh")
	if err != nil {
		t.Fatal(err)
	}
	said := func(nodes ...string) []string { // the arguments of nsc
		t.Helper()
		cmd := exec.CommandContext(t.Context(), "sh", append([]string{script, "ptyctl"}, nodes...)...)
		cmd.Dir, cmd.Env = dir, []string{"PATH=" + dir + ":" + os.Getenv("PATH")}
		if text, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, text)
		}
		text, err := os.ReadFile(filepath.Join(dir, "said"))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Remove(filepath.Join(dir, "said")); err != nil {
			t.Fatal(err)
		}
		return strings.Split(string(text), "\n")
	}
	made := func(words []string, who, name string) {
		t.Helper()
		publish, subscribe := rights(t, who, name)
		for _, want := range [][]string{publish, subscribe} {
			if !slices.Contains(words, strings.Join(want, ",")) {
				t.Errorf("no user is made with the rights %q of %s; nsc was given\n%q", want, name, words)
			}
		}
		if i, err := os.Stat(filepath.Join(dir, name+".creds")); err != nil || i.Mode() != 0o600 {
			t.Errorf("the credentials of %s: %v, %v; want a file of its user alone", name, i, err)
		}
	}
	words, buckets := said("node-1", "node-2"), len(join.Buckets(config.Cluster{}))
	if i := slices.Index(words, "--js-streams"); i < 0 || words[i+1] != strconv.Itoa(buckets) {
		t.Errorf("the account may not have the %d streams of the nodes' buckets: nsc was given\n%q", buckets, words)
	}
	for name, who := range map[string]string{"node-1": "node", "node-2": "node", "operator": "operator"} {
		made(words, who, name)
	}
	if err := os.WriteFile(filepath.Join(dir, "known"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	words = said("node-3")
	made(words, "node", "node-3")
	if slices.Contains(words, "config") || slices.Contains(words, "operator") {
		t.Errorf("with an account that is there nsc was given\n%q", words)
	}
}
