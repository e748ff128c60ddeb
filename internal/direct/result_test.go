//go:build unix

package direct

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"ptyctl/term"
)

// TestResult: the object has both streams whole, however long the command ran, and says nothing of the parts in which
// they came.
func TestResult(t *testing.T) {
	h := newHost(t)
	at, err := h.open(t, password+"\n")
	if err != nil {
		t.Fatalf("Open = %v, want nil", err)
	}
	for line, want := range map[string]string{
		"echo out; exit 3": "out\n",
		"echo 1; sleep 0.6; i=0; while [ $i -lt 20000 ]; do echo 0123456789; i=$((i+1)); done; exit 3": "1\n" +
			strings.Repeat("0123456789\n", 20000),
		`printf '\377'; exit 3`: "\xff",
	} {
		end, text, err := Result(h.ctx, h.on, at.ID, Command{Line: line, Timeout: time.Minute})
		if err != nil || end.ExitCode == nil || *end.ExitCode != 3 {
			t.Fatalf("Result(%q) = %+v, %v, want the exit code 3", line, end, err)
		}
		var r struct {
			Stdout, Stderr string
			Encoding       string `json:"stdout_encoding"`
			ExitCode       int    `json:"exit_code"`
			Lane           string `json:"exec_lane"`
		}
		if err := json.Unmarshal(text, &r); err != nil {
			t.Fatalf("Result(%q) = %.200s: %v", line, text, err)
		}
		if r.Encoding == "base64" {
			data, _ := base64.StdEncoding.DecodeString(r.Stdout)
			r.Stdout = string(data)
		}
		if r.Stdout != want || r.Stderr != "" || r.ExitCode != 3 || r.Lane != "channel" {
			t.Errorf("Result(%q) = %.200s, want %d bytes of stdout, exit code 3, lane channel", line, text, len(want))
		}
		for _, part := range []string{`"exec_id"`, `"truncated"`, `_cursor"`, `_omitted"`, `_bytes"`, `"remaining_ms"`} {
			if strings.Contains(string(text), part) {
				t.Errorf("Result(%q) has %s: %.200s", line, part, text)
			}
		}
	}
	endless := Command{Line: "cat /dev/zero", Timeout: time.Minute}
	_, _, err = resultWithin(h.ctx, h.on, at.ID, endless, 1<<20)
	if !errors.Is(err, term.LimitExceeded) {
		t.Errorf("Result of an endless output = %v, want %s", err, term.LimitExceeded)
	}
}
