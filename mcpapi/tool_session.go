package mcpapi

var sessionTool = tool{
	name:    "ptyctl_session",
	title:   "Terminal sessions",
	about:   "Open, list, lock and close terminals on remote hosts, and programs on this machine. Then use ptyctl_session_exec for commands and ptyctl_session_io to type and read.",
	reading: "See the terminals, and everything known about one. ptyctl_session_io reads what they show.",
	actions: []action{
		{name: "open", about: "connect; needs protocol, and host or (local) argv. If the result has a prompt, answer it with ptyctl_session_io write.", example: `{"action":"open","protocol":"ssh","host":"web1","username":"admin"}`},
		{name: "close", about: "end a session; its output stays readable for a while.", example: `{"action":"close","session_id":"web1-k3f9q2zd"}`},
		{name: "list", about: "sessions, or those of a state, protocol or host (*.example.net).", example: `{"action":"list","state":"open"}`, reads: true},
		{name: "status", about: "everything known about one session.", example: `{"action":"status","session_id":"web1-k3f9q2zd"}`, reads: true},
		{name: "lock", about: "become the only task that may write.", example: `{"action":"lock","session_id":"web1-k3f9q2zd","task_id":"task-1"}`},
		{name: "unlock", about: "give the lock back.", example: `{"action":"unlock","session_id":"web1-k3f9q2zd","task_id":"task-1"}`},
		{name: "heartbeat", about: "keep the lock.", example: `{"action":"heartbeat","session_id":"web1-k3f9q2zd","task_id":"task-1"}`},
		{name: "signal", about: "send a signal.", example: `{"action":"signal","session_id":"web1-k3f9q2zd","signal":"INT"}`},
	},
	fields: []field{
		{name: "session_id", kind: kindString, actions: notOpen, required: notOpenOrList, nonEmpty: true},
		{name: "task_id", kind: kindString, about: "your name for locks", actions: []string{"open", "close", "lock", "unlock", "heartbeat", "signal"}, required: []string{"lock", "unlock", "heartbeat"}, nonEmpty: true},
		{name: "lock_ttl_ms", kind: kindInteger, about: "default 60000", actions: []string{"open", "lock", "heartbeat"}, min: 1, max: 1 << 40},
		{name: "take_over", kind: kindBoolean, about: "[lock] from its holder", actions: []string{"lock"}},
		{name: "force", kind: kindBoolean, about: "[close] do not wait for the far side", actions: []string{"close"}},
		{name: "signal", kind: kindString, enum: []string{"INT", "TERM", "HUP", "KILL", "QUIT"}, actions: []string{"signal"}, required: []string{"signal"}},
		{name: "protocol", kind: kindString, enum: []string{"ssh", "telnet", "local"}, actions: openOrList, required: onlyOpen},
		{name: "host", kind: kindString, about: "name, address, or Host alias of ssh_config", actions: openOrList, nonEmpty: true},
		{name: "argv", kind: kindStrings, about: "[open] local: program, arguments; no shell. Also cwd, env, title, limits", actions: onlyOpen},
		{name: "cwd", kind: kindString, actions: onlyOpen, nonEmpty: true, unlisted: true},
		{name: "env", kind: kindStrings, actions: onlyOpen, unlisted: true},
		{name: "title", kind: kindString, actions: onlyOpen, nonEmpty: true, unlisted: true},
		limitsField(onlyOpen, true),
		{name: "state", kind: kindString, about: "[list]", enum: []string{"connecting", "authenticating", "open", "closed", "error"}, actions: []string{"list"}},
		{name: "port", kind: kindInteger, about: "[open]", actions: onlyOpen, min: 1, max: 65535},
		{name: "username", kind: kindString, about: "[open]", actions: onlyOpen, nonEmpty: true},
		{name: "auth", kind: kindObject, about: "[open] default: agent, then identity files, then questions", actions: onlyOpen, fields: []field{
			{name: "method", kind: kindString, enum: []string{"password", "private_key", "agent", "auto"}},
			{name: "password", kind: kindString},
			{name: "private_key_pem", kind: kindString},
			{name: "passphrase", kind: kindString},
			{name: "interactive", kind: kindBoolean, about: "false: fail rather than ask"},
		}},
		{name: "pty", kind: kindObject, about: "[open] default 120x40 xterm-256color", actions: onlyOpen, fields: []field{
			{name: "enabled", kind: kindBoolean},
			{name: "cols", kind: kindInteger, min: 1, max: 10000},
			{name: "rows", kind: kindInteger, min: 1, max: 10000},
			{name: "term", kind: kindString, nonEmpty: true},
		}},
		{name: "timeouts", kind: kindObject, about: "[open]", actions: onlyOpen, fields: []field{
			{name: "connect_timeout_ms", kind: kindInteger, about: "default 15000", min: 1, max: 1 << 40},
			{name: "idle_timeout_ms", kind: kindInteger, about: "close when idle; default 0: never", max: 1 << 40},
		}},
		{name: "ssh_options", kind: kindObject, about: "[open]", actions: onlyOpen, fields: []field{
			{name: "host_key_policy", kind: kindString, about: "default strict", enum: []string{"strict", "accept_new", "ask", "disabled"}},
			{name: "host_key_fingerprint", kind: kindString, about: "SHA256:... to pin", nonEmpty: true},
			{name: "known_hosts_path", kind: kindString, nonEmpty: true},
			{name: "use_openssh_config", kind: kindBoolean, about: "default true"},
			{name: "config_path", kind: kindString, about: "like ssh -F", nonEmpty: true},
			{name: "extra_args", kind: kindStrings, about: "ssh arguments: -o -J -l -p -i -F ..."},
			{name: "legacy", kind: kindBoolean, about: "also offer old algorithms"},
			{name: "proxy_jump", kind: kindString, about: "as ssh -J; telnet too", nonEmpty: true},
			{name: "proxy_url", kind: kindString, about: "socks5:// or http://", nonEmpty: true},
		}},
		{name: "telnet", kind: kindObject, about: "[open]", actions: onlyOpen, fields: []field{
			{name: "mode", kind: kindString, enum: []string{"auto", "telnet", "raw"}},
			{name: "enter", kind: kindString, enum: []string{"auto", "cr", "crlf", "crnul", "lf"}},
			{name: "binary", kind: kindString, enum: []string{"auto", "always", "never"}, unlisted: true},
			{name: "tls", kind: kindObject, fields: []field{
				{name: "enabled", kind: kindBoolean},
				{name: "server_name", kind: kindString, nonEmpty: true},
				{name: "pin", kind: kindString, about: "SHA256:...", nonEmpty: true},
			}},
		}},
		expectField("[open] patterns; all members: see ptyctl_session_exec", onlyOpen, "profile", "prompt_regex"),
		{name: "session_type", kind: kindString, about: "[open] console: one per device_id", enum: []string{"normal", "console"}, actions: onlyOpen},
		{name: "device_id", kind: kindString, actions: onlyOpen, nonEmpty: true},
		{name: "acquire_lock", kind: kindBoolean, about: "[open] lock at once; needs task_id", actions: onlyOpen},
		requestIDField([]string{"open"}),
	},
	output: []field{
		{name: "action", kind: kindString, unlisted: true},
		{name: "success", kind: kindBoolean, unlisted: true},
		{name: "session_id", kind: kindString},
		{name: "existing_session_id", kind: kindString, unlisted: true},
		{name: "state", kind: kindString},
		{name: "protocol", kind: kindString, unlisted: true},
		{name: "pty_enabled", kind: kindBoolean, unlisted: true},
		{name: "pid", kind: kindInteger, unlisted: true},
		{name: "cwd", kind: kindString, unlisted: true},
		{name: "started_at", kind: kindInteger, unlisted: true},
		{name: "exit_signal", kind: kindString, unlisted: true},
		{name: "usage", kind: kindObject, unlisted: true},
		{name: "duration_ms", kind: kindInteger, unlisted: true},
		{name: "cursor", kind: kindString},
		{name: "server_banner", kind: kindString, unlisted: true},
		{name: "security_warning", kind: kindString, unlisted: true},
		{name: "telnet", kind: kindObject, unlisted: true},
		{name: "waiting_for_input", kind: kindBoolean},
		{name: "prompt", kind: kindObject},
		{name: "capabilities", kind: kindObject, unlisted: true},
		{name: "sessions", kind: kindObjects},
		{name: "count", kind: kindInteger, unlisted: true},
		{name: "more", kind: kindBoolean, unlisted: true},
		{name: "session", kind: kindObject},
		{name: "already_closed", kind: kindBoolean, unlisted: true},
		{name: "lock_acquired", kind: kindBoolean, unlisted: true},
		{name: "lock_holder", kind: kindString, unlisted: true},
		{name: "lock_expires_at", kind: kindInteger, unlisted: true},
		{name: "lock_epoch", kind: kindInteger, unlisted: true},
		{name: "previous_holder", kind: kindString, unlisted: true},
		{name: "warnings", kind: kindStrings, unlisted: true},
	},
	hints: hints{destructive: true, openWorld: true},
}

var (
	onlyOpen      = []string{"open"}
	openOrList    = []string{"open", "list"}
	notOpen       = []string{"close", "lock", "unlock", "heartbeat", "status", "signal"}
	notOpenOrList = notOpen
)

// requestIDField is the idempotency key of the actions that do something.
func requestIDField(actions []string) field {
	return field{name: "request_id", kind: kindString, about: "makes a retry safe", actions: actions, nonEmpty: true}
}
