package mcpapi

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"ptyctl/term"
)

func TestJSONRPCErrors(t *testing.T) {
	l, srv := newLabServer(t, labConfig{options: Options{JSONRPCErrors: true}})
	l.agent = newAgent(t, srv, "")
	for args, want := range map[string]struct {
		code int
		kind term.Kind
	}{
		`{"action":"status","session_id":"nowhere-1"}`: {1010, term.NotFound},
		`{"action":"open"}`:                            {-32602, term.InvalidArgument},
		`{"action":"open","protocol":"ssh","host":"127.0.0.1","port":1,"username":"u","timeouts":{"connect_timeout_ms":5000}}`: {1001, term.ConnectFailed},
	} {
		got := l.request("tools/call", l.params(sessionTool.Name, args))
		if got.Result != nil || got.Error == nil || got.Error.Code != want.code || got.Error.Message == "" {
			t.Errorf("%s: %s, %+v", args, got.Result, got.Error)
			continue
		}
		var data reply
		if err := json.Unmarshal(got.Error.Data, &data); err != nil || data.ErrorCode != want.kind ||
			data.Message != got.Error.Message ||
			data.Retryable != want.kind.Retryable() {
			t.Errorf("%s: data is %s", args, got.Error.Data)
		}
	}
	// What does not fail is a result as ever, and so is a command that ends badly.
	l.open("")
	if r := l.ok(execTool.Name, `{"session_id":"$S","cmd":"exit 3"}`); *r.ExitCode != 3 {
		t.Errorf("a command that ends badly: %s", r.text)
	}
}

// TestJSONRPCCodes: each kind has one code of its own.
func TestJSONRPCCodes(t *testing.T) {
	seen := make(map[int]term.Kind)
	for kind, code := range rpcCodes {
		if other, taken := seen[code]; taken {
			t.Errorf("%s and %s have the code %d", kind, other, code)
		}
		seen[code] = kind
		if code <= -32000 && code >= -32768 && kind != term.InvalidArgument && kind != term.Internal {
			t.Errorf("%s has %d, which is JSON-RPC's own", kind, code)
		}
	}
	if rpcCodes[term.AuthFailed] != 1002 {
		t.Errorf("AUTH_FAILED is %d", rpcCodes[term.AuthFailed])
	}
	source, err := os.ReadFile(filepath.Join("..", "term", "error.go"))
	if err != nil {
		t.Fatal(err)
	}
	kinds := regexp.MustCompile(`Kind = "([A-Z_]+)"`).FindAllSubmatch(source, -1)
	if len(kinds) < 20 {
		t.Fatalf("only %d kinds are declared", len(kinds))
	}
	for _, k := range kinds {
		if rpcCodes[term.Kind(k[1])] == 0 {
			t.Errorf("%s has no code", k[1])
		}
	}
}
