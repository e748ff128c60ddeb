package mcpapi

var runTool = tool{
	name:  "ptyctl_run",
	title: "Run a program here",
	about: "Run one program on this machine, without a terminal, and get its output, errors and exit code. argv is the program and its arguments; for a command line pass [\"bash\",\"-c\",\"...\"]. It gets a clean environment, and what it leaves running is ended; limits {cpu_s, memory_bytes, open_files, processes} bound it. If done_reason is running, go on with ptyctl_session_exec {session_id, exec_id}. For anything interactive open a session with protocol local.",
	actions: []action{
		{example: `{"argv":["go","test","./..."],"cwd":"/srv/app"}`},
	},
	fields: []field{
		{name: "argv", kind: kindStrings, about: "program and arguments", required: everyAction},
		{name: "cwd", kind: kindString, nonEmpty: true},
		{name: "env", kind: kindStrings, about: "NAME=value"},
		{name: "stdin", kind: kindString},
		{name: "stdin_encoding", kind: kindString, enum: encodings, unlisted: true},
		{name: "timeout_ms", kind: kindInteger, about: "then it gets TERM; default 60000", min: 1, max: 1 << 40},
		{name: "grace_ms", kind: kindInteger, about: "from TERM to KILL; default 2000", min: 1, max: 60_000},
		{name: "max_output_bytes", kind: kindInteger, about: "per stream; default 16384, the middle is cut", min: 1, max: 1 << 40},
		limitsField(nil, true),
		{name: "title", kind: kindString, nonEmpty: true, unlisted: true},
		{name: "request_id", kind: kindString, nonEmpty: true, unlisted: true},
	},
	output: []field{
		{name: "signal", kind: kindString, unlisted: true},
		{name: "rc_reason", kind: kindString, unlisted: true},
		{name: "stdout", kind: kindString},
		{name: "stderr", kind: kindString},
		{name: "done_reason", kind: kindString},
		{name: "timed_out", kind: kindBoolean, unlisted: true},
		{name: "duration_ms", kind: kindInteger, unlisted: true},
		{name: "cwd", kind: kindString, unlisted: true},
		{name: "usage", kind: kindObject, unlisted: true},
		{name: "limit_exceeded", kind: kindString, unlisted: true},
		{name: "limit_suspected", kind: kindStrings, unlisted: true},
		{name: "truncated", kind: kindBoolean, unlisted: true},
		{name: "session_id", kind: kindString},
		{name: "exec_id", kind: kindString},
		{name: "stdout_bytes", kind: kindInteger, unlisted: true},
		{name: "stderr_bytes", kind: kindInteger, unlisted: true},
		{name: "stdout_encoding", kind: kindString, unlisted: true},
		{name: "stderr_encoding", kind: kindString, unlisted: true},
		{name: "stdout_omitted", kind: kindObject, unlisted: true},
		{name: "stderr_omitted", kind: kindObject, unlisted: true},
		{name: "killed", kind: kindString, unlisted: true},
		{name: "warnings", kind: kindStrings, unlisted: true},
	},
	hints: hints{destructive: true, openWorld: true},
}

var healthTool = tool{
	name:    "ptyctl_health",
	title:   "State of ptyctl",
	about:   "The version of ptyctl, how long it runs, and how many sessions and commands it has.",
	reading: "The version of ptyctl, how long it runs, and its numbers.",
	actions: []action{{example: `{}`, reads: true}},
	output: []field{
		{name: "version", kind: kindString},
		{name: "go_version", kind: kindString, unlisted: true},
		{name: "uptime_s", kind: kindInteger, unlisted: true},
		{name: "counts", kind: kindObject, unlisted: true},
		{name: "running_execs", kind: kindInteger, unlisted: true},
		{name: "waiting_reads", kind: kindInteger, unlisted: true},
		{name: "buffered_bytes", kind: kindInteger, unlisted: true},
	},
	hints: hints{readOnly: true, idempotent: true},
}

// limitsField is what a program on this machine may use.
func limitsField(actions []string, unlisted bool) field {
	const most = 1 << 40
	return field{name: "limits", kind: kindObject, about: "of each process; processes: of all together", actions: actions, unlisted: unlisted, fields: []field{
		{name: "cpu_s", kind: kindInteger, min: 1, max: 1 << 30},
		{name: "memory_bytes", kind: kindInteger, min: 1 << 20, max: most},
		{name: "open_files", kind: kindInteger, min: 4, max: 1 << 20},
		{name: "processes", kind: kindInteger, min: 1, max: 1 << 20},
	}}
}
