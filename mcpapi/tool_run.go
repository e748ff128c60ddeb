package mcpapi

import "ptyctl/term"

var runTool = Tool{
	Name:  "ptyctl_run",
	Title: "Run a program here",
	About: "Run one program on this machine, without a terminal, and get its output, errors and exit code. argv is the program and its arguments; for a command line pass [\"bash\",\"-c\",\"...\"]. It gets a clean environment, and what it leaves running is ended; limits {cpu_s, memory_bytes, open_files, processes} bound it. If done_reason is running, go on with ptyctl_session_exec {session_id, exec_id}. For anything interactive open a session with protocol local.",
	Actions: []Action{
		{Example: `{"argv":["go","test","./..."],"cwd":"/srv/app"}`, Verb: term.VerbExec},
	},
	Fields: []Field{
		{Name: "argv", Kind: KindStrings, About: "program and arguments", Required: everyAction},
		{Name: "cwd", Kind: KindString, NonEmpty: true},
		{Name: "env", Kind: KindStrings, About: "NAME=value"},
		{Name: "stdin", Kind: KindString},
		{Name: "stdin_encoding", Kind: KindString, Enum: encodings, Unlisted: true},
		{Name: "timeout_ms", Kind: KindInteger, About: "then it gets TERM; default 60000", Min: 1, Max: 1 << 40},
		{Name: "grace_ms", Kind: KindInteger, About: "from TERM to KILL; default 2000", Min: 1, Max: 60_000},
		{Name: "max_output_bytes", Kind: KindInteger, About: "per stream; default 16384, the middle is cut", Min: 1, Max: 1 << 40},
		limitsField(nil, true),
		{Name: "title", Kind: KindString, NonEmpty: true, Unlisted: true},
		{Name: "request_id", Kind: KindString, NonEmpty: true, Unlisted: true},
	},
	Output: []Field{
		{Name: "signal", Kind: KindString, Unlisted: true},
		{Name: "rc_reason", Kind: KindString, Unlisted: true},
		{Name: "stdout", Kind: KindString},
		{Name: "stderr", Kind: KindString},
		{Name: "done_reason", Kind: KindString},
		{Name: "timed_out", Kind: KindBoolean, Unlisted: true},
		{Name: "duration_ms", Kind: KindInteger, Unlisted: true},
		{Name: "cwd", Kind: KindString, Unlisted: true},
		{Name: "usage", Kind: KindObject, Unlisted: true},
		{Name: "limit_exceeded", Kind: KindString, Unlisted: true},
		{Name: "limit_suspected", Kind: KindStrings, Unlisted: true},
		{Name: "truncated", Kind: KindBoolean, Unlisted: true},
		{Name: "session_id", Kind: KindString},
		{Name: "exec_id", Kind: KindString},
		{Name: "stdout_bytes", Kind: KindInteger, Unlisted: true},
		{Name: "stderr_bytes", Kind: KindInteger, Unlisted: true},
		{Name: "stdout_encoding", Kind: KindString, Unlisted: true},
		{Name: "stderr_encoding", Kind: KindString, Unlisted: true},
		{Name: "stdout_omitted", Kind: KindObject, Unlisted: true},
		{Name: "stderr_omitted", Kind: KindObject, Unlisted: true},
		{Name: "killed", Kind: KindString, Unlisted: true},
		{Name: "warnings", Kind: KindStrings, Unlisted: true},
	},
	Hints: Hints{Destructive: true, OpenWorld: true},
	Local: true,
}

var healthTool = Tool{
	Name:    "ptyctl_health",
	Title:   "State of ptyctl",
	About:   "The version of ptyctl, how long it runs, and how many sessions and commands it has.",
	Reading: "The version of ptyctl, how long it runs, and its numbers.",
	Actions: []Action{{Example: `{}`, Reads: true, Verb: term.VerbRead}},
	Output: []Field{
		{Name: "version", Kind: KindString},
		{Name: "go_version", Kind: KindString, Unlisted: true},
		{Name: "uptime_s", Kind: KindInteger, Unlisted: true},
		{Name: "counts", Kind: KindObject, Unlisted: true},
		{Name: "running_execs", Kind: KindInteger, Unlisted: true},
		{Name: "waiting_reads", Kind: KindInteger, Unlisted: true},
		{Name: "buffered_bytes", Kind: KindInteger, Unlisted: true},
	},
	Hints: Hints{ReadOnly: true, Idempotent: true},
}

// limitsField is what a program on this machine may use.
func limitsField(actions []string, unlisted bool) Field {
	const most = 1 << 40
	return Field{
		Name:     "limits",
		Kind:     KindObject,
		About:    "of each process; processes: of all together",
		Actions:  actions,
		Unlisted: unlisted,
		Fields: []Field{
			{Name: "cpu_s", Kind: KindInteger, Min: 1, Max: 1 << 30},
			{Name: "memory_bytes", Kind: KindInteger, Min: 1 << 20, Max: most},
			{Name: "open_files", Kind: KindInteger, Min: 4, Max: 1 << 20},
			{Name: "processes", Kind: KindInteger, Min: 1, Max: 1 << 20},
		},
	}
}
