package fleetrun

import (
	"encoding/json"
	"os"
	"testing"

	"ptyctl/internal/leaktest"
)

func TestMain(m *testing.M) { os.Exit(leaktest.Main(m)) }

// A run that takes several calls has the same result as one that takes one.
func TestCompletes(t *testing.T) {
	last := result{Action: "status", raw: json.RawMessage(`{"action":"status","hosts":2,"groups":[{"stdout":"\"action\":\"status\""}]}` + "\n")}
	last.completes(result{Action: "run", Warnings: []string{"a \"note\""}})
	want := `{"action":"run","hosts":2,"groups":[{"stdout":"\"action\":\"status\""}],"warnings":["a \"note\""]}`
	if string(last.raw) != want || len(last.Warnings) != 1 {
		t.Errorf("the result of a second call is %s, %q; want %s", last.raw, last.Warnings, want)
	}
	last.completes(result{Action: "run", Warnings: []string{"again"}})
	if string(last.raw) != want {
		t.Errorf("the result of the only call is %s, want it as it was: %s", last.raw, want)
	}
}
