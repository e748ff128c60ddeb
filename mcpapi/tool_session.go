package mcpapi

var sessionTool = Tool{
	Name:    "ptyctl_session",
	Title:   "Terminal sessions",
	About:   "Open, list, lock and close terminals on remote hosts, and programs on this machine. Then use ptyctl_session_exec for commands and ptyctl_session_io to type and read.",
	Reading: "See the terminals, and everything known about one. ptyctl_session_io reads what they show.",
	Actions: []Action{
		{Name: "open", About: "connect; needs protocol, and host or (local) argv. If the result has a prompt, answer it with ptyctl_session_io write.", Example: `{"action":"open","protocol":"ssh","host":"web1","username":"admin"}`},
		{Name: "close", About: "end a session; its output stays readable for a while.", Example: `{"action":"close","session_id":"web1-k3f9q2zd"}`},
		{Name: "list", About: "sessions, or those of a state, protocol or host (*.example.net).", Example: `{"action":"list","state":"open"}`, Reads: true},
		{Name: "status", About: "everything known about one session.", Example: `{"action":"status","session_id":"web1-k3f9q2zd"}`, Reads: true},
		{Name: "lock", About: "become the only task that may write.", Example: `{"action":"lock","session_id":"web1-k3f9q2zd","task_id":"task-1"}`},
		{Name: "unlock", About: "give the lock back.", Example: `{"action":"unlock","session_id":"web1-k3f9q2zd","task_id":"task-1"}`},
		{Name: "heartbeat", About: "keep the lock.", Example: `{"action":"heartbeat","session_id":"web1-k3f9q2zd","task_id":"task-1"}`},
		{Name: "signal", About: "send a signal.", Example: `{"action":"signal","session_id":"web1-k3f9q2zd","signal":"INT"}`},
	},
	Fields: []Field{
		{Name: "session_id", Kind: KindString, Actions: notOpen, Required: notOpenOrList, NonEmpty: true},
		{Name: "task_id", Kind: KindString, About: "your name for locks", Actions: []string{"open", "close", "lock", "unlock", "heartbeat", "signal"}, Required: []string{"lock", "unlock", "heartbeat"}, NonEmpty: true},
		{Name: "lock_ttl_ms", Kind: KindInteger, About: "default 60000", Actions: []string{"open", "lock", "heartbeat"}, Min: 1, Max: 1 << 40},
		{Name: "take_over", Kind: KindBoolean, About: "[lock] from its holder", Actions: []string{"lock"}},
		{Name: "force", Kind: KindBoolean, About: "[close] do not wait for the far side", Actions: []string{"close"}},
		{Name: "signal", Kind: KindString, Enum: []string{"INT", "TERM", "HUP", "KILL", "QUIT"}, Actions: []string{"signal"}, Required: []string{"signal"}},
		{Name: "protocol", Kind: KindString, Enum: []string{"ssh", "telnet", "local"}, Actions: openOrList, Required: onlyOpen},
		{Name: "host", Kind: KindString, About: "name, address, or Host alias of ssh_config", Actions: openOrList, NonEmpty: true},
		{Name: "argv", Kind: KindStrings, About: "[open] local: program, arguments; no shell. Also cwd, env, title, limits", Actions: onlyOpen},
		{Name: "cwd", Kind: KindString, Actions: onlyOpen, NonEmpty: true, Unlisted: true},
		{Name: "env", Kind: KindStrings, Actions: onlyOpen, Unlisted: true},
		{Name: "title", Kind: KindString, Actions: onlyOpen, NonEmpty: true, Unlisted: true},
		limitsField(onlyOpen, true),
		{Name: "state", Kind: KindString, About: "[list]", Enum: []string{"connecting", "authenticating", "open", "closed", "error"}, Actions: []string{"list"}},
		{Name: "port", Kind: KindInteger, About: "[open]", Actions: onlyOpen, Min: 1, Max: 65535},
		{Name: "username", Kind: KindString, About: "[open]", Actions: onlyOpen, NonEmpty: true},
		{
			Name:    "auth",
			Kind:    KindObject,
			About:   "[open] default: agent, then identity files, then questions",
			Actions: onlyOpen,
			Fields: []Field{
				{Name: "method", Kind: KindString, Enum: []string{"password", "private_key", "agent", "auto"}},
				{Name: "password", Kind: KindString},
				{Name: "private_key_pem", Kind: KindString},
				{Name: "passphrase", Kind: KindString},
				{Name: "interactive", Kind: KindBoolean, About: "false: fail rather than ask"},
			},
		},
		{Name: "pty", Kind: KindObject, About: "[open] default 120x40 xterm-256color", Actions: onlyOpen, Fields: []Field{
			{Name: "enabled", Kind: KindBoolean},
			{Name: "cols", Kind: KindInteger, Min: 1, Max: 10000},
			{Name: "rows", Kind: KindInteger, Min: 1, Max: 10000},
			{Name: "term", Kind: KindString, NonEmpty: true},
		}},
		{Name: "timeouts", Kind: KindObject, About: "[open]", Actions: onlyOpen, Fields: []Field{
			{Name: "connect_timeout_ms", Kind: KindInteger, About: "default 15000", Min: 1, Max: 1 << 40},
			{Name: "idle_timeout_ms", Kind: KindInteger, About: "close when idle; default 0: never", Max: 1 << 40},
		}},
		{Name: "ssh_options", Kind: KindObject, About: "[open]", Actions: onlyOpen, Fields: []Field{
			{Name: "host_key_policy", Kind: KindString, About: "default strict", Enum: []string{"strict", "accept_new", "ask", "disabled"}},
			{Name: "host_key_fingerprint", Kind: KindString, About: "SHA256:... to pin", NonEmpty: true},
			{Name: "known_hosts_path", Kind: KindString, NonEmpty: true},
			{Name: "use_openssh_config", Kind: KindBoolean, About: "default true"},
			{Name: "config_path", Kind: KindString, About: "like ssh -F", NonEmpty: true},
			{Name: "extra_args", Kind: KindStrings, About: "ssh arguments: -o -J -l -p -i -F ..."},
			{Name: "legacy", Kind: KindBoolean, About: "also offer old algorithms"},
			{Name: "proxy_jump", Kind: KindString, About: "as ssh -J; telnet too", NonEmpty: true},
			{Name: "proxy_url", Kind: KindString, About: "socks5:// or http://", NonEmpty: true},
		}},
		{Name: "telnet", Kind: KindObject, About: "[open]", Actions: onlyOpen, Fields: []Field{
			{Name: "mode", Kind: KindString, Enum: []string{"auto", "telnet", "raw"}},
			{Name: "enter", Kind: KindString, Enum: []string{"auto", "cr", "crlf", "crnul", "lf"}},
			{Name: "binary", Kind: KindString, Enum: []string{"auto", "always", "never"}, Unlisted: true},
			{Name: "tls", Kind: KindObject, Fields: []Field{
				{Name: "enabled", Kind: KindBoolean},
				{Name: "server_name", Kind: KindString, NonEmpty: true},
				{Name: "pin", Kind: KindString, About: "SHA256:...", NonEmpty: true},
			}},
		}},
		expectField("[open] patterns; all members: see ptyctl_session_exec", onlyOpen, "profile", "prompt_regex"),
		{Name: "session_type", Kind: KindString, About: "[open] console: one per device_id", Enum: []string{"normal", "console"}, Actions: onlyOpen},
		{Name: "device_id", Kind: KindString, Actions: onlyOpen, NonEmpty: true},
		{Name: "acquire_lock", Kind: KindBoolean, About: "[open] lock at once; needs task_id", Actions: onlyOpen},
		requestIDField([]string{"open"}),
	},
	Output: []Field{
		{Name: "action", Kind: KindString, Unlisted: true},
		{Name: "success", Kind: KindBoolean, Unlisted: true},
		{Name: "session_id", Kind: KindString},
		{Name: "existing_session_id", Kind: KindString, Unlisted: true},
		{Name: "state", Kind: KindString},
		{Name: "protocol", Kind: KindString, Unlisted: true},
		{Name: "pty_enabled", Kind: KindBoolean, Unlisted: true},
		{Name: "pid", Kind: KindInteger, Unlisted: true},
		{Name: "cwd", Kind: KindString, Unlisted: true},
		{Name: "started_at", Kind: KindInteger, Unlisted: true},
		{Name: "exit_signal", Kind: KindString, Unlisted: true},
		{Name: "usage", Kind: KindObject, Unlisted: true},
		{Name: "duration_ms", Kind: KindInteger, Unlisted: true},
		{Name: "cursor", Kind: KindString},
		{Name: "server_banner", Kind: KindString, Unlisted: true},
		{Name: "security_warning", Kind: KindString, Unlisted: true},
		{Name: "telnet", Kind: KindObject, Unlisted: true},
		{Name: "waiting_for_input", Kind: KindBoolean},
		{Name: "prompt", Kind: KindObject},
		{Name: "capabilities", Kind: KindObject, Unlisted: true},
		{Name: "sessions", Kind: KindObjects},
		{Name: "count", Kind: KindInteger, Unlisted: true},
		{Name: "more", Kind: KindBoolean, Unlisted: true},
		{Name: "session", Kind: KindObject},
		{Name: "already_closed", Kind: KindBoolean, Unlisted: true},
		{Name: "lock_acquired", Kind: KindBoolean, Unlisted: true},
		{Name: "lock_holder", Kind: KindString, Unlisted: true},
		{Name: "lock_expires_at", Kind: KindInteger, Unlisted: true},
		{Name: "lock_epoch", Kind: KindInteger, Unlisted: true},
		{Name: "previous_holder", Kind: KindString, Unlisted: true},
		{Name: "warnings", Kind: KindStrings, Unlisted: true},
	},
	Hints: Hints{Destructive: true, OpenWorld: true},
}

var (
	onlyOpen      = []string{"open"}
	openOrList    = []string{"open", "list"}
	notOpen       = []string{"close", "lock", "unlock", "heartbeat", "status", "signal"}
	notOpenOrList = notOpen
)

// requestIDField is the idempotency key of the actions that do something.
func requestIDField(actions []string) Field {
	return Field{Name: "request_id", Kind: KindString, About: "makes a retry safe", Actions: actions, NonEmpty: true}
}
