package mcpapi_test

import (
	"strings"
	"testing"

	"ptyctl/mcpapi"
	"ptyctl/mcpapi/internal/mcptest"
	"ptyctl/session"
)

// A wrong call with protocol local is answered with a call with protocol local.
func TestLocalMistakesHaveLocalExamples(t *testing.T) {
	const local, far = `"protocol":"local","argv":["bash"]`, `"protocol":"ssh"`
	for args, want := range map[string]string{
		`{"action":"open","protocol":"local"}`:                               local,
		`{"action":"open","protocol":"local","host":"x","argv":["bash"]}`:    local,
		`{"action":"open","protocol":"local","argv":"bash -l"}`:              local,
		`{"action":"open","argv":["bash"],"cols":80,"protocol":"local"}`:     local,
		`{"action":"open","protocol":"local","argv":["a"],"limits":{"x":1}}`: local,
		`{"action":"open","protocol":"ssh"}`:                                 far,
		`{"action":"open","protocol":"ssh","host":"x","cols":80}`:            far,
	} {
		a := mcptest.NewAgent(t,
			mcpapi.NewServer(mcpapi.Options{
				Sessions: session.NewManager(mcptest.WithFiles),
				Local:    []string{"stdio"},
			}), "2025-06-18")
		if got := a.Request("tools/call",
			`{"name":"ptyctl_session","arguments":`+args+
				`}`); !strings.Contains(strings.ReplaceAll(string(got.Result), `\`, ``), want) {
			t.Errorf("%s: %s, want an example with %s", args, got.Result, want)
		}
	}
}
