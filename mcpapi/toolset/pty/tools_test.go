//go:build unix

package pty

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"ptyctl/internal/leaktest"
	"ptyctl/mcpapi"
	"ptyctl/policy"
	"ptyctl/session"
	"ptyctl/term"
)

// The five tools, with the names and arguments of the PTY MCP server.
func TestToolsAreListed(t *testing.T) {
	c := start(t)
	list, err := c.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	got := make(map[string][]string)
	for _, tool := range list.Tools {
		var schema struct{ Properties map[string]any }
		text, _ := json.Marshal(tool.InputSchema)
		if err := json.Unmarshal(text, &schema); err != nil {
			t.Fatal(err)
		}
		got[tool.Name] = []string{}
		for name := range schema.Properties {
			got[tool.Name] = append(got[tool.Name], name)
		}
		slices.Sort(got[tool.Name])
	}
	want := map[string][]string{
		"pty_spawn": {"args", "command", "env", "title", "workdir"},
		"pty_read":  {"id", "ignore_case", "limit", "offset", "pattern"},
		"pty_write": {"data", "id"},
		"pty_list":  {},
		"pty_kill":  {"cleanup", "id"},
	}
	if argument(got) != argument(want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// A session from its start to its end, with what each tool says.
func TestSession(t *testing.T) {
	c := start(t)
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if got := c.call("pty_list", `{}`); got != "<pty_list>\nNo PTY sessions found.\n</pty_list>" {
		t.Error(got)
	}
	got := c.call("pty_spawn", argument(map[string]any{
		"command": "sh", "args": []string{"-c", `echo "$PWD $TERM $(stty size) $MINE"; while read x; do echo "got $x"; done`},
		"workdir": dir, "env": map[string]string{"MINE": "a b", "EMPTY": ""}, "title": "Echo",
	}))
	id := spawnedID.FindStringSubmatch(got)[1]
	shown := func(name, text string) {
		t.Helper()
		compare(t, name, settled(text, id, dir))
	}
	shown("spawned", got)
	c.await(id, "a b\r\n")
	shown("read-start", c.call("pty_read", about(id, "")))
	shown("write", c.call("pty_write", about(id, `,"data":"one\\n"`)))
	c.await(id, "got one\r\n")
	c.call("pty_write", about(id, `,"data":"two\n"`))
	c.await(id, "got two\r\n")
	shown("read", c.call("pty_read", about(id, "")))
	shown("read-page", c.call("pty_read", about(id, `,"offset":1,"limit":2`)))
	shown("search", c.call("pty_read", about(id, `,"pattern":"GOT","ignore_case":true`)))
	shown("search-page", c.call("pty_read", about(id, `,"pattern":"got","limit":1`)))
	shown("search-nothing", c.call("pty_read", about(id, `,"pattern":"GOT"`)))
	shown("list-running", c.call("pty_list", `{}`))
	shown("killed", c.call("pty_kill", about(id, "")))
	shown("list-killed", c.call("pty_list", `{}`))
	shown("read-killed", c.call("pty_read", about(id, `,"offset":4`)))
	shown("killed-again", c.call("pty_kill", about(id, "")))
	c.fails("pty_write", about(id, `,"data":"x"`), "Error: PTY session "+id+" is not running (status: killed)")
	shown("cleaned-up", c.call("pty_kill", about(id, `,"cleanup":true`)))
	for _, tool := range []string{"pty_read", "pty_kill"} {
		c.fails(tool, about(id, ""), "Error: PTY session not found: "+id)
	}
	c.fails("pty_write", about(id, `,"data":"x"`), "Error: PTY session not found: "+id)
	if got := c.call("pty_list", `{}`); strings.Contains(got, id) {
		t.Error(got)
	}
}

// A program that ends by itself is there with its exit code, until it is cleaned up.
func TestExit(t *testing.T) {
	c := start(t)
	for script, says := range map[string][]string{
		"exit 0":         {"] sh -c exit 0 (exit: 0)\n", "Status: exited\n"},
		"exit 7":         {" (exit: 7)\n", "Status: exited\n"},
		"kill -TERM $$":  {" (exit: 143)\n", "Status: exited\n"},
		"printf 'a\\nb'": {"Lines: 2 |"},
	} {
		id := c.spawn(argument(map[string]any{"command": "sh", "args": []string{"-c", script}}))
		c.awaitEnd(id)
		list := c.call("pty_list", `{}`)
		for _, part := range says {
			if !strings.Contains(list, part) || !strings.Contains(list, "["+id+"]") {
				t.Errorf("%s: no %q in %s", script, part, list)
			}
		}
		if got := c.call("pty_read", about(id, "")); !strings.Contains(got, `status="exited"`) {
			t.Error(got)
		}
		c.fails("pty_write", about(id, `,"data":"x"`), "Error: PTY session "+id+" is not running (status: exited)")
		c.call("pty_kill", about(id, `,"cleanup":true`))
	}
	if got := c.call("pty_list", `{}`); !strings.Contains(got, "No PTY sessions") {
		t.Error(got)
	}
}

// Mistakes of the caller, and what the system refuses.
func TestErrors(t *testing.T) {
	c := start(t)
	id := c.sh("echo ready; cat", "ready")
	for _, e := range []struct{ tool, arguments, want string }{
		{"pty_read", `{"id":"pty_00000000"}`, "Error: PTY session not found: pty_00000000"},
		{"pty_write", `{"id":"pty_00000000","data":"x"}`, "Error: PTY session not found: pty_00000000"},
		{"pty_kill", `{"id":"pty_00000000"}`, "Error: PTY session not found: pty_00000000"},
		{"pty_kill", `{"id":"a\n\u001b[31mb"}`, `Error: PTY session not found: a\n\x1b[31mb`},
		{"pty_read", `{}`, "Error: id is missing"},
		{"pty_read", `{"id":7}`, "Error: id must be a string"},
		{"pty_read", about(id, `,"limit":0`), "Error: limit is 0"},
		{"pty_read", about(id, `,"offset":-1`), "Error: offset is -1"},
		{"pty_read", about(id, `,"lines":1`), `Error: unknown field "lines" for pty_read; it takes id, offset, limit, pattern, ignore_case`},
		{"pty_read", about(id, `,"pattern":"a(b"`), "Error: Invalid regex pattern \"a(b\": missing closing ): `a(b`"},
		{"pty_read", about(id, `,"pattern":"(?=x)"`), "Error: Invalid regex pattern \"(?=x)\": invalid or unsupported Perl syntax: `(?=`"},
		{"pty_read", about(id, `,"pattern":"*","ignore_case":true`), "Error: Invalid regex pattern \"*\": missing argument to repetition operator: `*`"},
		{"pty_read", about(id, `,"pattern":"`+strings.Repeat("a", 5000)+`"`), `Error: Invalid regex pattern "` + strings.Repeat("a", 200) + `...": the pattern has 5000 bytes`},
		{"pty_write", about(id, ""), "Error: data is missing"},
		{"pty_write", about(id, `,"data":""`), "Error: data is empty"},
		{"pty_list", `{"id":"x"}`, `Error: unknown field "id" for pty_list; it takes none; a correct call: pty_list {}`},
		{"pty_spawn", `{}`, "Error: command is missing"},
		{"pty_spawn", `{"command":""}`, "Error: command is empty"},
		{"pty_spawn", `{"command":"no-such-program","args":["x"]}`, `Error: Failed to execute command "no-such-program": there is no program "no-such-program" in PATH`},
		{"pty_spawn", `{"command":"/dev/null"}`, `Error: Failed to execute command "/dev/null": `},
		{"pty_spawn", `{"command":"true","workdir":"/no/such/folder"}`, `Error: Failed to execute command "true": cwd /no/such/folder: no such file or directory`},
		{"pty_spawn", `{"command":"true","args":["a\u0000b"]}`, `Error: Failed to execute command "true": argv[1] holds a NUL byte`},
		{"pty_spawn", `{"command":"true","args":"x"}`, "Error: args must be an array of strings"},
		{"pty_spawn", `{"command":"true","env":["A=b"]}`, "Error: env must be a JSON object"},
		{"pty_spawn", `{"command":"true","env":{"A":1}}`, "Error: env.A must be a string"},
		{"pty_spawn", `{"command":"true","env":{"A=B":"c"}}`, `Error: env has the name "A=B"`},
		{"pty_spawn", `{"command":"true","env":{"":"c"}}`, `Error: env has the name ""`},
		{"pty_spawn", `{"command":"true","title":"a\nb"}`, "Error: title must be one line"},
		{"pty_spawn", `{"command":"true","title":"` + strings.Repeat("x", 257) + `"}`, "Error: title must be one line"},
	} {
		c.fails(e.tool, e.arguments, e.want)
	}
	if got := c.call("pty_list", `{}`); !strings.Contains(got, "Total: 1 session(s)") {
		t.Errorf("what failed left something: %s", got)
	}
}

// Keys spelled as escapes reach the program as keys.
func TestKeys(t *testing.T) {
	c := start(t)
	id := c.sh("trap 'echo caught' INT; echo ready; while :; do read x && echo \"got $x\" || :; done", "ready")
	c.call("pty_write", about(id, `,"data":"\\x03"`))
	c.await(id, "caught")
	c.call("pty_write", about(id, `,"data":"\\u00e9\\t1\\n"`))
	c.await(id, "got é\t1")
	id = c.sh("echo ready; cat; echo over", "ready")
	c.call("pty_write", about(id, `,"data":"\\x04"`)) // end of file
	c.await(id, "over")
	c.awaitEnd(id)
}

// A write that no program takes comes to its end, and says so.
func TestStuckWrite(t *testing.T) {
	c := connect(t, newLab(t, Options{}, session.Config{WriteTimeout: 50 * time.Millisecond}, mcpapi.Options{}), mcpapi.Caller{})[0]
	id := c.sh("stty raw -echo; echo ready; sleep 1000", "ready")
	c.fails("pty_write", about(id, `,"data":"`+strings.Repeat("x", 1<<20)+`"`), "Error: the program of "+id+" took ")
}

// Many lines, page by page and searched; a loss of the oldest; long lines; what is drawn.
func TestOutput(t *testing.T) {
	c := start(t)
	id := c.sh("seq -f 'line %g' 1203", `line 1203\r\n`)
	c.awaitEnd(id)
	next, lines := 0, 0
	for range 10 {
		got := c.call("pty_read", about(id, fmt.Sprintf(`,"offset":%d`, next)))
		for l := range strings.SplitSeq(got, "\n") {
			if number, text, ok := strings.Cut(l, "| "); ok {
				lines++
				if number != fmt.Sprintf("%05d", lines) || text != fmt.Sprintf("line %d", lines) {
					t.Fatalf("line %d is %q", lines, l)
				}
			}
		}
		if _, err := fmt.Sscanf(got[strings.LastIndex(got, "\n("):], "\n(Buffer has more lines. Use offset=%d ", &next); err != nil {
			break
		}
	}
	if lines != 1203 || next != 1000 {
		t.Errorf("%d lines, the last offset was %d", lines, next)
	}
	for _, s := range []struct{ more, first, note string }{
		{`,"pattern":"7$","limit":3`, "00007| line 7", "(3 of 120 matches shown. Use offset=3 to see more.)"},
		{`,"pattern":"7$","offset":117`, "01177| line 1177", "(120 matches from 1203 total lines)"},
		{`,"pattern":"^LINE 12..$","ignore_case":true,"offset":1`, "01201| line 1201", "(4 matches from 1203 total lines)"},
		{`,"pattern":"1203"`, "01203| line 1203", "(1 match from 1203 total lines)"},
	} {
		got := strings.Split(c.call("pty_read", about(id, s.more)), "\n")
		if got[1] != s.first || got[len(got)-2] != s.note {
			t.Errorf("%s: %q", s.more, got)
		}
	}

	id = c.sh(`printf '\033[1;31mred\033[0m \033]0;title\007text\r\n10%%\r50%%\r100%%\r\n\377\303\r\n\tend'`, "end")
	c.awaitEnd(id)
	want := "00001| red text\n00002| 100%\n00003| \uFFFD\uFFFD\n00004| \tend\n\n(End of buffer - total 4 lines)"
	if got := c.call("pty_read", about(id, "")); !strings.Contains(got, want) {
		t.Errorf("%q", got)
	}
	if got := c.call("pty_read", about(id, `,"pattern":"red text|^100"`)); !strings.Contains(
		got,
		"(2 matches from 4 total lines)",
	) {
		t.Errorf("a pattern is for what is shown: %q", got)
	}

	id = c.sh(`i=0; while [ $i -lt 3000 ]; do printf é; i=$((i+1)); done; echo; echo end`, "end\r\n")
	c.awaitEnd(id)
	if got := c.call("pty_read", about(id, "")); !strings.Contains(
		got,
		"00001| "+strings.Repeat("é", 2000)+"...\n00002| end\n",
	) {
		t.Errorf("%.100q of %d bytes", got, len(got))
	}
}

// Of more output than is kept the newest lines are there, numbered from the oldest kept; no result is larger than the
// operator lets it be.
func TestBounds(t *testing.T) {
	c := connect(t, newLab(t, Options{BufferLines: 10}, session.Config{}, mcpapi.Options{MaxReadBytes: 64}), mcpapi.Caller{})[0]
	id := c.sh("seq -f 'line %g' 25", `line 25\r\n`)
	c.awaitEnd(id)
	got := c.call("pty_read", about(id, ""))
	want := "00001| line 16\n00002| line 17\n00003| line 18\n00004| line 19\n\n(Older lines were dropped; line 1 is the oldest kept)\n(Buffer has more lines. Use offset=4 to read beyond line 4)\n"
	if !strings.Contains(got, want) {
		t.Errorf("%s", got)
	}
	if got = c.call("pty_read", about(id, `,"offset":8`)); !strings.Contains(
		got,
		"00009| line 24\n00010| line 25\n\n(Older lines were dropped; line 1 is the oldest kept)\n(End of buffer - total 10 lines)",
	) {
		t.Errorf("%s", got)
	}
	if got = c.call("pty_read", about(id, `,"pattern":"line"`)); !strings.Contains(
		got,
		"(4 of 10 matches shown. Use offset=4 to see more.)",
	) {
		t.Errorf("%s", got)
	}
}

// Kill ends what ignores the hangup, and with cleanup the session is gone at once.
func TestKill(t *testing.T) {
	c := start(t)
	id := c.sh("trap '' HUP TERM; echo ready; while :; do sleep 1000; done", "ready")
	pid := c.pid(id)
	if got := c.call("pty_kill", about(id, "")); !strings.Contains(
		got,
		"Killed: "+id+" (session retained for log access)",
	) ||
		!strings.Contains(got, "Final line count: 1") {
		t.Error(got)
	}
	if alive(pid) {
		t.Errorf("%d is alive", pid)
	}
	list := c.call("pty_list", `{}`)
	if !strings.Contains(list, "Status: killed\n") || strings.Contains(list, "exit:") {
		t.Error(list)
	}

	id = c.sh("echo ready; exec sleep 1000", "ready")
	pid = c.pid(id)
	if got := c.call("pty_kill", about(id, `,"cleanup":true`)); !strings.Contains(
		got,
		"Killed: "+id+" (session removed)",
	) {
		t.Error(got)
	}
	if alive(pid) {
		t.Errorf("%d is alive", pid)
	}
	if list = c.call("pty_list", `{}`); strings.Contains(list, id) {
		t.Error(list)
	}
	if _, err := c.m.Get(id); err == nil {
		t.Error("it is still kept for other tools")
	}
}

// pid is the process of a session.
func (c client) pid(id string) int {
	c.tb.Helper()
	s, err := c.m.Get(id)
	if err != nil {
		c.tb.Fatal(err)
	}
	return s.Info().About.Process.PID
}

func alive(pid int) bool { return unix.Kill(pid, 0) == nil }

// When the server ends, so do the programs.
func TestServerEnd(t *testing.T) {
	c := start(t)
	var pids []int
	for range 5 {
		pids = append(pids, c.pid(c.sh("trap '' HUP; echo ready; while :; do sleep 1000; done", "ready")))
	}
	c.m.Close(context.Background())
	for _, pid := range pids {
		if alive(pid) {
			t.Errorf("%d is alive", pid)
		}
	}
	c.fails("pty_spawn", `{"command":"true"}`, "Error: ptyctl is shutting down")
}

// What is cleaned up leaves nothing: no session, no output, no goroutine.
func TestNothingIsLeft(t *testing.T) {
	c := start(t)
	round := func() {
		id := c.sh("seq 1000; exec cat", "1000\r\n")
		c.call("pty_read", about(id, `,"pattern":"9"`))
		c.call("pty_write", about(id, `,"data":"text\\n"`))
		c.call("pty_kill", about(id, ""))
		c.call("pty_kill", about(id, `,"cleanup":true`))
	}
	round()
	before := runtime.NumGoroutine()
	for range 20 {
		round()
	}
	if n := len(c.m.List()); n > 0 || c.m.Live() > 0 || c.m.Buffered() > 0 {
		t.Errorf("%d sessions, %d of them live, and %d bytes are left", n, c.m.Live(), c.m.Buffered())
	}
	for end := time.Now().Add(patience); runtime.NumGoroutine() > before; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%d goroutines, before it were %d", runtime.NumGoroutine(), before)
		}
	}
}

// The sessions are those of all tools: each sees what the other has opened, but only this set's are in its list.
func TestOtherTools(t *testing.T) {
	c := connect(t, newLab(t, Options{}, session.Config{Retention: time.Minute}, mcpapi.Options{Toolsets: []string{"core", "pty"}}), mcpapi.Caller{})[0]
	id := c.sh("echo ready; cat", "ready")
	var other struct {
		SessionID string `json:"session_id"`
	}
	opened := c.core("ptyctl_session", `{"action":"open","protocol":"local","argv":["cat"]}`)
	if err := json.Unmarshal([]byte(opened), &other); err != nil {
		t.Fatal(err)
	}
	if got := c.core("ptyctl_session", `{"action":"list"}`); !strings.Contains(got, id) ||
		!strings.Contains(got, other.SessionID) {
		t.Errorf("ptyctl_session list lacks one: %s", got)
	}
	if got := c.call("pty_list", `{}`); !strings.Contains(got, id) || strings.Contains(got, other.SessionID) {
		t.Errorf("%s", got)
	}
	c.fails("pty_read", about(other.SessionID, ""), "Error: PTY session not found: "+other.SessionID)
	c.core("ptyctl_session", `{"action":"lock","session_id":"`+id+`","task_id":"t1"}`)
	c.fails("pty_write", about(id, `,"data":"x"`), "Error: task t1 holds this session's lock")
	c.fails("pty_kill", about(id, ""), "Error: task t1 holds this session's lock")
	if got := c.call("pty_list", `{}`); !strings.Contains(got, "Status: running") {
		t.Errorf("a kill that was refused left a trace: %s", got)
	}
	c.core("ptyctl_session", `{"action":"close","session_id":"`+id+`","task_id":"t1"}`)
	if got := c.call("pty_list", `{}`); !strings.Contains(got, "Status: exited") {
		t.Errorf("closed by another tool: %s", got)
	}
}

// core calls a tool of another set.
func (c client) core(tool, arguments string) string {
	c.tb.Helper()
	r, err := c.CallTool(c.tb.Context(), sdkCall(tool, arguments))
	if err != nil || r.IsError {
		c.tb.Fatalf("%s %s: %+v, %v", tool, arguments, r, err)
	}
	return firstText(r)
}

// Callers that are kept apart know nothing of each other's sessions; one that may only read may do just that.
func TestCallers(t *testing.T) {
	l := newLab(t, Options{}, session.Config{}, mcpapi.Options{})
	cs := connect(
		t,
		l,
		mcpapi.Caller{Token: "a", Isolated: true, Transport: "stdio"},
		mcpapi.Caller{Token: "b", Isolated: true, Transport: "stdio"},
		mcpapi.Caller{Token: "r", ReadOnly: true, Transport: "stdio"},
	)
	a, b, reader := cs[0], cs[1], cs[2]
	id := a.sh("echo ready; cat", "ready")
	if got := b.call("pty_list", `{}`); strings.Contains(got, id) {
		t.Error(got)
	}
	for tool, more := range map[string]string{"pty_read": "", "pty_write": `,"data":"x"`, "pty_kill": `,"cleanup":true`} {
		b.fails(tool, about(id, more), "Error: PTY session not found: "+id)
	}
	if got := a.call("pty_list", `{}`); !strings.Contains(got, id) {
		t.Error(got)
	}

	list, err := reader.ListTools(t.Context(), nil)
	if err != nil || len(list.Tools) != 2 || list.Tools[0].Name != "pty_list" || list.Tools[1].Name != "pty_read" {
		t.Errorf("%+v, %v", list, err)
	}
	if got := reader.call("pty_read", about(id, "")); !strings.Contains(got, "ready") {
		t.Error(got)
	}
	reader.fails(
		"pty_write",
		about(id, `,"data":"x"`),
		"Error: Permission denied: pty_write is refused: the token r has the role read",
	)
	reader.fails("pty_spawn", `{"command":"true"}`, "Error: Permission denied: pty_spawn is refused")
	reader.fails("pty_kill", about(id, ""), "Error: Permission denied: pty_kill is refused")
}

// The rules of PTY_PERMISSIONS hold for what is spawned, for folders, and for what is typed.
func TestPermissions(t *testing.T) {
	rules, err := policy.New(
		policy.Rules{
			Permissions: `{"bash": {"git push": "deny", "terraform *": "ask", "sh *": "allow"}, "external_directory": "deny"}`,
		},
	)
	if err != nil {
		t.Fatal(err)
	}
	seen := new(diary)
	c := connect(t, newLab(t, Options{}, session.Config{Gate: rules.Rule, Observers: []term.Observer{seen}}, mcpapi.Options{}), mcpapi.Caller{})[0]
	const denied = "Error: Permission denied: the operator's rule PTY_PERMISSIONS"
	c.fails("pty_spawn", `{"command":"git","args":["push","origin"]}`, denied)
	c.fails("pty_spawn", `{"command":"terraform","args":["plan"]}`, denied)
	c.fails("pty_spawn", `{"command":"true","workdir":"/"}`, denied)
	c.fails("pty_spawn", `{"command":"sh","args":["-c","true; git push"]}`, denied)
	id := c.sh("echo ready; cat", "ready")
	c.fails("pty_write", about(id, `,"data":"ls; git push\\n"`), "Error: Permission denied: the operator's rule ")
	c.call("pty_write", about(id, `,"data":"'git' 'status'\\n"`))
	c.call("pty_kill", about(id, `,"cleanup":true`))
	refused := 0
	for _, e := range seen.take() {
		if term.KindOf(e.Refused) == term.PolicyDenied {
			refused++
		}
	}
	if refused != 5 {
		t.Errorf("%d refusals on record, want 5", refused)
	}
}

// What the environment of a program holds is told to nobody.
func TestEnvironmentIsNotTold(t *testing.T) {
	c := start(t)
	token := leaktest.Secret(t, "environment-of-a-program-1138")
	id := c.spawn(
		argument(
			map[string]any{
				"command": "sh",
				"args":    []string{"-c", "echo ${#API_TOKEN} long"},
				"env":     map[string]string{"API_TOKEN": token},
			},
		),
	)
	c.await(id, strconv.Itoa(len(token))+" long")
	c.call("pty_list", `{}`)
}

// A title or command that would look like another session's entry does not.
func TestForgedEntry(t *testing.T) {
	c := start(t)
	c.spawn(
		argument(map[string]any{"command": "true", "args": []string{"\n[pty_ffffffff] fine\n  Status: running\x1b[8m"}}),
	)
	got := c.call("pty_list", `{}`)
	if strings.Contains(got, "\n[pty_ffffffff]") || strings.Contains(got, "\x1b") ||
		!strings.Contains(got, `  Command: true \n[pty_ffffffff] fine\n  Status: running\x1b[8m`) {
		t.Error(got)
	}
}

// Any number may read while a program writes and others come and go.
func TestConcurrency(t *testing.T) {
	c := connect(t, newLab(t, Options{BufferLines: 500}, session.Config{}, mcpapi.Options{}), mcpapi.Caller{})[0]
	id := c.sh("echo ready; read go; i=0; while [ $i -lt 3000 ]; do echo line $i; i=$((i+1)); done; cat", "ready")
	c.call("pty_write", about(id, `,"data":"go\\n"`))
	var wg sync.WaitGroup
	for n := range 8 {
		wg.Go(func() {
			for i := range 15 {
				switch (n + i) % 4 {
				case 0:
					c.call("pty_read", about(id, fmt.Sprintf(`,"offset":%d,"limit":50`, 10*i)))
				case 1:
					c.call("pty_read", about(id, `,"pattern":"9$"`))
				case 2:
					c.call("pty_list", `{}`)
				case 3:
					other := c.spawn(`{"command":"true"}`)
					c.call("pty_kill", about(other, `,"cleanup":true`))
				}
			}
		})
	}
	wg.Wait()
	c.await(id, "line 2999\r\n")
	var kills sync.WaitGroup
	for range 4 {
		kills.Go(func() { c.call("pty_kill", about(id, "")) })
	}
	kills.Wait()
	if got := c.call("pty_list", `{}`); !strings.Contains(got, "Total: 1 session(s)") ||
		!strings.Contains(got, "Status: killed") {
		t.Error(got)
	}
}

// Sessions that the manager has forgotten are forgotten here, too.
func TestForgotten(t *testing.T) {
	s := &set{lines: 1}
	m := session.NewManager(session.Config{})
	l := newLab(t, Options{}, session.Config{}, mcpapi.Options{})
	c := connect(t, l, mcpapi.Caller{})[0]
	live, err := l.m.Get(c.sh("echo ready; cat", "ready"))
	if err != nil {
		t.Fatal(err)
	}
	s.terminals.add(m, live) // which m has never known
	s.terminals.add(l.m, live)
	if len(s.terminals.byID) != 1 || s.terminals.get(live.ID()) == nil {
		t.Errorf("%v", s.terminals.byID)
	}
	s.terminals.byID["pty_00000000"] = &terminal{Session: live}
	s.terminals.add(l.m, live)
	if s.terminals.get("pty_00000000") != nil {
		t.Error("a session is known that is not there")
	}
}

// A diary remembers events.
type diary struct {
	mu     sync.Mutex // guards the following
	events []term.Event
}

func (d *diary) Observe(e term.Event) {
	d.mu.Lock()
	defer d.mu.Unlock()
	e.Data = nil
	d.events = append(d.events, e)
}

func (d *diary) take() []term.Event {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.events)
}
