package main

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"

	"ptyctl/cluster/internal/natstest"
	"ptyctl/cluster/nodes"
)

// TestForgedForOperator: JetStream lets a node write in another node's name. An operator sees such writes: an end of an
// audit log, which is left out of the comparison, and an entry of the registry.
func TestForgedForOperator(t *testing.T) {
	t.Parallel()
	accounts := natstest.NewAccounts(t)
	url, dir := natstest.StartWith(t, 1, accounts.Lines)[0].URL, t.TempDir()
	creds := make(map[string]string)
	for name, who := range map[string]string{"a": "node", "person": "operator"} {
		publish, subscribe := rights(t, who, name)
		creds[name] = accounts.Credentials(t, publish, subscribe)
	}
	log := filepath.Join(dir, "a.jsonl")
	conf := func(as string) string {
		return lines("a", url, fmt.Sprintf("credentials_file = %q", creds[as]), "[audit]", fmt.Sprintf("path = %q", log))
	}
	start(t, conf("a"))
	natstest.Eventually(t, "the end of the log is kept", func() bool {
		_, _, code := printed(t, conf("person"), "anchors", log)
		return code == 0
	})
	if out := says(t, conf("person"), 0, []string{"anchors", log}, "have all 1 ends that are kept of node a"); strings.Contains(out, "warning") {
		t.Errorf("anchors says %s, want no warning", out)
	}
	nc, err := nats.Connect(url, nats.UserCredentials(accounts.Credentials(t, nil, nil))) // as JetStream may write
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	put := func(subject string, v any) {
		t.Helper()
		text, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := nc.Request(subject, text, 10e9); err != nil {
			t.Fatal(err)
		}
	}
	put("$KV.ptyctl-anchors.node.a", map[string]any{"node": "a", "why": "day", "file": 1, "bytes": 1, "hash": strings.Repeat("0", 64)})
	says(t, conf("person"), 0, []string{"anchors", log}, "have all 1 ends that are kept of node a", "1 more may be another node's words")
	says(t, conf("person"), 1, []string{"status", "--anchors"}, "1 of the ends of audit logs may be another node's words")
	put("$KV.ptyctl-nodes.node.evil", struct {
		Format int    `json:"v"`
		ID     string `json:"id"`
		nodes.Node
	}{1, "x", nodes.Node{Name: "evil", Version: "1", WireMin: 1, WireMax: 1, Key: make([]byte, 32)}})
	says(t, conf("person"), 1, []string{"status"}, "the entry of node evil may be another node's words", "no proof of its node")
}
