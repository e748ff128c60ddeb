package agent

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"ptyctl/internal/lab"
	"ptyctl/internal/leaktest"
)

// toolFiles is the tool for files, which is there because the world's configuration names some.
const toolFiles = "ptyctl_fs"

// args are the arguments of a call.
type args = map[string]any

// step is one of the steps of a write.
type step = map[string]any

// cost is the cost of an arm.
type cost struct{ calls, bytes int }

// ptyctl is the first arm: the built program over stdio, as its defaults have it.
type ptyctl struct {
	t       *testing.T
	client  *lab.Client
	cost    cost
	members map[string]int // bytes of the results by their members
}

// reply has the members of results that the scripts use. Absent members are at their defaults.
type reply struct {
	Text           string `json:"-"`
	SessionID      string `json:"session_id"`
	State          string
	Prompt         *struct{ Text string }
	Stdout         string
	Stderr         string
	ExitCode       *int   `json:"exit_code"`
	ExitCodeReason string `json:"exit_code_reason"`
	DoneReason     string `json:"done_reason"`
	ExecID         string `json:"exec_id"`
	Chunk          string
	NextCursor     string `json:"next_cursor"`
	Version        string // of the screen
	Matched        *bool
	TimedOut       bool `json:"timed_out"`
	EOF            bool
	Step           *int
	Stopped        string
	Fired          []struct{ On int }
	Verified       *bool
	SHA256         string
	ErrorCode      string `json:"error_code"`
	Message        string
}

func newPtyctl(t *testing.T, w *world, flags ...string) *ptyctl {
	return &ptyctl{
		t:       t,
		client:  w.home.Connect(t, append(flags, "--results", "compact")...),
		members: make(map[string]int),
	}
}

// call calls a tool and counts its result.
func (p *ptyctl) call(tool string, a args) reply {
	p.t.Helper()
	line, err := json.Marshal(a)
	if err != nil {
		p.t.Fatal(err)
	}
	p.client.Heard.Call(p.t, string(line))
	answer, err := p.client.CallTool(p.t.Context(), tool, line)
	if err != nil {
		p.t.Fatalf("%s %s: %v", tool, hidden(line), err)
	}
	r := reply{Text: answer.Content[0].Text}
	p.cost.calls++
	p.cost.bytes += len(r.Text)
	var all map[string]json.RawMessage
	for _, into := range []any{&r, &all} {
		if err := json.Unmarshal([]byte(r.Text), into); err != nil {
			p.t.Fatalf("%s %s: the result %q: %v", tool, hidden(line), r.Text, err)
		}
	}
	for name, value := range all {
		p.members[name] += len(`"":,`) + len(name) + len(value)
	}
	if *verbose {
		p.t.Logf("ptyctl %s %s\n%s", tool, hidden(line), r.Text)
	}
	return r
}

// ok calls a tool that must succeed: no error, no wait in vain, and all steps.
func (p *ptyctl) ok(tool string, a args) reply {
	p.t.Helper()
	r := p.call(tool, a)
	if r.ErrorCode != "" || r.Matched != nil && !*r.Matched || r.TimedOut || r.Stopped != "" {
		line, _ := json.Marshal(a)
		p.t.Fatalf("%s %s: got %s", tool, hidden(line), r.Text)
	}
	return r
}

// exec runs a command that must end with code, and show a match of each pattern.
func (p *ptyctl) exec(code int, a args, patterns ...string) reply {
	p.t.Helper()
	r := p.ok(lab.ToolExec, a)
	if r.ExitCode == nil || *r.ExitCode != code {
		p.t.Errorf("%v: got %s, want the exit code %d, which the host has seen", a, r.Text, code)
	}
	p.want(r.Stdout+r.Stderr, r, patterns...)
	return r
}

// begin opens a terminal on a host and types a list there. A first step that types nothing waits for its text; without
// one the list begins at the prompt.
func (p *ptyctl) begin(host string, list []step, patterns ...string) reply {
	p.t.Helper()
	r := p.ok(lab.ToolIO, args{"action": "write", "host": host, "steps": list})
	p.want(r.Chunk, r, patterns...)
	return r
}

// await is a first step that waits for a text.
func await(until string) step { return step{"until_regex": until, "timeout_ms": patience} }

// write types and returns the reply. Its chunk must match the patterns.
func (p *ptyctl) write(id string, a args, patterns ...string) reply {
	p.t.Helper()
	a["action"], a["session_id"] = "write", id
	if a["steps"] == nil {
		a["timeout_ms"] = patience
	}
	r := p.ok(lab.ToolIO, a)
	p.want(r.Chunk, r, patterns...)
	return r
}

// steps types a list.
func (p *ptyctl) steps(id string, list []step, patterns ...string) reply {
	p.t.Helper()
	return p.write(id, args{"steps": list}, patterns...)
}

// want fails the test unless text matches each pattern.
func (p *ptyctl) want(text string, r reply, patterns ...string) {
	p.t.Helper()
	for _, pattern := range patterns {
		if !regexp.MustCompile(pattern).MatchString(text) {
			p.t.Errorf("got %s, want a match of %q", r.Text, pattern)
		}
	}
}

// patience is how long the scripts wait for required output, in milliseconds. The default suits a host without load.
const patience = 20000

// line is a step that enters a line and waits for a pattern.
func line(text, until string) step {
	return step{"data": text + "\r", "until_regex": until, "timeout_ms": patience}
}

// shown is a step that enters a line and waits for a pattern on the screen.
func shown(text, until string) step {
	return step{"data": text + "\r", "until_screen": until, "timeout_ms": patience}
}

// typed is a step that enters a line and waits for nothing.
func typed(text string) step { return step{"data": text + "\r"} }

// command is a step that enters a line and waits for the shell's prompt.
func command(text string) step {
	return step{"data": text + "\r", "until_prompt": true, "timeout_ms": patience}
}

// secret is a step that answers a question with a secret.
func secret(text, until string) step {
	s := step{"data": text + "\r", "sensitive": true, "timeout_ms": patience}
	if until != "" {
		s["until_regex"] = until
	}
	return s
}

// field returns the first group of a pattern in text, which must match.
func field(t *testing.T, text, pattern string) string {
	t.Helper()
	m := regexp.MustCompile(pattern).FindStringSubmatch(text)
	if m == nil {
		t.Fatalf("got %q, want a match of %q", text, pattern)
	}
	return strings.TrimSpace(m[1])
}

// secrets are the words of a call that hold a secret of the tests.
var secrets = regexp.MustCompile(`[^'"\n]*` + leaktest.Mark + `[^'"\n]*`)

// hidden returns a call without its secrets, for the test's output.
func hidden[T string | []byte](call T) string { return secrets.ReplaceAllString(string(call), "***") }
