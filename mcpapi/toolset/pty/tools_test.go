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
	"ptyctl/mcpapi/identity"
	"ptyctl/mcpapi/toolset"
	"ptyctl/policy"
	"ptyctl/session"
	"ptyctl/term"
)

// The set has five tools, with the names and arguments of the PTY MCP server.
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
		t.Errorf("tools and arguments = %v, want %v", got, want)
	}
}

// A session from start to end. The results of each tool are compared with testdata.
func TestSession(t *testing.T) {
	c := start(t)
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if got := c.call("pty_list", `{}`); got != "<pty_list>\nNo PTY sessions found.\n</pty_list>" {
		t.Errorf("first pty_list = %q, want no sessions", got)
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
		t.Errorf("pty_list after the cleanup = %q, want no %s", got, id)
	}
}

// A program that ends by itself stays in the list with its exit code until it is cleaned
// up.
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
				t.Errorf("pty_list after %q = %s, want %q", script, list, part)
			}
		}
		if got := c.call("pty_read", about(id, "")); !strings.Contains(got, `status="exited"`) {
			t.Errorf("pty_read after %q = %q, want status exited", script, got)
		}
		c.fails("pty_write", about(id, `,"data":"x"`), "Error: PTY session "+id+" is not running (status: exited)")
		c.call("pty_kill", about(id, `,"cleanup":true`))
	}
	if got := c.call("pty_list", `{}`); !strings.Contains(got, "No PTY sessions") {
		t.Errorf("pty_list after the cleanups = %q, want no sessions", got)
	}
}

// Wrong arguments and refusals of the system are failures in the words of those servers.
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
		{"pty_read", about(id, `,"lines":1`), `Error: unknown field "lines" for pty_read; use limit; it takes id, offset, limit, pattern, ignore_case`},
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
		{"pty_spawn", `{"command":"true","workdir":"/no/such/folder"}`, `Error: Failed to execute command "true": the working directory /no/such/folder: no such file or directory`},
		{"pty_spawn", `{"command":"true","args":["a\u0000b"]}`, `Error: Failed to execute command "true": argument 1 contains a NUL byte`},
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
		t.Errorf("pty_list after failed calls = %s, want one session", got)
	}
}

// Escapes in data reach the program as keys.
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

// A write to a program that does not read ends with an error.
func TestStuckWrite(t *testing.T) {
	c := connect(t, newLab(t, Options{}, session.Config{WriteTimeout: 50 * time.Millisecond}, mcpapi.Options{}),
		identity.Caller{})[0]
	id := c.sh("stty raw -echo; echo ready; sleep 1000", "ready")
	c.fails("pty_write", about(id, `,"data":"`+strings.Repeat("x", 1<<20)+`"`), "Error: the program of "+id+" took ")
}

// pty_read returns many lines window by window, searches them, and shows control
// sequences as clean text.
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
					t.Fatalf("line %d = %q, want its number and text", lines, l)
				}
			}
		}
		if _, err := fmt.Sscanf(got[strings.LastIndex(got, "\n("):], "\n(Buffer has more lines. Use offset=%d ",
			&next); err != nil {
			break
		}
	}
	if lines != 1203 || next != 1000 {
		t.Errorf("read %d lines up to the offset %d, want 1203 and 1000", lines, next)
	}
	for _, s := range []struct{ more, first, note string }{
		{`,"pattern":"7$","limit":3`, "00007| line 7", "(3 of 120 matches shown. Use offset=3 to see more.)"},
		{`,"pattern":"7$","offset":117`, "01177| line 1177", "(120 matches from 1203 total lines)"},
		{`,"pattern":"^LINE 12..$","ignore_case":true,"offset":1`, "01201| line 1201", "(4 matches from 1203 total lines)"},
		{`,"pattern":"1203"`, "01203| line 1203", "(1 match from 1203 total lines)"},
	} {
		got := strings.Split(c.call("pty_read", about(id, s.more)), "\n")
		if got[1] != s.first || got[len(got)-2] != s.note {
			t.Errorf("pty_read with %s = %q, want the first line %q and the note %q", s.more, got, s.first, s.note)
		}
	}

	id = c.sh(`printf '\033[1;31mred\033[0m \033]0;title\007text\r\n10%%\r50%%\r100%%\r\n\377\303\r\n\tend'`, "end")
	c.awaitEnd(id)
	want := "00001| red text\n00002| 100%\n00003| \uFFFD\uFFFD\n00004| \tend\n\n(End of buffer - total 4 lines)"
	if got := c.call("pty_read", about(id, "")); !strings.Contains(got, want) {
		t.Errorf("pty_read of control sequences = %q, want %q", got, want)
	}
	got := c.call("pty_read", about(id, `,"pattern":"red text|^100"`))
	if !strings.Contains(got, "(2 matches from 4 total lines)") {
		t.Errorf("search in control sequences = %q, want two matches in the clean text", got)
	}

	id = c.sh(`i=0; while [ $i -lt 3000 ]; do printf é; i=$((i+1)); done; echo; echo end`, "end\r\n")
	c.awaitEnd(id)
	got = c.call("pty_read", about(id, ""))
	if !strings.Contains(got, "00001| "+strings.Repeat("é", 2000)+"...\n00002| end\n") {
		t.Errorf("pty_read of a long line = %.100q of %d bytes, want 2000 characters of it and the end", got, len(got))
	}
}

// If output exceeds the buffer, the newest lines remain, numbered from the oldest one
// kept. No result exceeds the operator's limit.
func TestBounds(t *testing.T) {
	l := newLab(t, Options{BufferLines: 10}, session.Config{}, mcpapi.Options{Limits: toolset.Limits{MaxReadBytes: 64}})
	c := connect(t, l, identity.Caller{})[0]
	id := c.sh("seq -f 'line %g' 25", `line 25\r\n`)
	c.awaitEnd(id)
	got := c.call("pty_read", about(id, ""))
	want := "00001| line 16\n00002| line 17\n00003| line 18\n00004| line 19\n\n" +
		"(Older lines were dropped; line 1 is the oldest kept)\n" +
		"(Buffer has more lines. Use offset=4 to read beyond line 4)\n"
	if !strings.Contains(got, want) {
		t.Errorf("pty_read after a loss = %s, want %s", got, want)
	}
	want = "00009| line 24\n00010| line 25\n\n(Older lines were dropped; line 1 is the oldest kept)\n" +
		"(End of buffer - total 10 lines)"
	if got = c.call("pty_read", about(id, `,"offset":8`)); !strings.Contains(got, want) {
		t.Errorf("pty_read from offset 8 = %s, want %s", got, want)
	}
	want = "(4 of 10 matches shown. Use offset=4 to see more.)"
	if got = c.call("pty_read", about(id, `,"pattern":"line"`)); !strings.Contains(got, want) {
		t.Errorf("search for line = %s, want %s", got, want)
	}
}

// pty_kill ends a program that ignores the hangup. With cleanup the session is removed at
// once.
func TestKill(t *testing.T) {
	c := start(t)
	id := c.sh("trap '' HUP TERM; echo ready; while :; do sleep 1000; done", "ready")
	pid := c.pid(id)
	got := c.call("pty_kill", about(id, ""))
	if !strings.Contains(got, "Killed: "+id+" (session retained for log access)") ||
		!strings.Contains(got, "Final line count: 1") {
		t.Errorf("pty_kill = %s, want Killed with one line", got)
	}
	if alive(pid) {
		t.Errorf("process %d is alive after pty_kill, want its end", pid)
	}
	list := c.call("pty_list", `{}`)
	if !strings.Contains(list, "Status: killed\n") || strings.Contains(list, "exit:") {
		t.Errorf("pty_list after pty_kill = %s, want status killed without an exit code", list)
	}

	id = c.sh("echo ready; exec sleep 1000", "ready")
	pid = c.pid(id)
	got = c.call("pty_kill", about(id, `,"cleanup":true`))
	if !strings.Contains(got, "Killed: "+id+" (session removed)") {
		t.Errorf("pty_kill with cleanup = %s, want the session removed", got)
	}
	if alive(pid) {
		t.Errorf("process %d is alive after pty_kill with cleanup, want its end", pid)
	}
	if list = c.call("pty_list", `{}`); strings.Contains(list, id) {
		t.Errorf("pty_list after the cleanup = %s, want no %s", list, id)
	}
	if _, err := c.m.Get(id); err == nil {
		t.Errorf("the manager still has %s after the cleanup, want it forgotten", id)
	}
}

// pid returns the process id of a session's program.
func (c client) pid(id string) int {
	c.tb.Helper()
	s, err := c.m.Get(id)
	if err != nil {
		c.tb.Fatal(err)
	}
	return s.Info().About.Process.PID
}

func alive(pid int) bool { return unix.Kill(pid, 0) == nil }

// The programs end with the server.
func TestServerEnd(t *testing.T) {
	c := start(t)
	var pids []int
	for range 5 {
		pids = append(pids, c.pid(c.sh("trap '' HUP; echo ready; while :; do sleep 1000; done", "ready")))
	}
	c.m.Close(context.Background())
	for _, pid := range pids {
		for end := time.Now().Add(10 * time.Second); alive(pid); time.Sleep(20 * time.Millisecond) {
			if time.Now().After(end) { // a killed one may take a moment on a machine with much to do
				t.Fatalf("process %d is alive after the server's end, want its end", pid)
			}
		}
	}
	c.fails("pty_spawn", `{"command":"true"}`, "Error: ptyctl is shutting down")
}

// A cleanup leaves no session, no output and no goroutine.
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
		t.Errorf("after all cleanups %d sessions, %d live, %d bytes; want none", n, c.m.Live(), c.m.Buffered())
	}
	for end := time.Now().Add(patience); runtime.NumGoroutine() > before; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("after all cleanups %d goroutines, want %d", runtime.NumGoroutine(), before)
		}
	}
}

// All tools see the sessions of all tools, but pty_list shows only those of pty_spawn.
func TestOtherTools(t *testing.T) {
	c := connect(t, newLab(t, Options{}, session.Config{Retention: time.Minute},
		mcpapi.Options{Toolsets: []string{"core", "pty"}}), identity.Caller{})[0]
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
		t.Errorf("ptyctl_session list = %s, want %s and %s", got, id, other.SessionID)
	}
	if got := c.call("pty_list", `{}`); !strings.Contains(got, id) || strings.Contains(got, other.SessionID) {
		t.Errorf("pty_list = %s, want %s without %s", got, id, other.SessionID)
	}
	c.fails("pty_read", about(other.SessionID, ""), "Error: PTY session not found: "+other.SessionID)
	c.core("ptyctl_session", `{"action":"lock","session_id":"`+id+`","task_id":"t1"}`)
	c.fails("pty_write", about(id, `,"data":"x"`), "Error: task t1 holds this session's lock")
	c.fails("pty_kill", about(id, ""), "Error: task t1 holds this session's lock")
	if got := c.call("pty_list", `{}`); !strings.Contains(got, "Status: running") {
		t.Errorf("pty_list after a refused kill = %s, want status running", got)
	}
	c.core("ptyctl_session", `{"action":"close","session_id":"`+id+`","task_id":"t1"}`)
	if got := c.call("pty_list", `{}`); !strings.Contains(got, "Status: exited") {
		t.Errorf("pty_list after the other tool's close = %s, want status exited", got)
	}
}

// core calls a tool of ptyctl's own set.
func (c client) core(tool, arguments string) string {
	c.tb.Helper()
	r, err := c.CallTool(c.tb.Context(), sdkCall(tool, arguments))
	if err != nil || r.IsError {
		c.tb.Fatalf("call %s %s = %+v, %v, want success", tool, arguments, r, err)
	}
	return firstText(r)
}

// Isolated callers do not see each other's sessions. A caller that may only read can read
// and list, but not type.
func TestCallers(t *testing.T) {
	l := newLab(t, Options{}, session.Config{}, mcpapi.Options{})
	cs := connect(
		t,
		l,
		identity.Caller{Token: "a", Isolated: true, Transport: "stdio"},
		identity.Caller{Token: "b", Isolated: true, Transport: "stdio"},
		identity.Caller{Token: "r", ReadOnly: true, Transport: "stdio"},
	)
	a, b, reader := cs[0], cs[1], cs[2]
	id := a.sh("echo ready; cat", "ready")
	if got := b.call("pty_list", `{}`); strings.Contains(got, id) {
		t.Errorf("pty_list of another caller = %s, want no %s", got, id)
	}
	for tool, more := range map[string]string{"pty_read": "", "pty_write": `,"data":"x"`, "pty_kill": `,"cleanup":true`} {
		b.fails(tool, about(id, more), "Error: PTY session not found: "+id)
	}
	if got := a.call("pty_list", `{}`); !strings.Contains(got, id) {
		t.Errorf("pty_list of the caller = %s, want %s", got, id)
	}

	list, err := reader.ListTools(t.Context(), nil)
	if err != nil || len(list.Tools) != 2 || list.Tools[0].Name != "pty_list" || list.Tools[1].Name != "pty_read" {
		t.Errorf("tools of a read-only caller = %+v, %v, want pty_read and pty_list", list, err)
	}
	if got := reader.call("pty_read", about(id, "")); !strings.Contains(got, "ready") {
		t.Errorf("pty_read of a read-only caller = %s, want the output", got)
	}
	reader.fails(
		"pty_write",
		about(id, `,"data":"x"`),
		"Error: Permission denied: pty_write is refused: the token r has the role read",
	)
	reader.fails("pty_spawn", `{"command":"true"}`, "Error: Permission denied: pty_spawn is refused")
	reader.fails("pty_kill", about(id, ""), "Error: Permission denied: pty_kill is refused")
}

// The rules of PTY_PERMISSIONS apply to programs, folders and typed text.
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
	c := connect(t, newLab(t, Options{}, session.Config{Gate: rules.Rule, Observers: []term.Observer{seen}},
		mcpapi.Options{}), identity.Caller{})[0]
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
		t.Errorf("recorded refusals = %d, want 5", refused)
	}
}

// No result shows the environment of a program.
func TestEnvironmentIsNotShown(t *testing.T) {
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

// A title or command cannot imitate another session's entry.
func TestForgedEntry(t *testing.T) {
	c := start(t)
	c.spawn(
		argument(map[string]any{"command": "true", "args": []string{"\n[pty_ffffffff] fine\n  Status: running\x1b[8m"}}),
	)
	got := c.call("pty_list", `{}`)
	if strings.Contains(got, "\n[pty_ffffffff]") || strings.Contains(got, "\x1b") ||
		!strings.Contains(got, `  Command: true \n[pty_ffffffff] fine\n  Status: running\x1b[8m`) {
		t.Errorf("pty_list with hostile titles = %s, want their line ends and escapes visible", got)
	}
}

// Any number of clients may read while a program writes and other programs start and end.
func TestConcurrency(t *testing.T) {
	c := connect(t, newLab(t, Options{BufferLines: 500}, session.Config{}, mcpapi.Options{}), identity.Caller{})[0]
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
		t.Errorf("pty_list after all calls = %s, want one session, killed", got)
	}
}

// The set forgets sessions that the manager has forgotten.
func TestForgotten(t *testing.T) {
	all := new(Terminals)
	l := newLab(t, Options{}, session.Config{}, mcpapi.Options{})
	c := connect(t, l, identity.Caller{})[0]
	live, err := l.m.Get(c.sh("echo ready; cat", "ready"))
	if err != nil {
		t.Fatal(err)
	}
	listed, gone := func(*session.Session) bool { return true }, func(*session.Session) bool { return false }
	all.add(live, gone)
	all.add(live, listed)
	if len(all.byID) != 1 || all.get(live.ID()) == nil {
		t.Errorf("terminals = %v, want only %s", all.byID, live.ID())
	}
	all.byID["pty_00000000"] = &terminal{Session: live}
	all.add(live, func(*session.Session) bool { return false })
	if all.get("pty_00000000") != nil {
		t.Error("the set has pty_00000000, want it forgotten like in the manager")
	}
}

// A diary collects events.
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
