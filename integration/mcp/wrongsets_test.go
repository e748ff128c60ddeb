package mcp

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ptyctl/internal/lab"
)

const (
	kpty   = "k_pty"
	kRun   = `{"action":"run","session_id":"$K","command":"echo done"}`
	kSpawn = `{"action":"spawn","shell":"bash"}`
)

// The tools of other programs, as far as the forms of their errors allow.
var wrongSetCalls = []wrongCall{
	{tool: kpty, args: `{}`, says: []string{"action is missing", "list"}, then: `{"action":"list"}`, gets: "$K"},
	{tool: kpty, args: `{"action":"open","shell":"bash"}`, says: []string{"spawn"}, then: kSpawn},
	{tool: kpty, args: `{"action":"spwan"}`, says: []string{"spawn", "cwd"}, then: `{"action":"spawn","cwd":"$DIR"}`},
	{tool: kpty, args: `{"action":"exec","session_id":"$K","command":"echo done"}`, says: []string{"run"}, then: kRun, gets: "done"},
	{tool: kpty, args: `{"action":"run","session_id":"$K","cmd":"echo done"}`, says: []string{"use command;"}, then: kRun, gets: "done"},
	{tool: kpty, args: `{"action":"run","session_id":"$K"}`, says: []string{"command"}, then: kRun, gets: "done"},
	{tool: kpty, args: `{"action":"run","command":"echo done"}`, says: []string{"session_id is missing"}, then: kRun, gets: "done"},
	{tool: kpty, args: `{"action":"run","session_id":"$K","command":"echo done","timeout":30}`, says: []string{"use timeout_ms (milliseconds)"}, then: `{"action":"run","session_id":"$K","command":"echo done","timeout_ms":30000}`, gets: "done"},
	{tool: kpty, args: `{"action":"read","session_id":"bash-abcdefgh"}`, says: []string{"list shows"}, then: `{"action":"list"}`, gets: "$K"},
	{tool: kpty, args: `{"action":"write","session_id":"$K","text":"\r"}`, says: []string{"use data;"}, then: `{"action":"write","session_id":"$K","data":"\r"}`},
	{tool: kpty, args: `{"action":"resize","session_id":"$K","width":100,"rows":30}`, says: []string{"use cols;"}, then: `{"action":"resize","session_id":"$K","cols":100,"rows":30}`},
	{tool: "shell_run", args: `{"command":"echo done"}`, says: []string{"use argv;"}, then: `{"argv":["/bin/echo","done"]}`, gets: `"rc":0`},
	{tool: "shell_run", args: `{"argv":"/bin/echo done"}`, says: []string{"argv must be an array of strings"}, then: `{"argv":["/bin/echo","done"]}`, gets: `"rc":0`},
	{tool: "shell_run", args: `{"argv":["/bin/echo"],"env":["A=1"]}`, says: []string{"env must be a JSON object"}, then: `{"argv":["/bin/echo"],"env":{"A":"1"}}`, gets: `"rc":0`},
	{tool: "shell_run", args: `{"argv":["cat"],"stdin":"hello!"}`, says: []string{"base64"}, then: `{"argv":["cat"],"stdin":"aGVsbG8h"}`, gets: "aGVsbG8h"},
	{tool: "pty_open", args: `{"cmd":["bash"]}`, says: []string{"argv"}, then: `{"argv":["bash"]}`},
	{tool: "pty_send", args: `{"session_id":"$A","data":"Cg=="}`, says: []string{"use id;"}, then: `{"id":"$A","data":"Cg=="}`},
	{tool: "pty_send", args: `{"id":"$A","data":"ls\n"}`, says: []string{"base64"}, then: `{"id":"$A","data":"bHMK"}`},
	{tool: "pty_signal", args: `{"id":"$A","signal":"SIGFOO"}`, says: []string{"INT"}, then: `{"id":"$A","signal":"INT"}`},
	{tool: "pty_resize", args: `{"id":"$A","width":80,"height":24}`, says: []string{"cols", "rows"}, then: `{"id":"$A","cols":80,"rows":24}`},
	{tool: "fs_readFile", args: `{"file":"$DIR/f"}`, says: []string{"use path;"}, then: `{"path":"$DIR/f"}`, gets: "dGV4dA=="},
	{tool: "fs_writeFile", args: `{"path":"$DIR/g","data":"text!"}`, says: []string{"base64"}, then: `{"path":"$DIR/g","data":"dGV4dCE="}`},
}

// The set pty has a tool with the name of one of aiterm's, so they are offered apart.
var wrongPTYCalls = []wrongCall{
	{tool: "pty_spawn", args: `{}`, says: []string{"command"}, then: `{"command":"true"}`},
	{tool: "pty_spawn", args: `{"cmd":"true"}`, says: []string{"use command;"}, then: `{"command":"true"}`},
	{tool: "pty_spawn", args: `{"command":"echo","args":"done"}`, says: []string{"args must be an array of strings"}, then: `{"command":"echo","args":["done"]}`},
	{tool: "pty_spawn", args: `{"command":"true","cwd":"/tmp"}`, says: []string{"use workdir;"}, then: `{"command":"true","workdir":"/tmp"}`},
	{tool: "pty_write", args: `{"session_id":"$P","data":"\r"}`, says: []string{"use id;"}, then: `{"id":"$P","data":"\r"}`},
	{tool: "pty_write", args: `{"id":"$P","input":"\r"}`, says: []string{"use data;"}, then: `{"id":"$P","data":"\r"}`},
	{tool: "pty_read", args: `{"id":"$P","max_lines":10}`, says: []string{"limit"}, then: `{"id":"$P","limit":10}`},
	{tool: "pty_read", args: `{"id":"$P","pattern":"("}`, says: []string{"pattern"}, then: `{"id":"$P","pattern":"[(]"}`},
	{tool: "pty_read", args: `{}`, says: []string{"id"}, by: "pty_read", then: `{"id":"$P"}`},
	{tool: "pty_kill", args: `{"id":"$P","force":true}`, says: []string{"cleanup"}, then: `{"id":"$P","cleanup":true}`},
}

// A caller that may only read: no answer leads to a call that types.
var wrongReadingCalls = []wrongCall{
	{tool: lab.ToolSession, args: `{"action":"open","protocol":"local","argv":["bash"]}`, says: []string{"read-only", "listed"}, then: `{"action":"list"}`},
	{tool: lab.ToolSession, args: `{"action":"opn"}`, says: []string{"list", "status"}, then: `{"action":"list"}`},
	{tool: lab.ToolSession, args: `{}`, says: []string{"action is missing", "list"}, then: `{"action":"list"}`},
	{tool: lab.ToolSession, args: `{"action":"list","filter":"x"}`, says: []string{"state", "host"}, then: `{"action":"list","host":"x"}`},
	{tool: lab.ToolExec, args: `{"session_id":"web1-abcdefgh","cmd":"ls"}`, says: []string{"read-only", "listed"}, by: lab.ToolSession, then: `{"action":"list"}`},
	{tool: lab.ToolIO, args: `{"action":"read","session_id":"web1-abcdefgh"}`, says: []string{"ptyctl_session list"}, by: lab.ToolSession, then: `{"action":"list"}`},
	{tool: toolFiles, args: `{"action":"write","path":"$DIR/f","data":"x"}`, says: []string{"read-only"}, then: `{"action":"read","path":"$DIR/f"}`, gets: "text"},
	{tool: toolFiles, args: `{"action":"read","file":"$DIR/f"}`, says: []string{"use path;"}, then: `{"action":"read","path":"$DIR/f"}`, gets: "text"},
	{tool: "ptyctl_sessions", args: `{}`, says: []string{"use ptyctl_session list"}, by: lab.ToolSession, then: `{"action":"list"}`},
	{tool: "ssh_execute", args: `{"command":"true"}`, says: []string{"tools/list"}}, // it means a tool that types
}

// unknownTools are calls of tools that do not exist.
var unknownTools = []wrongCall{
	{tool: "ptyctl_sessions", args: `{}`, says: []string{"use ptyctl_session list"}, by: lab.ToolSession, then: `{"action":"list"}`},
	{tool: "ssh_execute", args: `{"command":"true"}`, says: []string{"use ptyctl_session_exec", "session_id"}, by: lab.ToolSession, then: `{"action":"list"}`},
	{tool: "ptyctl_version", args: `{}`, says: []string{"use ptyctl_health"}, by: lab.ToolHealth, then: `{}`},
	{tool: "frobnicate", args: `{}`, says: []string{"not found; tools/list shows the tools"}},
}

// TestSecondCallOfSets: TestSecondCall for the optional tools, for callers that may only read, and over HTTP.
func TestSecondCallOfSets(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "f"), []byte("text"), 0o600); err != nil {
		t.Fatal(err)
	}
	home := func() *lab.Home {
		return lab.NewHome(t, "[fs]", "roots = ['"+dir+"']")
	}
	t.Run("k_pty and aiterm", func(t *testing.T) {
		c := home().Connect(t, "--toolsets", "core,k_pty,aiterm")
		k := callKPTY(t, c, kSpawn).SessionID
		a := (&aiterm{c, nil}).do(t, "pty_open", `{"argv":["bash"],"env":{}}`).ID
		checkSecondCalls(t, c.Tools, strings.NewReplacer("$DIR", dir, "$K", k, "$A", a), wrongSetCalls)
		endPrograms(t, c)
	})
	t.Run("pty", func(t *testing.T) {
		c := home().Connect(t, "--toolsets", "core,pty")
		p := ptyTools{c.Tools, t}.spawn("cat")
		checkSecondCalls(t, c.Tools, strings.NewReplacer("$P", p), wrongPTYCalls)
		endPrograms(t, c)
	})
	t.Run("reading", func(t *testing.T) {
		c := home().Connect(t, "--read-only")
		checkSecondCalls(t, c.Tools, strings.NewReplacer("$DIR", dir), wrongReadingCalls)
	})
	t.Run("HTTP", func(t *testing.T) {
		h := home()
		h.Write(t, h.Config, "[server.http]\ntokens_file = '"+h.TokensFile(t)+"'\n")
		p, url := h.StartHTTP(t)
		checkSecondCalls(t, p.Dial(t, url, lab.OpsToken).Tools, strings.NewReplacer(), unknownTools)
		checkSecondCalls(t, p.Dial(t, url, lab.CiToken).Tools, strings.NewReplacer("$DIR", dir),
			wrongReadingCalls[8:])
	})
}
