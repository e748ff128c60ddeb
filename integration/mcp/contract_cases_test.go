package mcp

import "ptyctl/internal/lab"

// contractArguments are the arguments that clients of the four tools may give, by tool.
var contractArguments = map[string]string{
	lab.ToolSession: "action session_id force lock_ttl_ms task_id protocol host port username auth auth.method " +
		"auth.password auth.private_key_pem auth.passphrase pty pty.enabled pty.cols pty.rows pty.term timeouts " +
		"timeouts.connect_timeout_ms timeouts.idle_timeout_ms ssh_options ssh_options.host_key_policy " +
		"ssh_options.known_hosts_path ssh_options.host_key_fingerprint ssh_options.use_openssh_config " +
		"ssh_options.config_path ssh_options.extra_args expect expect.prompt_regex expect.pager_regexes " +
		"expect.error_regexes session_type device_id acquire_lock",
	lab.ToolExec: "session_id cmd timeout_ms until_idle_ms rc_mode rc_mode.enabled rc_mode.marker_prefix " +
		"rc_mode.marker_suffix expect expect.prompt_regex expect.pager_regexes expect.error_regexes task_id",
	lab.ToolIO: "session_id action data key encoding sensitive task_id mode cursor timeout_ms max_bytes max_lines " +
		"until_regex include_match until_idle_ms input_hints input_hints.wait_for_regexes",
	lab.ToolConfig: "session_id action cols rows expect expect.prompt_regex expect.pager_regexes expect.error_regexes",
}

// contractResults are the members that they may read, by tool.
var contractResults = map[string]string{
	lab.ToolSession: "action success session_id protocol pty_enabled server_banner security_warning sessions " +
		"capabilities capabilities.supports_split_stdout_stderr capabilities.supports_exit_code " +
		"capabilities.supports_resize lock_holder lock_expires_at lock_acquired existing_session_id " +
		"error_code message details",
	lab.ToolExec: "stdout stderr exit_code exit_code_reason done_reason prompt_detected error_hints timed_out duration_ms " +
		"error_code message details",
	lab.ToolIO: "action bytes_written chunk encoding next_cursor buffer_start_cursor buffer_end_cursor matched " +
		"idle_reached timed_out eof waiting_for_input truncated dropped_bytes buffered_bytes buffer_limit_bytes " +
		"error_code message details",
	lab.ToolConfig: "success cols rows expect expect.prompt_regex expect.pager_regexes expect.error_regexes",
}

// contractErrors are the errors that they may handle, but for REMOTE_CLOSED and IO_ERROR: these are for a connection
// that breaks during an action, which no host does at will.
const contractErrors = "INVALID_ARGUMENT NOT_FOUND ALREADY_CLOSED CONNECT_TIMEOUT CONNECT_FAILED AUTH_FAILED " +
	"HOSTKEY_MISMATCH EXEC_TIMEOUT UNSUPPORTED LOCKED LOCK_REQUIRED"

// contractKeys are the keys that they may name, and the bytes that each sends.
var contractKeys = map[string]string{
	"enter": "\r", "tab": "\t", "backspace": "\x7f", "delete": "\x1b[3~", "home": "\x1b[H", "end": "\x1b[F",
	"ctrl_c": "\x03", "ctrl_d": "\x04", "ctrl_z": "\x1a", "ctrl_backslash": "\x1c", "ctrl_a": "\x01", "ctrl_e": "\x05",
	"ctrl_k": "\x0b", "ctrl_u": "\x15", "ctrl_l": "\x0c", "esc": "\x1b", "arrow_up": "\x1b[A", "arrow_down": "\x1b[B",
	"arrow_right": "\x1b[C", "arrow_left": "\x1b[D", "page_up": "\x1b[5~", "page_down": "\x1b[6~",
}

// wholeRead are the members of every read.
const wholeRead = ` action="read" chunk:string encoding:string next_cursor:string buffer_start_cursor:string ` +
	`buffer_end_cursor:string matched:boolean idle_reached:boolean timed_out:boolean eof:boolean ` +
	`waiting_for_input:boolean truncated:boolean dropped_bytes:number buffered_bytes:number buffer_limit_bytes:number `

// wholeExec are those of every exec.
const wholeExec = ` stdout:string stderr:string exit_code:number|null exit_code_reason:string|null done_reason:string ` +
	`prompt_detected:boolean|null timed_out:boolean duration_ms:number `

// wholeError are those of every failure.
const wholeError = ` error_code:string message:string details:object|null `

const words = "yes, no, maybe or best_effort in place of a boolean, which could not say the last two"

var contractCases = []contractCase{
	// Life and locks.
	{
		about: "a session by SSH", tool: lab.ToolSession, keep: "S",
		args: `{"action":"open","protocol":"ssh","host":"web1","username":"demo",` +
			`"pty":{"enabled":true,"cols":120,"rows":40,"term":"xterm-256color"},` +
			`"timeouts":{"connect_timeout_ms":15000,"idle_timeout_ms":0}}`,
		has: `action="open" success=true session_id:string protocol="ssh" pty_enabled=true state="open"`,
	},
	{
		about: "a password", tool: lab.ToolSession, keep: "S2",
		args: `{"action":"open","protocol":"ssh","host":"127.0.0.1","port":$PORT,"username":"admin",` +
			`"auth":{"method":"password","password":"$SECRET"},"pty":{"enabled":false}}`,
		has: `success=true pty_enabled=false server_banner:string`,
	},
	{
		about: "a key", tool: lab.ToolSession,
		args: `{"action":"open","protocol":"ssh","host":"127.0.0.1","port":$PORT,"username":"admin",` +
			`"auth":{"method":"private_key","private_key_pem":"$KEY"},"ssh_options":{"use_openssh_config":false}}`,
		has: `success=true session_id:string state="open"`,
	},
	{
		about: "a key with a passphrase, and a way to the host in a file", tool: lab.ToolSession,
		args: `{"action":"open","protocol":"ssh","host":"lab","auth":{"method":"auto","private_key_pem":"$LOCKEDKEY",` +
			`"passphrase":"$PHRASE"},"ssh_options":{"host_key_policy":"strict","config_path":"$CONFIG"}}`,
		has: `success=true session_id:string state="open"`,
	},
	{
		about: "no agent, so that the login asks", tool: lab.ToolSession, keep: "SA",
		args: `{"action":"open","protocol":"ssh","host":"127.0.0.1","port":$PORT,"username":"admin","auth":{"method":"agent"}}`,
		has:  `success=true session_id:string waiting_for_input=true prompt.kind="password"`,
	},
	{about: "not answered", tool: lab.ToolSession, args: `{"action":"close","session_id":"$SA"}`, has: `success=true`},
	{
		about: "a host without a record", tool: lab.ToolSession, code: "HOSTKEY_UNKNOWN",
		args: `{"action":"open","protocol":"ssh","host":"127.0.0.1","port":$STRANGER,"username":"demo",` +
			`"ssh_options":{"host_key_policy":"strict"}}`,
		has: wholeError, departs: "a host without a record has a code of its own, because it may be accepted",
	},
	{
		about: "a record of the caller's", tool: lab.ToolSession,
		args: `{"action":"open","protocol":"ssh","host":"127.0.0.1","port":$STRANGER,"username":"demo",` +
			`"ssh_options":{"known_hosts_path":"$KNOWN","host_key_fingerprint":"$PIN","extra_args":["-o","ServerAliveInterval=30"]}}`,
		has: `success=true`,
	},
	{
		about: "a host that is accepted", tool: lab.ToolSession,
		args: `{"action":"open","protocol":"ssh","host":"127.0.0.1","port":$STRANGER,"username":"demo",` +
			`"ssh_options":{"host_key_policy":"accept_new"}}`,
		has: `success=true`,
	},
	{
		about: "no check of the host", tool: lab.ToolSession, code: "POLICY_DENIED",
		args: `{"action":"open","protocol":"ssh","host":"127.0.0.1","port":$CHANGED,"username":"demo",` +
			`"ssh_options":{"host_key_policy":"disabled"}}`,
		has: wholeError, departs: "the operator's floor for host keys holds, whatever a call asks for",
	},
	{
		about: "a console, locked at once", tool: lab.ToolSession, keep: "SW",
		args: `{"action":"open","protocol":"telnet","host":"127.0.0.1","port":$SWITCH,"session_type":"console",` +
			`"device_id":"switch-001","acquire_lock":true,"task_id":"task-123","lock_ttl_ms":60000,` +
			`"expect":{"prompt_regex":"switch1[>#]$","pager_regexes":["--More--"],"error_regexes":["(?i)invalid input"]}}`,
		has: `success=true protocol="telnet" security_warning:string lock_acquired=true lock_holder="task-123" lock_expires_at>0`,
	},
	{
		about: "the same console", tool: lab.ToolSession,
		args: `{"action":"open","protocol":"telnet","host":"127.0.0.1","port":$SWITCH,"session_type":"console",` +
			`"device_id":"switch-001","acquire_lock":true,"task_id":"task-124"}`,
		has: `success=true session_id="$SW" existing_session_id="$SW" lock_acquired=false`,
	},
	{
		about: "a console without a name", tool: lab.ToolSession, code: "INVALID_ARGUMENT",
		args: `{"action":"open","protocol":"telnet","host":"127.0.0.1","port":$SWITCH,"session_type":"console"}`, has: wholeError,
	},
	{
		about: "the list", tool: lab.ToolSession, args: `{"action":"list"}`,
		has: `action="list" success=true sessions:array sessions.0.session_id:string sessions.0.session_type="normal" ` +
			`sessions.0.state:string sessions.0.last_activity>0 capabilities:object ` +
			`capabilities.supports_split_stdout_stderr="yes" capabilities.supports_exit_code="yes" ` +
			`capabilities.supports_resize="yes"`,
		departs: words,
	},
	{
		about: "a lock", tool: lab.ToolSession, args: `{"action":"lock","session_id":"$S","task_id":"task-123","lock_ttl_ms":60000}`,
		has: `success=true lock_holder="task-123" lock_expires_at>1700000000000`,
	},
	{
		about: "another task", tool: lab.ToolIO, code: "LOCKED",
		args: `{"session_id":"$S","action":"write","data":"ls\n","task_id":"task-9"}`, has: wholeError + `details.lock_holder="task-123"`,
	},
	{
		about: "no task", tool: lab.ToolExec, code: "LOCKED", args: `{"session_id":"$S","cmd":"ls"}`, has: wholeError,
	},
	{
		about: "a longer lock", tool: lab.ToolSession, args: `{"action":"heartbeat","session_id":"$S","task_id":"task-123"}`,
		has: `success=true lock_holder="task-123" lock_expires_at>1700000000000`,
	},
	{
		about: "a lock's holder", tool: lab.ToolSession, args: `{"action":"status","session_id":"$S"}`,
		has: `action="status" success=true lock_holder="task-123" lock_expires_at>1700000000000`,
	},

	// Commands.
	{
		about: "a command", tool: lab.ToolExec,
		args: `{"session_id":"$S","cmd":"echo hello","timeout_ms":15000,"task_id":"task-123"}`,
		has: wholeExec + `stdout="hello\n" stderr="" exit_code=0 exit_code_reason=null done_reason="exit_status" ` +
			`prompt_detected=null timed_out=false`,
		departs: "a command beside the terminal needs no marker: it ends with its exit status",
	},
	{
		about: "a command that fails", tool: lab.ToolExec, args: `{"session_id":"$S","cmd":"echo no >&2; exit 3","task_id":"task-123"}`,
		has: wholeExec + `stdout="" stderr="no\n" exit_code=3`,
	},
	{
		about: "its time", tool: lab.ToolExec, args: `{"session_id":"$S","cmd":"sleep 60","timeout_ms":1000,"task_id":"task-123"}`,
		has:     wholeExec + `done_reason="timeout" timed_out=true exit_code=143 exit_code_reason=null duration_ms>999`,
		departs: "the command is stopped at its deadline, and its exit code is known",
	},
	{
		about: "a marker of the caller's", tool: lab.ToolExec,
		args: `{"session_id":"$S","cmd":"echo hello","task_id":"task-123","rc_mode":{"enabled":true,` +
			`"marker_prefix":"\u001eRC=","marker_suffix":"\u001f"}}`,
		has: wholeExec + `stdout:string stderr="" exit_code=0 done_reason="marker_seen" timed_out=false`,
	},
	{
		about: "no marker", tool: lab.ToolExec,
		args: `{"session_id":"$S","cmd":"echo hello","task_id":"task-123","rc_mode":{"enabled":false},` +
			`"expect":{"prompt_regex":"\\$ $"}}`,
		has: wholeExec + `exit_code=null exit_code_reason:string done_reason="prompt_seen" prompt_detected=true`,
	},
	{
		about: "a command that goes on", tool: lab.ToolExec, keep: "E",
		args: `{"session_id":"$S","cmd":"sleep 60","task_id":"task-123","lane":"terminal","wait_ms":500}`,
		has:  wholeExec + `exit_code=null exit_code_reason="running" done_reason="running"`,
	},
	{
		about: "a command that does not start", tool: lab.ToolExec, code: "EXEC_TIMEOUT",
		args: `{"session_id":"$S","cmd":"true","timeout_ms":1000,"task_id":"task-123","queue":true}`, has: wholeError,
		departs: "a command that was started and takes too long is no error: timed_out says it",
	},
	{
		about: "its end", tool: lab.ToolExec, args: `{"session_id":"$S","exec_id":"$E","cancel":true,"task_id":"task-123"}`,
		has: wholeExec,
	},
	{
		about: "a device", tool: lab.ToolExec, args: `{"session_id":"$SW","cmd":"show version","task_id":"task-123"}`,
		has:     wholeExec + `exit_code=null exit_code_reason="no_status" done_reason="prompt_seen" prompt_detected=true`,
		departs: "a device whose prompt was seen has no exit status to miss, whatever its shell",
	},
	{
		about: "a hint of an error", tool: lab.ToolExec,
		args: `{"session_id":"$SW","cmd":"show nonsense","task_id":"task-123","expect":{"error_regexes":["(?i)invalid input"]}}`,
		has:  wholeExec + `error_hints:array error_hints.0:string done_reason="prompt_seen"`,
	},
	{
		about: "a pager", tool: lab.ToolExec,
		args:    `{"session_id":"$SW","cmd":"show run","task_id":"task-123","expect":{"pager_regexes":["--More--"]}}`,
		has:     wholeExec + `exit_code=null done_reason="running" exec_id:string waiting_for.kind="pager"`,
		departs: "running and waiting_for: the command has not ended, and the caller shall answer",
	},
	{
		about: "the next page", tool: lab.ToolIO,
		args: `{"session_id":"$SW","action":"write","data":" ","task_id":"task-123","until_regex":"switch1>$","timeout_ms":10000}`,
		has:  `matched=true`,
	},
	{
		about: "a device without a known prompt", tool: lab.ToolSession, keep: "SW2",
		args: `{"action":"open","protocol":"telnet","host":"127.0.0.1","port":$SWITCH}`, has: `success=true`,
	},
	{
		about: "until it is quiet", tool: lab.ToolExec,
		args: `{"session_id":"$SW2","cmd":"show tech","until_idle_ms":500,"timeout_ms":10000}`,
		has:  wholeExec + `exit_code=null exit_code_reason:string done_reason="idle_reached" prompt_detected=false`,
	},
	{
		about: "another", tool: lab.ToolSession, keep: "SW3",
		args: `{"action":"open","protocol":"telnet","host":"127.0.0.1","port":$SWITCH}`, has: `success=true`,
	},
	{
		about: "until the end", tool: lab.ToolExec, args: `{"session_id":"$SW3","cmd":"exit","timeout_ms":10000}`,
		has: wholeExec + `exit_code=null exit_code_reason:string done_reason="eof"`,
	},

	// The terminal.
	{
		about: "a line", tool: lab.ToolIO, keep: "C",
		args: `{"session_id":"$S","action":"write","data":"sh -c 'echo begun; exec sleep 99'\n","encoding":"utf-8","task_id":"task-123"}`,
		has:  `action="write" bytes_written=34`,
	},
	{
		about: "its output", tool: lab.ToolIO,
		args: `{"session_id":"$S","action":"read","cursor":"$C","until_regex":"\nbegun","timeout_ms":10000}`, has: wholeRead + `matched=true`,
	},
	{
		about: "a key", tool: lab.ToolIO, args: `{"session_id":"$S","action":"write","key":"ctrl_c","task_id":"task-123"}`,
		has: `action="write" bytes_written=1`,
	},
	{
		about: "until it is quiet", tool: lab.ToolIO, args: `{"session_id":"$S","action":"read","cursor":"$C","until_idle_ms":500,"timeout_ms":10000}`,
		has: wholeRead + `encoding="utf-8" idle_reached=true matched=false timed_out=false eof=false waiting_for_input=false truncated=false dropped_bytes=0`,
	},
	{
		about: "the end", tool: lab.ToolIO, args: `{"session_id":"$S","action":"read","mode":"tail","max_lines":20}`, keep: "C",
		has: wholeRead,
	},
	{
		about: "nothing", tool: lab.ToolIO, args: `{"session_id":"$S","action":"read","mode":"cursor","timeout_ms":1000}`,
		has: wholeRead + `chunk="" timed_out=true matched=false idle_reached=false`,
	},
	{
		about: "a question", tool: lab.ToolIO, keep: "C",
		args: `{"session_id":"$S","action":"write","data":"stty -echo; printf Pass''word:; read -r x; stty echo\n","task_id":"task-123"}`,
		has:  `bytes_written=53`,
	},
	{
		about: "a question is seen", tool: lab.ToolIO,
		args: `{"session_id":"$S","action":"read","cursor":"$C","timeout_ms":10000,"input_hints":{"wait_for_regexes":["(?i)password:"]}}`,
		has:  wholeRead + `waiting_for_input=true timed_out=false`,
	},
	{
		about: "a secret", tool: lab.ToolIO,
		args: `{"session_id":"$S","action":"write","data":"$SECRET\n","sensitive":true,"task_id":"task-123"}`, has: `bytes_written=16`,
	},
	{
		about: "bytes", tool: lab.ToolIO, keep: "C",
		args: `{"session_id":"$S","action":"write","data":"ZWNobyBvbmU7IGVjaG8gdHdvCg==","encoding":"base64","task_id":"task-123"}`,
		has:  `bytes_written=19`,
	},
	{
		about: "up to a pattern, without it", tool: lab.ToolIO,
		args: `{"session_id":"$S","action":"read","cursor":"$C","until_regex":"two\\s*\\S+\\$","include_match":false,"timeout_ms":10000,` +
			`"max_bytes":65536}`,
		has: wholeRead + `matched=true`,
	},
	{
		about: "as base64", tool: lab.ToolIO,
		args: `{"session_id":"$S","action":"read","cursor":"$C","max_bytes":8,"encoding":"base64"}`,
		has:  wholeRead + `encoding="base64"`,
	},
	{
		about: "more than is kept", tool: lab.ToolIO,
		args: `{"session_id":"$S","action":"write","data":"seq 1 50000; echo done\n","task_id":"task-123","mode":"tail","max_lines":5,"until_regex":"done\\s","timeout_ms":30000}`,
		has:  `matched=true bytes_written=23`,
	},
	{
		about: "output that was dropped", tool: lab.ToolIO, args: `{"session_id":"$S","action":"read","cursor":"0"}`,
		has: wholeRead + `truncated=true dropped_bytes>0 buffered_bytes>0 buffer_limit_bytes=65536`,
	},
	{
		about: "more rights on the device", tool: lab.ToolIO, keep: "C",
		args: `{"session_id":"$SW","action":"write","data":"enable\r","task_id":"task-123"}`, has: `bytes_written:number`,
	},
	{
		about: "its question", tool: lab.ToolIO,
		args: `{"session_id":"$SW","action":"read","cursor":"$C","until_regex":"Password: $","timeout_ms":10000}`, has: `matched=true`,
	},
	{
		about: "its answer", tool: lab.ToolIO,
		args: `{"session_id":"$SW","action":"write","data":"$SECRET\r","sensitive":true,"task_id":"task-123","until_regex":"switch1#$"}`,
		has:  `matched=true`,
	},
	{
		about: "a console without a lock", tool: lab.ToolSession,
		args: `{"action":"unlock","session_id":"$SW","task_id":"task-123"}`, has: `action="unlock" success=true`,
	},
	{
		about: "a write without a lock", tool: lab.ToolIO, code: "LOCK_REQUIRED",
		args: `{"session_id":"$SW","action":"write","data":"enable\r"}`, has: wholeError,
	},

	// Settings.
	{
		about: "a size", tool: lab.ToolConfig, args: `{"session_id":"$S","action":"resize","cols":100,"rows":30,"task_id":"task-123"}`,
		has: `success=true`,
	},
	{
		about: "patterns", tool: lab.ToolConfig,
		args: `{"session_id":"$S","action":"expect","task_id":"task-123","expect":{"prompt_regex":".+[>#]\\s*$",` +
			`"pager_regexes":["--More--"],"error_regexes":["(?i)(error|failed|invalid)"]}}`,
		has: `success=true`,
	},
	{
		about: "what is set", tool: lab.ToolConfig, args: `{"session_id":"$S","action":"get"}`,
		has: `success=true cols=100 rows=30 expect:object expect.prompt_regex:string expect.pager_regexes=["--More--"] ` +
			`expect.error_regexes:array`,
	},

	// The end.
	{
		about: "the end of a shell", tool: lab.ToolIO, args: `{"session_id":"$S","action":"write","data":"exit\n","task_id":"task-123"}`,
		keep: "C", has: `bytes_written=5`,
	},
	{
		about: "the end is read", tool: lab.ToolIO, args: `{"session_id":"$S","action":"read","cursor":"$C","until_regex":"never","timeout_ms":10000}`,
		has: wholeRead + `eof=true matched=false`,
	},
	{about: "an ended session", tool: lab.ToolExec, code: "ALREADY_CLOSED", args: `{"session_id":"$S","cmd":"ls"}`, has: wholeError},
	{
		about: "a close", tool: lab.ToolSession, args: `{"action":"close","session_id":"$S2","force":true}`,
		has: `action="close" success=true session_id:string`,
	},
	{
		about: "a second close", tool: lab.ToolSession, args: `{"action":"close","session_id":"$S2"}`,
		has: `success=true already_closed=true`,
	},
	{
		about: "no session", tool: lab.ToolSession, code: "NOT_FOUND", args: `{"action":"close","session_id":"web1-aaaaaaaa"}`, has: wholeError,
	},

	// The errors.
	{
		about: "a port without a server", tool: lab.ToolSession, code: "CONNECT_FAILED",
		args: `{"action":"open","protocol":"ssh","host":"127.0.0.1","port":$NOTHING,"username":"demo"}`, has: wholeError,
	},
	{
		about: "a server that says nothing", tool: lab.ToolSession, code: "CONNECT_TIMEOUT",
		args: `{"action":"open","protocol":"ssh","host":"127.0.0.1","port":$SILENT,"username":"demo","timeouts":{"connect_timeout_ms":1000}}`,
		has:  wholeError,
	},
	{
		about: "another key than the record's", tool: lab.ToolSession, code: "HOSTKEY_MISMATCH",
		args: `{"action":"open","protocol":"ssh","host":"127.0.0.1","port":$CHANGED,"username":"demo"}`, has: wholeError,
	},
	{
		about: "a wrong password", tool: lab.ToolSession, code: "AUTH_FAILED",
		args: `{"action":"open","protocol":"ssh","host":"127.0.0.1","port":$PORT,"username":"admin","auth":{"method":"password","password":"$PHRASE"}}`,
		has:  wholeError,
	},
	{
		about: "an argument of ssh that is not for a call", tool: lab.ToolSession, code: "UNSUPPORTED",
		args: `{"action":"open","protocol":"ssh","host":"web1","ssh_options":{"extra_args":["-o","ProxyCommand=nc %h %p"]}}`,
		has:  wholeError,
	},
}
