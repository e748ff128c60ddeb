package mcp

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"ptyctl/internal/lab"
	"ptyctl/internal/lab/system"
)

// ptyTools are the tools of the set pty, as a client calls them: their results are text.
type ptyTools struct {
	lab.Tools
	tb testing.TB
}

// try calls a tool. Each %s in arguments is replaced by one of values, as JSON.
func (c ptyTools) try(tool, arguments string, values ...any) (text string, failed bool) {
	c.tb.Helper()
	encoded := make([]any, len(values))
	for i, v := range values {
		text, err := json.Marshal(v)
		if err != nil {
			c.tb.Fatal(err)
		}
		encoded[i] = string(text)
	}
	a, err := c.CallTool(c.tb.Context(), tool, json.RawMessage(fmt.Sprintf(arguments, encoded...)))
	if err != nil || len(a.Content) != 1 {
		c.tb.Fatalf("%s %s: %+v, %v", tool, arguments, a, err)
	}
	return a.Content[0].Text, a.IsError
}

func (c ptyTools) ok(tool, arguments string, values ...any) string {
	c.tb.Helper()
	text, failed := c.try(tool, arguments, values...)
	if failed {
		c.tb.Fatalf("%s %s %v: %s", tool, arguments, values, text)
	}
	return text
}

func (c ptyTools) fails(want, tool, arguments string, values ...any) {
	c.tb.Helper()
	if text, failed := c.try(tool, arguments, values...); !failed || !strings.HasPrefix(text, want) {
		c.tb.Errorf("%s %s %v: %q, want %q", tool, arguments, values, text, want)
	}
}

var ptySpawned = regexp.MustCompile(
	`\A<pty_spawned>\nID: (pty_[0-9a-f]{8}(?:@[a-z]+)?)\nTitle: (.*)\nCommand: (.*)\nWorkdir: (.*)\nPID: (\d+)\nStatus: (?:running|exited)\n</pty_spawned>\z`,
)

// spawn starts a script of the shell.
func (c ptyTools) spawn(script string) (id string) {
	c.tb.Helper()
	text := c.ok("pty_spawn", `{"command":"sh","args":["-c",%s],"title":"Script"}`, script)
	m := ptySpawned.FindStringSubmatch(text)
	if m == nil {
		c.tb.Fatalf("pty_spawn of sh = %s, want a pty_spawned element", text)
	}
	return m[1]
}

// shows waits until a line of the session matches.
func (c ptyTools) shows(id, pattern string) string {
	c.tb.Helper()
	var text string
	lab.Eventually(c.tb, pattern, func() bool {
		text = c.ok("pty_read", `{"id":%s,"pattern":%s}`, id, pattern)
		return !strings.Contains(text, "\nNo lines matched the pattern")
	})
	return text
}

func (c ptyTools) work(dir string) {
	c.tb.Helper()
	if text := c.ok("pty_list", `{}`); text != "<pty_list>\nNo PTY sessions found.\n</pty_list>" {
		c.tb.Error(text)
	}
	text := c.ok(
		"pty_spawn",
		`{"command":"/usr/bin/python3","args":["-q","-i"],"workdir":%s,"env":{"PYTHONSTARTUP":"","MARK":"from the call"}}`,
		dir,
	)
	m := ptySpawned.FindStringSubmatch(text)
	if m == nil || m[2] != "/usr/bin/python3 -q -i" || m[3] != m[2] || m[4] != dir {
		c.tb.Fatalf("pty_spawn of Python = %q, want its command, and the folder %s", text, dir)
	}
	id := m[1]
	c.shows(id, ">>> $")
	c.ok("pty_write", `{"id":%s,"data":"import os; print(os.environ['MARK'], os.getcwd(), 6*7)\\n"}`, id)
	c.shows(id, "^from the call "+regexp.QuoteMeta(dir)+" 42$")
	c.ok("pty_write", `{"id":%s,"data":"import time; print('sle' + 'eps'); time.sleep(1000)\\n"}`, id)
	c.shows(id, "^sleeps$")
	if text := c.ok(
		"pty_write", `{"id":%s,"data":"\\x03"}`, id,
	); text != "<pty_write>\nSuccess: "+id+"\nData sent: \\x03 (1 bytes)\n</pty_write>" {
		c.tb.Errorf("pty_write of ctrl-c = %q, want success for %s with 1 byte", text, id)
	}
	c.shows(id, "^KeyboardInterrupt$")
	c.ok("pty_write", `{"id":%s,"data":"raise SystemExit(9)\\n"}`, id)
	lab.Eventually(c.tb, "the end", func() bool {
		return strings.Contains(
			c.ok("pty_list", `{}`),
			"["+id+"] /usr/bin/python3 -q -i (exit: 9)\n  Command: /usr/bin/python3 -q -i\n  Status: exited\n",
		)
	})
	c.fails("Error: PTY session "+id+" is not running (status: exited)", "pty_write", `{"id":%s,"data":"x"}`, id)
	if text := c.ok("pty_kill", `{"id":%s,"cleanup":true}`, id); !strings.HasPrefix(
		text,
		"<pty_killed>\nCleaned up: "+id+" (session removed)\n",
	) {
		c.tb.Error(text)
	}
	c.fails("Error: PTY session not found: "+id, "pty_read", `{"id":%s}`, id)

	id = c.spawn("trap '' HUP; echo ready; setsid sleep 123456 & while :; do sleep 1000; done")
	c.shows(id, "^ready$")
	if text := c.ok("pty_kill", `{"id":%s}`, id); !strings.HasPrefix(
		text,
		"<pty_killed>\nKilled: "+id+" (session retained for log access)\n",
	) {
		c.tb.Error(text)
	}
	if text := c.ok("pty_read", `{"id":%s}`, id); text != "<pty_output id=\""+id+
		"\" status=\"killed\">\n00001| ready\n\n(End of buffer - total 1 lines)\n</pty_output>" {
		c.tb.Errorf("pty_read of a killed terminal = %q, want status killed and the line ready", text)
	}
}

// The five tools are offered on request, and are the same on stdio and over HTTP. With the server its programs end,
// those that have left their session, too.
func TestPTYToolset(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	h := lab.NewHome(t)
	names := func(c *lab.Client) (names []string) {
		t.Helper()
		list, err := c.Session.ListTools(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, tool := range list.Tools {
			names = append(names, tool.Name)
		}
		return names
	}
	if got := names(h.Connect(t)); slices.Contains(got, "pty_spawn") {
		t.Errorf("offered unasked: %v", got)
	}
	c := h.Connect(t, "--toolsets", "pty")
	if got := names(c); !slices.Equal(got, []string{"pty_kill", "pty_list", "pty_read", "pty_spawn", "pty_write"}) {
		t.Errorf("tools of --toolsets pty = %v, want the five pty tools", got)
	}
	p := ptyTools{c.Tools, t}
	p.work(dir)
	if left := lab.Descendants(t, c.PID); !lab.Ended(left) {
		t.Errorf("after pty_kill there are %v", left)
	}
	lab.Eventually(t, "the programs that were killed are reaped", func() bool { return len(lab.Descendants(t, c.PID)) == 0 })
	for range 3 {
		p.shows(p.spawn("trap '' HUP; setsid sleep 123456 & echo ready; while :; do sleep 1000; done"), "^ready$")
	}
	programs := lab.Descendants(t, c.PID)
	if len(programs) < 6 {
		t.Errorf("running programs = %v, want three scripts and the children of each", programs)
	}
	c.Stdin.Close()
	c.CheckEnd()
	c.EndEngine()
	for _, left := range programs {
		if system.Kill(left.PID, 0) == nil {
			t.Errorf("%v has outlived the server", left)
		}
	}

	h.Write(t, h.Config, "[server.http]\ntokens_file = '"+h.TokensFile(t)+"'\n[local]\nhttp = true\n")
	server, url := h.StartHTTP(t, "--toolsets", "core,pty")
	over := server.Dial(t, url, lab.OpsToken)
	p = ptyTools{over.Tools, t}
	p.work(dir)
	reader := ptyTools{server.Dial(t, url, lab.CiToken).Tools, t}
	reader.ok("pty_list", `{}`)
	reader.fails(
		"Error: Permission denied: pty_spawn is refused: the token ci has the role read",
		"pty_spawn",
		`{"command":"true"}`,
	)
	id := p.spawn("cat")
	if r := over.Call(t, lab.ToolSession, `{"action":"list"}`); !strings.Contains(r.Text, id) {
		t.Errorf("ptyctl_session list lacks %s: %s", id, r.Text)
	}
	over.Session.Close()
	server.Terminate()
	opened := 0
	for _, n := range lab.AuditLines(t, h.Audit, "open") {
		if n.Outcome == "ok" {
			opened++
		}
	}
	if opened != 2+3+2+1 {
		t.Errorf("the audit log has %d opened sessions, want 8", opened)
	}
}

// People use the terminals of agents with ptyctl call, and k_pty has one place up to which all of them have read.
func TestSetsByHand(t *testing.T) {
	h := lab.HomeFor(t, nil, "[server.control]\ncontrol_mode = 'readwrite'")
	c := h.Connect(t, "--toolsets", "pty,k_pty")
	pid := strconv.Itoa(c.PID)
	byHand := func(tool, arguments, want string) {
		t.Helper()
		stdout, stderr, status := h.Run(t, "call", "--config", h.Config, "--pid", pid, tool, arguments)
		if status != 0 || !strings.Contains(stdout, want) {
			t.Errorf("call %s %s: status %d, stdout %s, stderr %s; want %s", tool, arguments, status, stdout, stderr, want)
		}
	}
	p := ptyTools{c.Tools, t}
	id := p.spawn("echo for people; exec cat")
	p.shows(id, "^for people$")
	byHand("pty_read", `{"id":"`+id+`"}`, "00001| for people\n")
	byHand("pty_list", `{}`, "["+id+"] Script\n")
	byHand("pty_kill", `{"id":"`+id+`"}`, "Killed: "+id)
	p.fails("Error: PTY session "+id+" is not running (status: killed)", "pty_write", `{"id":%s,"data":"x"}`, id)
	k := callKPTY(t, c, `{"action":"spawn","shell":"/bin/cat"}`).SessionID
	callKPTY(t, c, `{"action":"talk","session_id":%s,"command":"hello","idle_ms":300}`, k)
	byHand("k_pty", `{"action":"read","session_id":"`+k+`","timeout_ms":0}`, `"timed_out":true`)
	callKPTY(t, c, `{"action":"kill","session_id":%s}`, k)
}

// The official SDK for TypeScript takes the results as they are.
func TestPTYToolsetTypeScript(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	ptyTools{typescript(t, lab.NewHome(t), "--toolsets", "pty").Tools, t}.work(dir)
}

// PTY_MAX_BUFFER_LINES and PTY_PERMISSIONS, as the users of other servers have them.
func TestPTYToolsetEnvironment(t *testing.T) {
	h := lab.NewHome(t)
	h.Env = []string{
		"PTY_MAX_BUFFER_LINES=20",
		`PTY_PERMISSIONS={"bash": {"git push": "deny", "terraform *": "ask"}, "external_directory": "deny"}`,
	}
	c := h.Connect(t, "--toolsets", "pty")
	p := ptyTools{c.Tools, t}
	const denied = "Error: Permission denied: the operator's rule PTY_PERMISSIONS "
	p.fails(denied+`"git push"`, "pty_spawn", `{"command":"git","args":["push"]}`)
	p.fails(denied+`"terraform *"`, "pty_spawn", `{"command":"terraform","args":["apply"]}`)
	p.fails(denied+`"external_directory"`, "pty_spawn", `{"command":"true","workdir":"/"}`)
	id := p.spawn("seq 100")
	p.shows(id, "^100$")
	if text := p.ok("pty_read", `{"id":%s,"limit":1}`, id); !strings.Contains(text, "\n00001| 81\n") {
		t.Errorf("pty_read with PTY_MAX_BUFFER_LINES=20 = %s, want it to begin with line 81", text)
	}
	p.ok("pty_kill", `{"id":%s}`, id)

	for value, says := range map[string]string{
		"many":    `PTY_MAX_BUFFER_LINES: toolsets.pty.max_buffer_lines is "many"; give`,
		"0":       `PTY_MAX_BUFFER_LINES: toolsets.pty.max_buffer_lines is "0"; give a whole number from 1 to 1000000`,
		"5000000": `PTY_MAX_BUFFER_LINES: toolsets.pty.max_buffer_lines is "5000000"; give`,
	} {
		h.Env = []string{"PTY_MAX_BUFFER_LINES=" + value}
		if _, stderr, status := h.Run(t, "mcp", "--toolsets", "pty", "--config", h.Config); status != 2 ||
			!strings.Contains(stderr, says) {
			t.Errorf("%s: status %d, stderr %s; want %q", value, status, stderr, says)
		}
	}
}

// Two sets with a tool of the same name are not offered together.
func TestPTYToolsetCollision(t *testing.T) {
	h := lab.NewHome(t)
	_, known, _ := h.Run(t, "mcp", "--toolsets", "none")
	_, stderr, status := h.Run(t, "mcp", "--toolsets", "pty,aiterm")
	says := "the sets of tools pty and aiterm both have a tool pty_read"
	if !strings.Contains(known, "aiterm") {
		says = `there is no set of tools "aiterm"`
	}
	if status != 2 || !strings.Contains(stderr, says) {
		t.Errorf("status %d, stderr %s; want %q", status, stderr, says)
	}
}
