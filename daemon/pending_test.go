package daemon

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"ptyctl/mcpapi/jsonrpc"
)

// Each request is known by its id until it is answered or cancelled, however the line is written.
func TestPending(t *testing.T) {
	for _, test := range []struct {
		name         string
		asks, settle []string
		want         string // ids that are open at the end, and whether they are calls of tools
	}{
		{"a call", []string{`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{}}`}, nil, "1 true"},
		{"another request", []string{`{"id":"a","method":"ping"}`}, nil, `"a" false`},
		{"answered", []string{`{"id":1,"method":"tools/call"}`}, []string{`{"jsonrpc":"2.0","id":1,"result":{"id":2}}`}, ""},
		{"answered with an error", []string{`{"id":"x\"y","method":"a"}`}, []string{`{"jsonrpc":"2.0","id":"x\"y","error":{}}`}, ""},
		{"answered in another order", []string{`{"id":1,"method":"a"}`}, []string{`{"result":{},"id":1,"jsonrpc":"2.0"}`}, ""},
		{"answered in a batch", []string{`[{"id":1,"method":"a"},{"id":2,"method":"tools/call"}]`}, []string{`[{"jsonrpc":"2.0","id":2,"result":{}}]`}, "1 false"},
		{"a request of the daemon", []string{`{"id":1,"method":"a"}`}, []string{`{"jsonrpc":"2.0","id":1,"method":"elicitation/create"}`}, "1 false"},
		{"a number is no string", []string{`{"id":1,"method":"a"}`}, []string{`{"jsonrpc":"2.0","id":"1","result":{}}`}, "1 false"},
		{"a notification", []string{`{"method":"notifications/initialized"}`}, nil, ""},
		{"cancelled", []string{`{"id":7,"method":"tools/call"}`, `{"method":"notifications/cancelled","params":{"requestId":7}}`}, nil, ""},
		{"an answer of the client", []string{`{"id":3,"result":{}}`}, nil, ""},
		{"nonsense", []string{"", "x", "[", `{"id":`, "\xff"}, []string{"", "x", "[]", "{", plainStart, plainStart + `"`}, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			p := pending{open: make(map[string]request)}
			for _, line := range test.asks {
				if _, lost := p.ask([]byte(line + "\n")); lost {
					t.Fatalf("ask(%q) says that the daemon is lost", line)
				}
			}
			for _, line := range test.settle {
				p.settle([]byte(line + "\n"))
			}
			var open []string
			for _, r := range p.lose() {
				open = append(open, fmt.Sprintf("%s %t", r.id, r.call))
			}
			if got := strings.Join(open, ", "); got != test.want {
				t.Errorf("open after %q and %q: %s, want %s", test.asks, test.settle, got, test.want)
			}
			if again, lost := p.ask([]byte(`{"id":9,"method":"tools/call"}`)); !lost || len(again) != 1 {
				t.Errorf("ask after the loss = %v, %t, want the request", again, lost)
			}
		})
	}
}

// FuzzAnswers compares the short way of reading an answer with package encoding/json.
func FuzzAnswers(f *testing.F) {
	for _, s := range []string{`1,"result":{}}`, `"a\\\"b","error":{}}`, `1,"method":"x"}`, `-5,"result":[1,{"id":2}]}`, `{},"result":1}`} {
		f.Add([]byte(plainStart + s))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		requestsOf(line)
		ids := answersOf(line)
		var m struct {
			ID     json.RawMessage  `json:"id"`
			Method *json.RawMessage `json:"method"`
		}
		if !json.Valid(line) || json.Unmarshal(line, &m) != nil || strings.Count(string(line), `"id"`) != 1 || m.Method != nil {
			return
		}
		if len(ids) != 1 {
			return // for example a name in other letters
		}
		got, ok := jsonrpc.IDKey(ids[0])
		want, wanted := jsonrpc.IDKey(m.ID)
		if ok && wanted && got != want {
			t.Errorf("answersOf(%q) = %s, want %s", line, ids[0], m.ID)
		}
	})
}
