package mcpapi

import "ptyctl/session"

var execTool = tool{
	name:  "ptyctl_session_exec",
	title: "Run a command",
	about: "Run a command and get its output and true exit code. Until something is typed into the terminal (or profile is a device) it runs beside it: split streams, in parallel. After that it is typed there, and shares its directory, environment and sudo; lane overrides. If done_reason is running, answer waiting_for with ptyctl_session_io write, then call with exec_id alone.",
	actions: []action{
		{example: `{"session_id":"web1-k3f9q2zd","cmd":"uname -a"}`},
	},
	fields: []field{
		{name: "session_id", kind: kindString, required: everyAction, nonEmpty: true},
		{name: "cmd", kind: kindString, about: "the command, for the remote shell"},
		{name: "timeout_ms", kind: kindInteger, about: "then the command is stopped; default 60000", min: 1, max: 1 << 40},
		{name: "cwd", kind: kindString, nonEmpty: true},
		{name: "env", kind: kindStrings, about: "NAME=value; servers accept few (AcceptEnv)"},
		{name: "stdin", kind: kindString},
		{name: "stdin_encoding", kind: kindString, enum: encodings},
		{name: "max_output_bytes", kind: kindInteger, about: "per stream; default 16384, the middle is cut", min: 1, max: 1 << 40},
		{name: "lane", kind: kindString, enum: []string{"auto", "channel", "terminal"}},
		{name: "queue", kind: kindBoolean, about: "terminal lane: wait for its turn, instead of BUSY"},
		{name: "exec_id", kind: kindString, about: "go on waiting for this one", nonEmpty: true},
		{name: "cancel", kind: kindBoolean, about: "stop exec_id"},
		{name: "stop_on_cancel", kind: kindBoolean, about: "stop the command when this call is cancelled", unlisted: true},
		{name: "task_id", kind: kindString, about: "your name for locks", nonEmpty: true},
		expectField("patterns for this call", nil),
		{name: "until_idle_ms", kind: kindInteger, about: "terminal lane, devices: quiet that ends the wait", min: 1, max: 1 << 40},
		{name: "class", kind: kindString, about: "terminal lane: what reads the line; found out", enum: session.Classes()},
		{name: "rc_mode", kind: kindObject, about: "terminal lane: exit code marker", fields: []field{
			{name: "enabled", kind: kindBoolean},
			{name: "marker_prefix", kind: kindString},
			{name: "marker_suffix", kind: kindString},
		}},
		requestIDField(nil),
	},
	output: []field{
		{name: "stdout", kind: kindString},
		{name: "stderr", kind: kindString},
		{name: "done_reason", kind: kindString},
		{name: "timed_out", kind: kindBoolean},
		{name: "duration_ms", kind: kindInteger},
		{name: "exec_lane", kind: kindString},
		{name: "exec_id", kind: kindString},
		{name: "waiting_for", kind: kindObject},
		{name: "stderr_merged", kind: kindBoolean},
		{name: "pages", kind: kindInteger, unlisted: true},
		{name: "lost_bytes", kind: kindInteger, unlisted: true},
		{name: "stdout_bytes", kind: kindInteger, unlisted: true},
		{name: "stderr_bytes", kind: kindInteger, unlisted: true},
		{name: "truncated", kind: kindBoolean},
		{name: "stdout_encoding", kind: kindString, unlisted: true},
		{name: "stderr_encoding", kind: kindString, unlisted: true},
		{name: "stdout_omitted", kind: kindObject},
		{name: "stderr_omitted", kind: kindObject},
		{name: "exit_signal", kind: kindString, unlisted: true},
		{name: "killed", kind: kindString, unlisted: true},
		{name: "background_output", kind: kindBoolean, unlisted: true},
		{name: "error_hints", kind: kindStrings},
		{name: "warnings", kind: kindStrings, unlisted: true},
	},
	hints: hints{destructive: true, openWorld: true},
}

var (
	everyAction = []string{"*"}
	encodings   = []string{"utf-8", "base64"}
)
