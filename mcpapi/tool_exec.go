package mcpapi

import "ptyctl/session/shell"

var execTool = Tool{
	Name:  "ptyctl_session_exec",
	Title: "Run a command",
	About: "Run a command and get its output and true exit code. Until something is typed into the terminal (or profile is a device) it runs beside it: split streams, in parallel. After that it is typed there, and shares its directory, environment and sudo; lane overrides. If done_reason is running, answer waiting_for with ptyctl_session_io write, then call with exec_id alone.",
	Actions: []Action{
		{Example: `{"session_id":"web1-k3f9q2zd","cmd":"uname -a"}`},
	},
	Fields: []Field{
		{Name: "session_id", Kind: KindString, Required: everyAction, NonEmpty: true},
		{Name: "cmd", Kind: KindString, About: "line for the shell"},
		{Name: "argv", Kind: KindStrings, About: "words instead, never parsed"},
		{Name: "timeout_ms", Kind: KindInteger, About: "stops the command; default 60000", Min: 1, Max: 1 << 40},
		{Name: "cwd", Kind: KindString, NonEmpty: true},
		{Name: "env", Kind: KindStrings, About: "NAME=value; servers take few"},
		{Name: "stdin", Kind: KindString},
		{Name: "stdin_encoding", Kind: KindString, Enum: encodings},
		{Name: "max_output_bytes", Kind: KindInteger, About: "per stream; default 16384", Min: 1, Max: 1 << 40},
		{Name: "lane", Kind: KindString, Enum: []string{"auto", "channel", "terminal"}},
		{Name: "queue", Kind: KindBoolean, About: "terminal lane: wait for its turn"},
		{Name: "exec_id", Kind: KindString, About: "go on waiting for this one", NonEmpty: true},
		{Name: "cancel", Kind: KindBoolean, About: "stop exec_id"},
		{Name: "stop_on_cancel", Kind: KindBoolean, About: "stop the command when this call is cancelled", Unlisted: true},
		{Name: "task_id", Kind: KindString, About: "your name for locks", NonEmpty: true},
		expectField("patterns for this call", nil),
		{Name: "until_idle_ms", Kind: KindInteger, About: "terminal lane, devices: quiet that ends the wait", Min: 1, Max: 1 << 40},
		{Name: "class", Kind: KindString, About: "terminal lane: what reads the line; found out", Enum: shell.Classes()},
		{Name: "rc_mode", Kind: KindObject, About: "terminal lane: exit code marker", Fields: []Field{
			{Name: "enabled", Kind: KindBoolean},
			{Name: "marker_prefix", Kind: KindString},
			{Name: "marker_suffix", Kind: KindString},
		}},
		requestIDField(nil),
	},
	Output: []Field{
		{Name: "stdout", Kind: KindString},
		{Name: "stderr", Kind: KindString},
		{Name: "done_reason", Kind: KindString},
		{Name: "timed_out", Kind: KindBoolean},
		{Name: "duration_ms", Kind: KindInteger},
		{Name: "exec_lane", Kind: KindString},
		{Name: "exec_id", Kind: KindString},
		{Name: "waiting_for", Kind: KindObject},
		{Name: "stderr_merged", Kind: KindBoolean},
		{Name: "pages", Kind: KindInteger, Unlisted: true},
		{Name: "lost_bytes", Kind: KindInteger, Unlisted: true},
		{Name: "stdout_bytes", Kind: KindInteger, Unlisted: true},
		{Name: "stderr_bytes", Kind: KindInteger, Unlisted: true},
		{Name: "truncated", Kind: KindBoolean},
		{Name: "stdout_encoding", Kind: KindString, Unlisted: true},
		{Name: "stderr_encoding", Kind: KindString, Unlisted: true},
		{Name: "stdout_omitted", Kind: KindObject},
		{Name: "stderr_omitted", Kind: KindObject},
		{Name: "exit_signal", Kind: KindString, Unlisted: true},
		{Name: "killed", Kind: KindString, Unlisted: true},
		{Name: "background_output", Kind: KindBoolean, Unlisted: true},
		{Name: "error_hints", Kind: KindStrings},
		{Name: "warnings", Kind: KindStrings, Unlisted: true},
	},
	Hints: Hints{Destructive: true, OpenWorld: true},
}

var (
	everyAction = []string{"*"}
	encodings   = []string{"utf-8", "base64"}
)
