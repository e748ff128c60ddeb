package wire

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"ptyctl/term"
)

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
	source, err := os.ReadFile(filepath.Join("..", "..", "term", "error.go"))
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
