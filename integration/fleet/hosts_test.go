package fleet

import (
	"encoding/json"
	"testing"

	"ptyctl/internal/lab"
)

const tool = "ptyctl_fleet"

// each is the number of hosts of one server.
const each = 13

// connect starts ptyctl with the tool, and compact results as agents get them.
func connect(t *testing.T, r *lab.Rack) *lab.Client {
	t.Helper()
	return r.Connect(t, "--toolsets", "core,fs,fleet", "--results", "compact")
}

// An answer is a result of the tool.
type answer struct {
	FleetID    string `json:"fleet_id"`
	DoneReason string `json:"done_reason"`
	Hosts      int
	Groups     []struct {
		Hosts      string
		N          int
		ExitCode   int `json:"exit_code"`
		Stdout     string
		StdoutDiff string `json:"stdout_diff"`
		Truncated  bool
		Bytes      int64 `json:"output_bytes"` // if lines are left out
	}
	Failures []struct {
		ErrorCode string `json:"error_code"`
		Hosts     string
		N         int
		Reason    string
	}
	NotRun []struct {
		Hosts, Reason string
		N             int
	} `json:"not_run"`

	text string
}

// call makes a call of the tool.
func call(t *testing.T, c *lab.Client, arguments string, values ...any) (a answer) {
	t.Helper()
	r := c.Call(t, tool, arguments, values...)
	if err := json.Unmarshal([]byte(r.Text), &a); err != nil {
		t.Fatalf("%s %s: the result %s: %v", tool, arguments, r.Text, err)
	}
	a.text = r.Text
	if a.Hosts == 0 { // those of the groups are all
		for _, g := range a.Groups {
			a.Hosts += max(g.N, 1)
		}
	}
	return a
}

// failure returns the hosts that failed with a code, and why.
func (a answer) failure(code string) (hosts, reason string) {
	for _, f := range a.Failures {
		if f.ErrorCode == code {
			return f.Hosts, f.Reason
		}
	}
	return "", ""
}
