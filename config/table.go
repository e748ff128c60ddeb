package config

import (
	"math"
	"slices"
	"time"
)

// Upper limits for values that are certainly typing errors.
const (
	mebibyte = 1 << 20
	longest  = 30 * 24 * time.Hour
)

// table declares every key, sets all fields of c to their defaults, and returns the rows
// that write to c. It works like package flag: each row is bound to a field, so a field
// and its key cannot differ in type. Rows of one TOML table must be adjacent. home
// replaces a leading ~ in paths.
func table(c *Config, home string) []row {
	const ms = time.Millisecond
	return slices.Concat([]row{
		// The transports. The table names of the file are the first parts of the paths.
		enum(&c.Server.Transport, "server.transport", TransportStdio,
			"How MCP messages reach the server.",
			TransportStdio, TransportHTTP, TransportBoth).env("PTYCTL_TRANSPORT").flag("transport", ""),
		enum(&c.Server.Results, "server.results", ResultsCompact,
			"The form of results: compact has what differs from the ordinary, full has every field and structuredContent, "+
				"text has a line with the facts and then the output as it is.",
			ResultsCompact, ResultsFull, ResultsText).flag("results", ""),
		boolean(&c.Server.ReadOnly, "server.read_only", false,
			"Offer only the tools that do not type: list sessions, show one, and read.").
			flag("read-only", "true"),
		words(&c.Server.Toolsets, "server.toolsets",
			"The sets of tools to offer; empty offers core, local, fs and health.").
			of("core", "local", "fs", "health", "fleet", "device", "aiterm", "pty", "k_pty", "r2").flag("toolsets", ""),
		boolean(
			&c.Server.JSONRPCErrors,
			"server.jsonrpc_errors",
			false,
			"Answer a failed call on stdio with a JSON-RPC error that carries error_code instead of a result; many clients "+
				"do not show such an error to the model.",
		).
			flag("jsonrpc-errors", "true"),

		text(&c.Server.HTTP.Listen, "server.http.listen", "127.0.0.1:8765",
			"Address and port of the HTTP transport, which serves the path /mcp; port 0 takes a free port.").
			checked(hostPort).env("PTYCTL_HTTP_LISTEN").flag("listen", ""),
		secret(&c.Server.HTTP.AuthToken, "server.http.auth_token",
			"A bearer token with the role write; the audit log calls it default.").
			checked(headerToken),
		secret(&c.Server.HTTP.Tokens, "server.http.tokens",
			"Bearer tokens: NAME:ROLE:VALUE, separated by spaces or lines; the role is read or write, or, of a person at "+
				"the watch page, watch or operate.").
			checked(manyTokens),
		path(&c.Server.HTTP.TokensFile, home, "server.http.tokens_file",
			"A file of such tokens that no other user may read; lines that begin with # are ignored."),
		boolean(&c.Server.HTTP.Isolate, "server.http.isolate", false,
			"Let each token see only the sessions that it has opened."),
		words(&c.Server.HTTP.AllowedHosts, "server.http.allowed_hosts",
			"Names of this server that clients may use, besides localhost and its addresses."),
		words(&c.Server.HTTP.AllowedOrigins, "server.http.allowed_origins",
			"Origins of web pages that may call this server, for example https://tools.example.net, besides its own."),
		integer(&c.Server.HTTP.RateLimit, "server.http.rate_limit", 100, 0, 1_000_000,
			"Requests per second of one token, or without tokens of one connection, with bursts of five times as many; "+
				"0 is no limit."),
		millis(&c.Server.HTTP.SessionTTL, "server.http.session_ttl_ms", 30*time.Minute, time.Minute, longest,
			"How long an unused MCP session is kept; terminal sessions do not depend on it."),
		path(&c.Server.HTTP.TLSCertFile, home, "server.http.tls_cert_file",
			"A PEM file with the certificate for TLS and its intermediate certificates."),
		path(&c.Server.HTTP.TLSKeyFile, home, "server.http.tls_key_file",
			"A PEM file with the key of that certificate."),
		boolean(&c.Server.HTTP.TLSSelfSigned, "server.http.tls_self_signed", false,
			"Use TLS with a certificate made at each start; stderr shows its fingerprint.").
			flag("tls-self-signed", "true"),
		boolean(&c.Server.HTTP.Watch, "server.http.watch", false,
			"Serve the watch page at /watch/ to people whose token has the role watch or operate; off this machine over TLS "+
				"alone."),

		text(&c.Server.HTTP.OAuth.Issuer, "server.http.oauth.issuer", "",
			"The authorization server whose access tokens clients may send besides the tokens above: its URL, exactly as in the "+
				"claim iss.").
			checked(issuerURL),
		text(&c.Server.HTTP.OAuth.Audience, "server.http.oauth.audience", "",
			"The value that the claim aud of an access token must contain: the URL of this server as clients write it, such as "+
				"https://mcp.example.net/mcp, or the name that the issuer knows it by."),

		path(
			&c.Server.Control.ControlSocketPath,
			home,
			"server.control.control_socket_path",
			"The socket at which people watch sessions and step in; its folder must be private. Empty gives each process its "+
				"own socket in your runtime folder.",
		).
			env("PTYCTL_CONTROL_SOCKET").flag("control-socket", ""),
		enum(&c.Server.Control.ControlMode, "server.control.control_mode", ControlReadOnly,
			"Use of the socket: disabled, only to watch, or also to step in.",
			ControlDisabled, ControlReadOnly, ControlReadWrite).env("PTYCTL_CONTROL_MODE").flag("control-mode", ""),
		secret(&c.Server.Control.ControlAuthToken, "server.control.control_auth_token",
			"A token that clients of the socket must also have; without it, all processes of your user may connect.").
			checked(headerToken),

		boolean(&c.Server.Apps.Enabled, "server.apps.enabled", true,
			"Show terminals, live and read-only, in the chat of clients that declare the extension MCP Apps."),

		// Defaults and limits of sessions and calls. A duration has the unit in its name.
		integer(&c.Session.MaxSessions, "session.max_sessions", 100, 1, 10000,
			"Most sessions open at the same time."),
		millis(&c.Session.IdleTimeout, "session.idle_timeout_ms", 0, 0, longest,
			"Close a session after this time without a byte in either direction and without a command; 0 is never."),
		millis(&c.Session.AutoIdle, "session.auto_idle_ms", 10*time.Minute, 1*ms, longest,
			"Close a session that ptyctl_session_exec has opened for its host after this time without a command or a look at its output."),
		millis(&c.Session.MaxAge, "session.max_age_ms", 0, 0, longest,
			"Close a session this long after it was opened, even while it is used; 0 is never."),
		millis(&c.Session.OrphanTTL, "session.orphan_ttl_ms", time.Hour, time.Second, longest,
			"Close a session of the daemon this long after its client has gone, if no other has adopted it."),
		millis(&c.Session.ClosedRetention, "session.closed_retention_ms", 5*time.Minute, 0, longest,
			"How long a closed session stays listed and its output readable."),
		integer(&c.Session.OutputBufferMaxBytes, "session.output_buffer_max_bytes", 2*mebibyte, 4096, 1024*mebibyte,
			"Output kept for each session, in bytes; the oldest is dropped first."),
		integer(&c.Session.OutputBufferMaxLines, "session.output_buffer_max_lines", 20000, 1, 100_000_000,
			"Output kept for each session, in lines; the oldest is dropped first."),
		millis(&c.Session.ConnectTimeout, "session.connect_timeout_ms", 15000*ms, 1*ms, longest,
			"Default deadline for reaching a host and starting its terminal. ConnectTimeout of ssh_config bounds the way to a host key."),
		millis(&c.Session.ReadTimeout, "session.read_timeout_ms", 2000*ms, 0, longest,
			"Default wait of a read; 0 returns at once."),
		millis(&c.Session.DefaultExecTimeout, "session.default_exec_timeout_ms", 60000*ms, 1*ms, longest,
			"Default deadline of a command."),
		millis(&c.Session.UnattendedExecTimeout, "session.unattended_exec_timeout_ms", 600000*ms, 1*ms, longest,
			"How long a command without timeout_ms goes on after a result with running, unless a call waits for it."),
		millis(&c.Session.WriteTimeout, "session.write_timeout_ms", 10000*ms, 1*ms, longest,
			"How long a write waits for a far side that takes no input."),
		millis(&c.Session.QuietLine, "session.quiet_line_ms", 5000*ms, 1*ms, longest,
			"After this time without output, an unfinished last line may wait for input, whatever it looks like."),
		enum(&c.Session.Format, "session.format", FormatClean,
			"The form of output for calls that give no format: clean has no colours and, of a terminal, no escape sequences; raw is exact.",
			FormatClean, FormatRaw),
		enum(&c.Session.Answer, "session.answer", AnswerAuto,
			"Whether ptyctl answers what a program asks of its terminal, such as its type or the place of the cursor: auto, while no "+
				"person is attached and no shell is at its prompt; never.",
			AnswerAuto, AnswerNever),
		boolean(
			&c.Session.RecordTxEvents,
			"session.record_tx_events",
			false,
			"Remember the last 100 inputs of a session: the time, the task, the number of bytes or the key, never the text.",
		),

		millis(&c.Limits.MaxWait, "limits.max_wait_ms", 50000*ms, 1*ms, longest,
			"No call waits longer than this; common MCP clients give up at 60000."),
		integer(&c.Limits.MaxReadBytes, "limits.max_read_bytes", mebibyte, 1024, 256*mebibyte,
			"Most bytes of output in one read result."),
		integer(&c.Limits.MaxExecOutputBytes, "limits.max_exec_output_bytes", mebibyte, 1024, 256*mebibyte,
			"Most bytes of output kept for each stream of one command."),
		integer(
			&c.Limits.MaxTotalBufferBytes,
			"limits.max_total_buffer_bytes",
			256*mebibyte,
			65536,
			2047*mebibyte,
			"Most memory for output, in bytes, of all sessions and commands, ended ones included. "+
				"At the limit no session is opened and no command is run, and running ones keep less output.",
		),
		integer(&c.Limits.MaxWaitingReads, "limits.max_waiting_reads", 200, 1, 65536,
			"Most reads that may wait for output at the same time in all sessions; commands do not count."),
		millis(&c.Limits.MaxExecTimeout, "limits.max_exec_timeout_ms", 86400000*ms, 1*ms, longest,
			"Longest timeout_ms that a call may set for a command."),
		millis(&c.Limits.MaxConnectTimeout, "limits.max_connect_timeout_ms", 120000*ms, 1*ms, longest,
			"Longest connect timeout that a caller may request."),
		integer(&c.Limits.MaxMessageBytes, "limits.max_message_bytes", 8*mebibyte, 65536, 1024*mebibyte,
			"Longest JSON-RPC message accepted from a client, in bytes."),
		integer(&c.Limits.MaxInFlight, "limits.max_in_flight", 256, 1, 65536,
			"Most requests in progress at the same time."),

		// The protocols.
		enum(&c.SSH.HostKeyPolicy, "ssh.host_key_policy", HostKeyStrict,
			"How to treat a host key that is not in known_hosts.",
			HostKeyStrict, HostKeyAsk, HostKeyAcceptNew, HostKeyDisabled),
		enum(&c.SSH.HostKeyFloor, "ssh.host_key_floor", HostKeyAcceptNew,
			"The weakest host key policy that a caller may choose; from strong to weak: strict, ask, accept_new, disabled.",
			HostKeyStrict, HostKeyAsk, HostKeyAcceptNew, HostKeyDisabled),
		path(&c.SSH.KnownHostsPath, home, "ssh.known_hosts_path",
			"The known_hosts file, in place of UserKnownHostsFile in ssh_config; empty uses ssh_config."),
		boolean(&c.SSH.UseOpenSSHConfig, "ssh.use_openssh_config", true,
			"Read ssh_config files as OpenSSH does."),
		path(&c.SSH.ConfigPath, home, "ssh.config_path",
			"The ssh_config file, as ssh -F; empty uses OpenSSH's defaults."),
		boolean(
			&c.SSH.AllowExecDirectives,
			"ssh.allow_exec_directives",
			false,
			"Run the programs of Match exec and ProxyCommand in the operator's ssh_config. Other directives that run "+
				"programs are never honoured.",
		),
		boolean(&c.SSH.AllowAgentForwarding, "ssh.allow_agent_forwarding", false,
			"Let a caller forward the SSH agent to a host."),
		paths(&c.SSH.CallerPaths, home, "ssh.caller_paths",
			"Folders that must contain the files named by a caller; empty allows any folder."),
		millis(&c.SSH.KeepaliveInterval, "ssh.keepalive_interval_ms", 30000*ms, 0, longest,
			"Time between keepalives on an SSH connection; 0 sends none."),
		integer(&c.SSH.KeepaliveCountMax, "ssh.keepalive_count_max", 3, 1, 1000,
			"Unanswered keepalives after which an SSH connection counts as lost."),
		integer(&c.SSH.MaxConnectionsPerHost, "ssh.max_connections_per_host", 4, 1, 1000,
			"Most connections to one host; another is opened when the host refuses more channels on the first."),
		text(&c.SSH.IdentityAgent, "ssh.identity_agent", "",
			"The SSH agent, as IdentityAgent in ssh_config(5); empty uses SSH_AUTH_SOCK, and on Windows the service ssh-agent or Pageant."),

		enum(&c.Telnet.Enter, "telnet.enter", TelnetEnterAuto,
			"Bytes that the enter key sends on a Telnet connection; auto follows the negotiation.",
			TelnetEnterAuto, TelnetEnterCR, TelnetEnterCRLF, TelnetEnterCRNUL, TelnetEnterLF),
		enum(&c.Telnet.Binary, "telnet.binary", TelnetBinaryAuto,
			"Eight-bit data on a Telnet connection; auto agrees when the server asks for it.",
			TelnetBinaryAuto, TelnetBinaryAlways, TelnetBinaryNever),
		boolean(&c.Telnet.SendUsername, "telnet.send_username", false,
			"Send the username of a Telnet session, in clear text, to a server that asks for the environment."),
		assignments(&c.Telnet.Environment, "telnet.environment",
			"Other variables to send to such a server, as NAME=value; none by default."),
		path(&c.Telnet.TLSCAFile, home, "telnet.tls_ca_file",
			"A PEM file with the certificate authorities for Telnet servers with TLS; empty uses the system's."),

		words(&c.Serial.Allow, "serial.allow",
			"Serial lines of this machine that a caller may open: paths with * and ?, such as /dev/serial/by-id/* or COM*; empty "+
				"allows none."),

		boolean(&c.Local.Stdio, "local.stdio", true,
			"Let clients on stdio and on the control socket start programs on this machine, as the user that ptyctl runs as."),
		boolean(&c.Local.HTTP, "local.http", false,
			"Let clients over HTTP start programs on this machine, too."),
		words(
			&c.Local.InheritEnv,
			"local.inherit_env",
			"Variables that local programs inherit from ptyctl besides PATH, HOME, USER and LANG; a * at the end of a name "+
				"matches any rest.",
		),
		integer(&c.Local.MaxCPUSeconds, "local.max_cpu_seconds", 0, 0, 1<<30,
			"Most CPU time of each process of a local program, in seconds; 0 is no limit."),
		integer(&c.Local.MaxMemoryMiB, "local.max_memory_mib", 0, 0, 1<<20,
			"Most address space of each process of a local program, in MiB; 0 is no limit."),
		integer(&c.Local.MaxOpenFiles, "local.max_open_files", 0, 0, 1<<20,
			"Most open files of each process of a local program; 0 is no limit."),
		integer(&c.Local.MaxProcesses, "local.max_processes", 0, 0, 1<<20,
			"Most processes of a local program at a time; 0 is no limit."),
		paths(
			&c.Local.ReadPaths,
			home,
			"local.read_paths",
			"Files and folders, including subfolders, that local programs may read and run (Linux 6.2, Landlock); empty is all.",
		),
		paths(&c.Local.WritePaths, home, "local.write_paths",
			"Files and folders that local programs may also change; empty is all, or none if read_paths is set."),

		// Files, logins, locks and the records.
		paths(&c.FS.Roots, home, "fs.roots",
			"Folders of this machine, including subfolders, in which clients may read and write files; empty offers none."),
		boolean(&c.FS.Remote, "fs.remote", false,
			"Let clients read and write files on the hosts of SSH sessions, with the rights of the session's account."),
		integer(&c.FS.MaxReadBytes, "fs.max_read_bytes", mebibyte, 1024, 1024*mebibyte,
			"Most bytes of a file in one result."),
		integer(
			&c.FS.MaxWriteBytes,
			"fs.max_write_bytes",
			4*mebibyte,
			1024,
			1024*mebibyte,
			"Most bytes of a file that one call writes; limits.max_message_bytes must leave room for them, a third more in "+
				"base64.",
		),
		integer(&c.FS.MaxEntries, "fs.max_entries", 1000, 1, 100000,
			"Most entries of a folder in one result."),
		integer(&c.FS.MaxCopyBytes, "fs.max_copy_bytes", 1024*mebibyte, 1024, min(1<<50, math.MaxInt),
			"Most bytes that one copy moves; they do not pass through results."),
		integer(&c.FS.MaxCopyFiles, "fs.max_copy_files", 10000, 1, 1000000,
			"Most files and folders of one copy."),

		words(&c.Forward.Allow, "forward.allow",
			"Addresses to which connections may be forwarded over SSH sessions, as HOST:PORT with * and ? for text within "+
				"a part; empty forwards nothing."),
		boolean(&c.Forward.TCP, "forward.tcp", false,
			"Let forwards have a TCP port of 127.0.0.1, which every user and web page of this machine can reach, in place of "+
				"a Unix socket."),
		integer(&c.Forward.Max, "forward.max", 8, 1, 1000,
			"Most forwards of a session."),
		integer(&c.Forward.MaxConnections, "forward.max_connections", 256, 1, 10000,
			"Most connections of a forward at a time; those beyond are closed at once."),
		integer(&c.Forward.MaxRate, "forward.max_rate", 200, 1, 100000,
			"New connections of a forward per second, after as many at once; those beyond wait."),

		integer(&c.Fleet.MaxHosts, "fleet.max_hosts", 1000, 1, 10000,
			"Most hosts on which the commands of ptyctl_fleet run or wait at a time; session.max_sessions does not count them."),
		integer(&c.Fleet.MaxParallel, "fleet.max_parallel", 16, 1, 1000,
			"Hosts of one ptyctl_fleet run at a time, for a call that names no number."),
		integer(&c.Fleet.MaxPerJumpHost, "fleet.max_per_jump_host", 8, 1, 1000,
			"Most of these behind one jump host."),
		paths(&c.Fleet.Inventories, home, "fleet.inventories",
			"Inventories of Ansible, in INI or YAML, with more hosts and groups; they are read for each call, and never executed."),
		path(&c.Fleet.Genders, home, "fleet.genders",
			"A file of genders(5) with more hosts and groups."),

		boolean(
			&c.Auth.Elicitation,
			"auth.elicitation",
			true,
			"Ask the person at the client about host keys and other visible questions, and show secret ones "+
				"on a page of this machine, if the client supports it; false leaves them to the caller.",
		),
		boolean(&c.Auth.Interactive, "auth.interactive", true,
			"Let a session wait for the answer to a password, passphrase or host key question."),
		millis(&c.Auth.PromptTimeout, "auth.prompt_timeout_ms", 110000*ms, 1*ms, longest,
			"How long such a question waits for its answer."),

		millis(&c.Locks.DefaultTTL, "locks.default_ttl_ms", 60000*ms, 1*ms, longest,
			"Lifetime of a lock if the caller names none."),
		millis(&c.Locks.MaxTTL, "locks.max_ttl_ms", time.Hour, 1*ms, longest,
			"Longest lifetime of a lock that a caller may request."),
		boolean(&c.Locks.AllowForce, "locks.allow_force", false,
			"Let a caller close by force a session that another caller has locked."),
		boolean(&c.Locks.AllowTakeOver, "locks.allow_take_over", false,
			"Let a caller take over a session's lock; writes of the former holder fail from then on."),
		path(
			&c.Locks.DeviceDir,
			home,
			"locks.device_dir",
			"The folder in which processes record which of them uses a serial console; empty is ptyctl/devices in this "+
				"user's runtime folder.",
		),

		path(&c.Audit.Path, home, "audit.path",
			"The audit log, in a folder that not everybody may write to; empty keeps none."),
		integer(&c.Audit.MaxBytes, "audit.max_bytes", 64*mebibyte, 65536, 1024*mebibyte,
			"Size of the audit log, in bytes, at which it is renamed to .1 and a new one begins."),
		integer(&c.Audit.Keep, "audit.keep", 10, 1, 10000,
			"Number of full audit logs to keep, as .1 (the newest), .2 and so on."),
		enum(&c.Audit.Fsync, "audit.fsync", AuditFsyncInterval,
			"When audit lines are forced to disk: an intent at once and others within 10 ms, once per second, or when the "+
				"system decides.",
			AuditFsyncAlways, AuditFsyncInterval, AuditFsyncNever),
		boolean(&c.Audit.FailClosed, "audit.fail_closed", false,
			"Refuse an action that cannot be written to the audit log before it is done."),
		enum(&c.Audit.Commands, "audit.commands", AuditCommandsRedacted,
			"Part of a command that the audit log keeps: its text without secrets, a hash, or only its length.",
			AuditCommandsRedacted, AuditCommandsHash, AuditCommandsNone),

		path(&c.Record.Dir, home, "record.dir",
			"The folder for recordings of all sessions, which must be this user's alone; empty makes none."),
		integer(&c.Record.MaxBytes, "record.max_bytes", 64*mebibyte, 65536, 1024*mebibyte,
			"Size of a recording, in bytes, after which it has only markers and no more output."),
		integer(&c.Record.MaxTotalMiB, "record.max_total_mib", 1024, 1, 1048576,
			"Size of all recordings in the folder, in MiB; beyond it the oldest complete ones are removed."),
		integer(&c.Record.MaxFiles, "record.max_files", 10000, 1, 1000000,
			"Number of recordings in the folder; beyond it the oldest complete ones are removed."),
		integer(&c.Record.MaxDays, "record.max_days", 0, 0, 36500,
			"Days after which a complete recording is removed; 0 keeps it."),
		texts(&c.Record.Recipients, "record.recipients",
			"Recipients of age (age1...) to whom recordings are encrypted; none leaves them plain."),
		boolean(&c.Record.FailClosed, "record.fail_closed", false,
			"Refuse actions that cannot be recorded, for example on a full disk, and end their sessions."),

		words(&c.Notify.Events, "notify.events",
			"When people are called: question (a session asks for a person), ended (a session has ended); empty is both."),
		texts(&c.Notify.Command, "notify.command",
			"A program, with its arguments, that is run for each notice and gets it as JSON on its standard input; empty: none."),
		millis(&c.Notify.CommandTimeout, "notify.command_timeout_ms", 10*time.Second, time.Second, time.Hour,
			"How long that program may take before it is ended."),
		integer(&c.Notify.CommandAtOnce, "notify.command_at_once", 4, 1, 64,
			"How many of these programs run at a time."),
		secret(&c.Notify.Webhook, "notify.webhook",
			"The URL to which each notice is posted as JSON: https, or http to this machine; empty: none."),
		millis(&c.Notify.WebhookTimeout, "notify.webhook_timeout_ms", 10*time.Second, time.Second, time.Minute,
			"How long the server there may take to answer."),
		integer(&c.Notify.WebhookTries, "notify.webhook_tries", 5, 1, 20,
			"How often a notice is posted until the server accepts it, with pauses that grow from 1 s to 1 min."),
		path(&c.Notify.WebhookTokenFile, home, "notify.webhook_token_file",
			"A file with a token that the webhook is sent as Authorization: Bearer; only you may be able to read it."),
		boolean(&c.Notify.WebhookAllowHTTP, "notify.webhook_allow_http", false,
			"Let the URL of the webhook be http to another machine, where all on the way can read the notices."),

		enum(
			&c.Policy.Mode,
			"policy.mode",
			PolicyModeEnforce,
			"Whether the rules of this table are enforced; report allows everything and records in the audit log and the log "+
				"each denial that they would make.",
			PolicyModeEnforce,
			PolicyModeReport,
		),
		enum(&c.Policy.Preset, "policy.preset", PolicyPresetNone,
			"A built-in list of commands and options that only read; its entries count like those of allow.",
			PolicyPresetNone, PolicyPresetReadOnlyLinux, PolicyPresetReadOnlyNetwork),
		texts(
			&c.Policy.Allow,
			"policy.allow",
			"Patterns for commands that may be run: each command in a line must match one; empty allows all that are not "+
				"denied.",
		),
		texts(&c.Policy.Deny, "policy.deny",
			"Patterns for commands that are never run, even if another rule allows them."),
		texts(&c.Policy.Ask, "policy.ask",
			"Patterns for commands that need a person's consent."),
		enum(
			&c.Policy.Consent,
			"policy.consent",
			PolicyConsentDeny,
			"How to treat those, and \"ask\" in policy.permissions: deny them, ask the person at the client each time, or "+
				"one who runs ptyctl answer (control_mode readwrite), or at the watch page.",
			PolicyConsentDeny,
			PolicyConsentElicit,
			PolicyConsentPerson,
		),
		millis(&c.Policy.ConsentTTL, "policy.consent_ttl_ms", 10*time.Minute, time.Second, longest,
			"How long a question that a person is asked stays, and its answer counts for the same call made again."),
		paths(
			&c.Policy.Programs,
			home,
			"policy.programs",
			"Programs of this machine, or folders of them, that local sessions may run; symbolic links are followed first. "+
				"Empty allows all.",
		),
		paths(&c.Policy.DenyPrograms, home, "policy.deny_programs",
			"Programs of this machine, or folders of them, that local sessions must not run."),
		paths(&c.Policy.WorkDirs, home, "policy.work_dirs",
			"Folders, including subfolders, in which local sessions may start; empty allows all."),
		words(&c.Policy.Hosts, "policy.hosts",
			"Hosts to which a caller may connect, by name or address, with * and ?; empty allows all."),
		words(&c.Policy.DenyHosts, "policy.deny_hosts",
			"Hosts to which no caller may connect or forward, by name or address."),
		words(&c.Policy.ReadOnlyHosts, "policy.read_only_hosts",
			"Hosts where sessions may only be read: after the login no command is run, nothing is typed and nothing forwarded."),
		words(&c.Policy.ExecOnlyHosts, "policy.exec_only_hosts",
			"Hosts where, after the login, commands may be run but nothing else may be typed."),
		words(&c.Policy.Protocols, "policy.protocols",
			"The protocols that a caller may open; empty allows all."),
		enum(
			&c.Policy.Typing,
			"policy.typing",
			PolicyTypingAuto,
			"Input that may be typed where rules judge commands: none, lines that are allowed commands, or all; auto is "+
				"deny, or lines if only policy.permissions judges them.",
			PolicyTypingAuto,
			PolicyTypingDeny,
			PolicyTypingLines,
			PolicyTypingAllow,
		),
		document(
			&c.Policy.Permissions,
			"policy.permissions",
			"Rules as JSON in the form of other terminal servers, for example {\"bash\": {\"npm *\": \"allow\", \"git "+
				"push\": \"deny\"}, \"external_directory\": \"deny\"}.",
		).
			env("PTY_PERMISSIONS"),

		integer(
			&c.Toolsets.PTY.MaxBufferLines,
			"toolsets.pty.max_buffer_lines",
			50_000,
			1,
			1_000_000,
			"Lines of output kept for each session of the tool set pty; each counts 128 bytes, so longer lines leave room "+
				"for fewer.",
		).
			env("PTY_MAX_BUFFER_LINES"),
		text(&c.Toolsets.R2.Program, "toolsets.r2.program", "radare2",
			"The program of the tool set r2: radare2, rizin, or the path of one."),
		texts(&c.Toolsets.R2.Args, "toolsets.r2.args",
			"More arguments for that program, which come before the file."),
		boolean(&c.Toolsets.R2.Shell, "toolsets.r2.shell", false,
			"Let commands of the tool set r2 leave the program: for a shell, for other programs, and to write files."),

		enum(&c.Daemon.OnDifference, "daemon.on_difference", DifferenceStart,
			"What ptyctl mcp --daemon does when a daemon with another configuration runs: start one more, or refuse and name "+
				"the difference.",
			DifferenceStart, DifferenceRefuse),
		millis(&c.Daemon.Idle, "daemon.idle_ms", 10*time.Minute, 0, longest,
			"How long a daemon without a client and a session goes on; 0 is for ever."),
	}, clusterRows(c, home), []row{
		enum(&c.Logging.Level, "logging.level", LogInfo,
			"The least severe level that is logged.",
			LogDebug, LogInfo, LogWarn, LogError).env("PTYCTL_LOG_LEVEL").flag("log-level", ""),
		enum(&c.Logging.Format, "logging.format", LogText,
			"Format of a log line: text for people, json for collectors.",
			LogText, LogJSON),
		logFile(&c.Logging.File, home, "logging.file",
			"The log file; empty logs to stderr."),
		integer(&c.Logging.MaxBytes, "logging.max_bytes", 10*mebibyte, 65536, 1024*mebibyte,
			"Size of the log file, in bytes, at which it is renamed to .1 and a new one begins."),
		integer(&c.Logging.Keep, "logging.keep", 5, 1, 10000,
			"Number of full log files to keep, as .1 (the newest), .2 and so on."),
	})
}

// A bypass is a key without effect, and why.
type bypass struct{ path, env, flag, why string }

// BypassedFlags returns the flags without effect, with the paths of their keys. None takes an argument.
func BypassedFlags() (flags []Flag) {
	for _, b := range bypassed {
		if b.flag != "" {
			flags = append(flags, Flag{Name: b.flag, Value: b.path})
		}
	}
	return flags
}

// bypassed lists known names without effect: names that no longer
// apply. They cause only a warning, so that an existing file loads.
var bypassed = []bypass{
	{
		"ssh.openssh_path",
		"PTYCTL_SSH_OPENSSH_PATH",
		"",
		"has no effect, because ptyctl speaks SSH itself and starts no ssh program; remove it",
	},
	{
		"telnet.telnet_path",
		"PTYCTL_TELNET_TELNET_PATH",
		"",
		"has no effect, because ptyctl starts no telnet program; remove it",
	},
	{
		"server.structured",
		"PTYCTL_SERVER_STRUCTURED",
		"no-structured",
		"has no effect: server.results = \"full\" sends structuredContent, and the other forms do not; use that",
	},
}
