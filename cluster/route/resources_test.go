package route_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"ptyctl/cluster/internal/natstest"
)

// TestListAsResource: the resource of all sessions has those of other nodes, and names the nodes that do not answer.
func TestListAsResource(t *testing.T) {
	url := natstest.URLs(natstest.Start(t, 1))[0]
	all := &directory{keys: make(map[string][]byte)}
	a, stopA := start(t, all, connect(t, url), "fra1")
	b, _ := start(t, all, connect(t, url), "ams2")
	want := []string{}
	for _, n := range []*node{a, b} {
		want = append(want, ok(t, client(t, n), "ptyctl_session", `{"action":"open","protocol":"local","argv":["cat"]}`).SessionID)
	}
	slices.Sort(want)
	list := func() (ids, unanswered []string) {
		t.Helper()
		text, err := json.Marshal(b.server.Protocol().HandleMessage(t.Context(), json.RawMessage(
			`{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"ptyctl://sessions"}}`)))
		if err != nil {
			t.Fatal(err)
		}
		var answer struct {
			Result struct{ Contents []struct{ Text string } }
		}
		if err := json.Unmarshal(text, &answer); err != nil || len(answer.Result.Contents) != 1 {
			t.Fatalf("%v: %s", err, text)
		}
		var l struct {
			Sessions []struct {
				ID string `json:"session_id"`
			}
			Unanswered []string `json:"unanswered_nodes"`
		}
		if err := json.Unmarshal([]byte(answer.Result.Contents[0].Text), &l); err != nil {
			t.Fatal(err)
		}
		for _, s := range l.Sessions {
			ids = append(ids, s.ID)
		}
		slices.Sort(ids)
		return ids, l.Unanswered
	}
	if ids, unanswered := list(); !slices.Equal(ids, want) || len(unanswered) > 0 {
		t.Errorf("it has %q, want %q; without an answer are %q", ids, want, unanswered)
	}
	stopA()
	if ids, unanswered := list(); len(ids) != 1 || fmt.Sprint(unanswered) != "[fra1]" {
		t.Errorf("with one node less it has %q, and without an answer are %q", ids, unanswered)
	}
}
