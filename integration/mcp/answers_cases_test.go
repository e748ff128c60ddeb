package mcp

import (
	"fmt"
	"slices"

	"ptyctl/internal/lab"
)

// answerCases are calls as agents make them, with one of each kind of answer.
var answerCases = []answerCase{
	{name: "open, SSH", tool: lab.ToolSession, args: `{"action":"open","protocol":"ssh","host":"web1"}`, keep: "S"},
	{name: "open that asks", tool: lab.ToolSession, args: `{"action":"open","protocol":"ssh","host":"db1"}`},
	{name: "open, Telnet", tool: lab.ToolSession, args: `{"action":"open","protocol":"telnet","host":"127.0.0.1","port":$SWITCH}`},
	{name: "open, local", tool: lab.ToolSession, args: `{"action":"open","protocol":"local","argv":["bash"]}`},

	{name: "exec, a word", tool: lab.ToolExec, args: `{"session_id":"$S","cmd":"echo hello"}`},
	{name: "exec, a table", tool: lab.ToolExec, args: `{"session_id":"$S","cmd":"df -h"}`},
	{name: "exec that fails", tool: lab.ToolExec, args: `{"session_id":"$S","cmd":"systemctl restart nginx"}`},
	{name: "exec with match", tool: lab.ToolExec, args: `{"session_id":"$S","cmd":"journalctl -u nginx","match":":2[0-3] "}`},
	{name: "exec of 1 MB, cut", tool: lab.ToolExec, args: `{"session_id":"$S","cmd":"seq -f 'line %06g of the log' 1 45590"}`, keep: "E"},
	{name: "read of its middle", tool: lab.ToolIO, args: `{"action":"read","session_id":"$S","exec_id":"$E","cursor":"500000","max_bytes":1000}`},
	{name: "exec that goes on", tool: lab.ToolExec, args: `{"session_id":"$S","cmd":"migrate","wait_ms":1000}`, keep: "E", slow: true, then: (*answerSite).migrated},
	{name: "exec, the rest of it", tool: lab.ToolExec, args: `{"session_id":"$S","exec_id":"$E"}`, slow: true},
	{name: "exec, out of time", tool: lab.ToolExec, args: `{"session_id":"$S","cmd":"sleep 60","timeout_ms":1000}`, slow: true},

	{tool: lab.ToolIO, args: untilShell(`"action":"read","cursor":"0"`)},
	{name: "read that got nothing", tool: lab.ToolIO, args: `{"action":"read","session_id":"$S","timeout_ms":1000}`},
	{name: "write", tool: lab.ToolIO, args: `{"action":"write","session_id":"$S","data":"df -h\r"}`, keep: "C"},
	{name: "read of what came", tool: lab.ToolIO, args: untilShell(`"action":"read","cursor":"$C"`)},
	{name: "write and wait", tool: lab.ToolIO, args: untilShell(`"action":"write","data":"journalctl -u nginx\r"`)},
	{name: "read without a match", tool: lab.ToolIO, args: `{"action":"read","session_id":"$S","until_regex":"ready","timeout_ms":1000}`},
	{name: "write of two steps", tool: lab.ToolIO, args: `{"action":"write","session_id":"$S","steps":[` +
		`{"data":"cd app\r","until_regex":"\\$ $"},{"data":"cat config.toml\r","until_regex":"\\$ $"}]}`},
	{tool: lab.ToolIO, args: `{"action":"write","session_id":"$S","data":"cd\r","until_regex":"\\$ $"}`},
	{tool: lab.ToolIO, args: `{"action":"write","session_id":"$S","data":"df -h\r"}`, keep: "C"},
	{name: "wait", tool: lab.ToolSession, args: `{"action":"wait","on":[{"session_id":"$S","cursor":"$C","until_regex":"demo@web1:~\\$ $"}],"timeout_ms":30000}`},
	{name: "search", tool: lab.ToolIO, args: `{"action":"search","session_id":"$S","pattern":"/srv|:2[0-3] "}`},
	{name: "exec, typed", tool: lab.ToolExec, args: `{"session_id":"$S","cmd":"echo hello"}`},
	{name: "exec that waits for a password", tool: lab.ToolExec, args: `{"session_id":"$S","cmd":"sudo systemctl restart nginx"}`, keep: "E"},
	{tool: lab.ToolIO, args: `{"action":"write","session_id":"$S","data":"an-evening-1138\r","sensitive":true}`},
	{tool: lab.ToolExec, args: `{"session_id":"$S","exec_id":"$E"}`},

	{name: "status", tool: lab.ToolSession, args: `{"action":"status","session_id":"$S"}`},
	{name: "lock", tool: lab.ToolSession, args: `{"action":"lock","session_id":"$S","task_id":"deploy"}`},
	{name: "error: locked", tool: lab.ToolIO, args: `{"action":"write","session_id":"$S","data":"reboot\r","task_id":"upgrade"}`},
	{name: "error: a wrong argument", tool: lab.ToolExec, args: `{"session_id":"$S","command":"df -h"}`},
	{name: "error: not connected", tool: lab.ToolSession, args: `{"action":"open","protocol":"ssh","host":"127.0.0.1","port":$NOTHING,"username":"demo"}`},
	{name: "config get", tool: lab.ToolConfig, args: `{"action":"get","session_id":"$S"}`},

	{name: "fs read", tool: "ptyctl_fs", args: `{"action":"read","session_id":"$S","path":"app/config.toml"}`},
	{name: "fs list", tool: "ptyctl_fs", args: `{"action":"list","session_id":"$S","path":"app"}`},
	{name: "fs stat", tool: "ptyctl_fs", args: `{"action":"stat","session_id":"$S","path":"app/run.sh"}`},
	{name: "fs write", tool: "ptyctl_fs", args: `{"action":"write","session_id":"$S","path":"app/config.toml","data":"debug = true\n","task_id":"deploy"}`},

	{name: "run", tool: lab.ToolRun, args: `{"argv":["echo","hello"]}`},
	{name: "health", tool: lab.ToolHealth, args: `{}`},
	{name: "close", tool: lab.ToolSession, args: `{"action":"close","session_id":"$S","task_id":"deploy"}`},
}

// untilShell is a read of web1's terminal, or a write, up to its prompt.
func untilShell(members string) string {
	return `{"session_id":"$S",` + members + `,"until_regex":"demo@web1:~\\$ $","timeout_ms":30000}`
}

// listCases are about the list of sessions alone.
var listCases = slices.Concat(
	[]answerCase{{name: "list of none", tool: lab.ToolSession, args: `{"action":"list"}`}}, openWebs(1, 1),
	[]answerCase{{name: "list of 1", tool: lab.ToolSession, args: `{"action":"list"}`}}, openWebs(2, 3),
	[]answerCase{{name: "list of 3", tool: lab.ToolSession, args: `{"action":"list"}`}}, openWebs(4, 100),
	[]answerCase{{name: "list of 100", tool: lab.ToolSession, args: `{"action":"list"}`}},
)

// openWebs opens a session on each of several hosts like web1, and waits for their prompts.
func openWebs(from, to int) (list []answerCase) {
	for n := from; n <= to; n++ {
		list = append(
			list,
			answerCase{
				tool: lab.ToolSession, keep: "S",
				args: fmt.Sprintf(`{"action":"open","protocol":"ssh","host":"web%d"}`, n),
			},
			answerCase{tool: lab.ToolIO, args: untilShell(`"action":"read","cursor":"0"`)},
		)
	}
	return list
}
