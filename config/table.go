package config

import "time"

// Upper bounds that only catch slips of the keyboard: no real use comes near.
const (
	mebibyte = 1 << 20
	longest  = 30 * 24 * time.Hour
)

// table declares every key, sets all fields of c to their defaults, and returns
// the rows that write to c. It works as package flag does: a row is bound to a
// field when it is declared, so a field and its key cannot differ in type. Rows
// of one TOML table stand together. home replaces a leading ~ in paths.
func table(c *Config, home string) []row {
	const ms = time.Millisecond
	return []row{
		enum(&c.Server.Transport, "server.transport", TransportStdio,
			"How MCP messages reach the server.",
			TransportStdio, TransportHTTP, TransportBoth).env("PTYCTL_TRANSPORT").flag("transport", ""),
		boolean(&c.Server.Structured, "server.structured", true,
			"Send results also as structuredContent, and announce outputSchema, to clients that know them.").
			flag("no-structured", "false"),
		boolean(&c.Server.ReadOnly, "server.read_only", false,
			"Offer only what does not type: to list sessions, to see one, and to read.").
			flag("read-only", "true"),
		words(&c.Server.Toolsets, "server.toolsets",
			"The sets of tools to offer; empty offers all.").
			flag("toolsets", ""),
		boolean(&c.Server.JSONRPCErrors, "server.jsonrpc_errors", false,
			"Answer a failed call on stdio with a JSON-RPC error that carries error_code, instead of with a result; many clients then show the model nothing of it.").
			flag("jsonrpc-errors", "true"),

		text(&c.Server.HTTP.Listen, "server.http.listen", "127.0.0.1:8765",
			"The address and port of the HTTP transport, whose path is /mcp; port 0 takes a free one.").
			checked(hostPort).env("PTYCTL_HTTP_LISTEN").flag("listen", ""),
		secret(&c.Server.HTTP.AuthToken, "server.http.auth_token",
			"A bearer token with the role write, called default in records.").
			checked(headerToken),
		secret(&c.Server.HTTP.Tokens, "server.http.tokens",
			"Bearer tokens: NAME:ROLE:VALUE, separated by spaces or lines; the role is read or write.").
			checked(manyTokens),
		path(&c.Server.HTTP.TokensFile, home, "server.http.tokens_file",
			"A file of such tokens, which nobody else may read; lines that begin with # are left out."),
		boolean(&c.Server.HTTP.Isolate, "server.http.isolate", false,
			"Let each token know only of the sessions that it has opened."),
		words(&c.Server.HTTP.AllowedHosts, "server.http.allowed_hosts",
			"Names by which clients call this server, besides localhost and its addresses."),
		words(&c.Server.HTTP.AllowedOrigins, "server.http.allowed_origins",
			"Origins of web pages that may call this server, such as https://tools.example.net, besides its own."),
		integer(&c.Server.HTTP.RateLimit, "server.http.rate_limit", 100, 0, 1_000_000,
			"Requests a second that one token may make; five times as many at once; 0 sets no limit."),
		millis(&c.Server.HTTP.SessionTTL, "server.http.session_ttl_ms", 30*time.Minute, time.Minute, longest,
			"How long an MCP session is kept that its client does not use; terminal sessions are not tied to it."),
		path(&c.Server.HTTP.TLSCertFile, home, "server.http.tls_cert_file",
			"A PEM file with the certificate for TLS, and those between it and its authority."),
		path(&c.Server.HTTP.TLSKeyFile, home, "server.http.tls_key_file",
			"A PEM file with the key of that certificate."),
		boolean(&c.Server.HTTP.TLSSelfSigned, "server.http.tls_self_signed", false,
			"Use TLS with a certificate made at each start, whose fingerprint is told on stderr.").
			flag("tls-self-signed", "true"),

		path(&c.Server.Control.ControlSocketPath, home, "server.control.control_socket_path",
			"The socket at which people watch and step in, in a folder that is yours alone; empty gives each process one of its own in your runtime folder.").
			env("PTYCTL_CONTROL_SOCKET").flag("control-socket", ""),
		enum(&c.Server.Control.ControlMode, "server.control.control_mode", ControlReadOnly,
			"What the socket is for: nothing, watching, or stepping in too. Windows has none.",
			ControlDisabled, ControlReadOnly, ControlReadWrite).env("PTYCTL_CONTROL_MODE").flag("control-mode", ""),
		secret(&c.Server.Control.ControlAuthToken, "server.control.control_auth_token",
			"A token that those who connect to the socket must have too; without it, being you is enough.").
			checked(headerToken),

		integer(&c.Session.MaxSessions, "session.max_sessions", 100, 1, 10000,
			"How many sessions may be open at once."),
		millis(&c.Session.IdleTimeout, "session.idle_timeout_ms", 0, 0, longest,
			"Close a session after this long without a byte in either direction and without a command; 0 never does."),
		millis(&c.Session.MaxAge, "session.max_age_ms", 0, 0, longest,
			"Close a session this long after it was opened, whatever it does; 0 never does."),
		millis(&c.Session.ClosedRetention, "session.closed_retention_ms", 5*time.Minute, 0, longest,
			"How long a closed session stays listed and its output readable."),
		integer(&c.Session.OutputBufferMaxBytes, "session.output_buffer_max_bytes", 2*mebibyte, 4096, 1024*mebibyte,
			"Output kept for each session, in bytes; the oldest is dropped first."),
		integer(&c.Session.OutputBufferMaxLines, "session.output_buffer_max_lines", 20000, 1, 100_000_000,
			"Output kept for each session, in lines; the oldest is dropped first."),
		millis(&c.Session.ConnectTimeout, "session.connect_timeout_ms", 15000*ms, 1*ms, longest,
			"Default deadline for reaching a host and starting its terminal."),
		millis(&c.Session.ReadTimeout, "session.read_timeout_ms", 2000*ms, 0, longest,
			"Default wait of a read that says nothing else; 0 returns at once."),
		millis(&c.Session.DefaultExecTimeout, "session.default_exec_timeout_ms", 60000*ms, 1*ms, longest,
			"Default deadline of a command."),
		millis(&c.Session.WriteTimeout, "session.write_timeout_ms", 10000*ms, 1*ms, longest,
			"How long a write waits for a far side that does not take input."),
		boolean(&c.Session.RecordTxEvents, "session.record_tx_events", false,
			"Remember the last 100 times that something was typed into a session: when, by which task, how many bytes or which key, never the text."),

		millis(&c.Limits.MaxWait, "limits.max_wait_ms", 50000*ms, 1*ms, longest,
			"No call waits longer than this; common MCP clients give up at 60000."),
		integer(&c.Limits.MaxReadBytes, "limits.max_read_bytes", mebibyte, 1024, 256*mebibyte,
			"Most bytes of output in one read result."),
		integer(&c.Limits.MaxExecOutputBytes, "limits.max_exec_output_bytes", mebibyte, 1024, 256*mebibyte,
			"Most bytes of output kept for each stream of one command."),
		integer(&c.Limits.MaxTotalBufferBytes, "limits.max_total_buffer_bytes", 256*mebibyte, 65536, 2047*mebibyte,
			"Most memory for output, in bytes, over all sessions and commands, ended ones that are still listed included. Beyond it nothing new is opened or run, and what runs keeps less."),
		integer(&c.Limits.MaxWaitingReads, "limits.max_waiting_reads", 200, 1, 65536,
			"How many reads may wait for output at once, over all sessions; commands are not counted."),
		millis(&c.Limits.MaxExecTimeout, "limits.max_exec_timeout_ms", 86400000*ms, 1*ms, longest,
			"The longest timeout_ms that a call may set for a command."),
		millis(&c.Limits.MaxConnectTimeout, "limits.max_connect_timeout_ms", 120000*ms, 1*ms, longest,
			"Longest connect timeout a caller may ask for."),
		integer(&c.Limits.MaxMessageBytes, "limits.max_message_bytes", 8*mebibyte, 65536, 1024*mebibyte,
			"Longest JSON-RPC message accepted from a client, in bytes."),
		integer(&c.Limits.MaxInFlight, "limits.max_in_flight", 256, 1, 65536,
			"How many requests may be in progress at once."),

		enum(&c.SSH.HostKeyPolicy, "ssh.host_key_policy", HostKeyStrict,
			"What to do with a host key that is not in known_hosts.",
			HostKeyStrict, HostKeyAsk, HostKeyAcceptNew, HostKeyDisabled),
		enum(&c.SSH.HostKeyFloor, "ssh.host_key_floor", HostKeyAcceptNew,
			"The weakest host key policy that a caller may choose; from strong to weak: strict, ask, accept_new, disabled.",
			HostKeyStrict, HostKeyAsk, HostKeyAcceptNew, HostKeyDisabled),
		path(&c.SSH.KnownHostsPath, home, "ssh.known_hosts_path",
			"The known_hosts file; empty is OpenSSH's own choice."),
		boolean(&c.SSH.UseOpenSSHConfig, "ssh.use_openssh_config", true,
			"Read ssh_config files as OpenSSH does."),
		path(&c.SSH.ConfigPath, home, "ssh.config_path",
			"The ssh_config file, as ssh -F; empty is OpenSSH's own choice."),
		boolean(&c.SSH.AllowExecDirectives, "ssh.allow_exec_directives", false,
			"Run the programs of Match exec in the operator's ssh_config. Other directives that run programs are never honoured."),
		boolean(&c.SSH.AllowAgentForwarding, "ssh.allow_agent_forwarding", false,
			"Let a caller forward the SSH agent to a host."),
		paths(&c.SSH.CallerPaths, home, "ssh.caller_paths",
			"Folders that files named by a caller must lie in; empty allows any folder."),
		millis(&c.SSH.KeepaliveInterval, "ssh.keepalive_interval_ms", 30000*ms, 0, longest,
			"Time between keepalives on an SSH connection; 0 sends none."),
		integer(&c.SSH.KeepaliveCountMax, "ssh.keepalive_count_max", 3, 1, 1000,
			"Unanswered keepalives after which an SSH connection counts as lost."),
		integer(&c.SSH.MaxConnectionsPerHost, "ssh.max_connections_per_host", 4, 1, 1000,
			"Connections opened to one host when it refuses more channels on the first."),
		text(&c.SSH.IdentityAgent, "ssh.identity_agent", "",
			"The SSH agent, as IdentityAgent in ssh_config(5); empty uses SSH_AUTH_SOCK."),

		enum(&c.Telnet.Enter, "telnet.enter", TelnetEnterAuto,
			"What the enter key sends on a Telnet connection; auto follows the negotiation.",
			TelnetEnterAuto, TelnetEnterCR, TelnetEnterCRLF, TelnetEnterCRNUL, TelnetEnterLF),
		enum(&c.Telnet.Binary, "telnet.binary", TelnetBinaryAuto,
			"Eight-bit data on a Telnet connection; auto agrees when the server asks for it.",
			TelnetBinaryAuto, TelnetBinaryAlways, TelnetBinaryNever),
		boolean(&c.Telnet.SendUsername, "telnet.send_username", false,
			"Tell the username of a Telnet session to a server that asks for the environment, in clear text."),
		assignments(&c.Telnet.Environment, "telnet.environment",
			"What else such a server is told; nothing by default."),
		path(&c.Telnet.TLSCAFile, home, "telnet.tls_ca_file",
			"A PEM file of the authorities that vouch for Telnet servers with TLS; empty trusts the system's."),

		boolean(&c.Local.Stdio, "local.stdio", true,
			"Let clients on stdio and on the control socket start programs on this machine, as the user that ptyctl runs as."),
		boolean(&c.Local.HTTP, "local.http", false,
			"Let clients over HTTP do the same."),
		words(&c.Local.InheritEnv, "local.inherit_env",
			"Variables that local programs get from ptyctl's environment besides PATH, HOME, USER and LANG; a * at the end of a name stands for any rest."),
		integer(&c.Local.MaxCPUSeconds, "local.max_cpu_seconds", 0, 0, 1<<30,
			"Most processor time of each process of a local program, in seconds; 0 is no limit."),
		integer(&c.Local.MaxMemoryMiB, "local.max_memory_mib", 0, 0, 1<<20,
			"Most address space of each process of a local program, in MiB; 0 is no limit."),
		integer(&c.Local.MaxOpenFiles, "local.max_open_files", 0, 0, 1<<20,
			"Most open files of each process of a local program; 0 is no limit."),
		integer(&c.Local.MaxProcesses, "local.max_processes", 0, 0, 1<<20,
			"Most processes of a local program at a time; 0 is no limit."),

		boolean(&c.Auth.Elicitation, "auth.elicitation", true,
			"Put host key and other visible questions of a login to the person at the client, and secret ones on a page of this machine, if the client can; false leaves all questions to the caller."),
		boolean(&c.Auth.Interactive, "auth.interactive", true,
			"Let a session wait for the answer to a password, passphrase or host key question."),
		millis(&c.Auth.PromptTimeout, "auth.prompt_timeout_ms", 110000*ms, 1*ms, longest,
			"How long such a question waits for its answer."),

		millis(&c.Locks.DefaultTTL, "locks.default_ttl_ms", 60000*ms, 1*ms, longest,
			"Lifetime of a lock whose caller names none."),
		millis(&c.Locks.MaxTTL, "locks.max_ttl_ms", time.Hour, 1*ms, longest,
			"Longest lifetime of a lock that a caller may ask for."),
		boolean(&c.Locks.AllowForce, "locks.allow_force", false,
			"Let a caller close by force a session that another caller has locked."),
		boolean(&c.Locks.AllowTakeOver, "locks.allow_take_over", false,
			"Let a caller take a session's lock from the one that holds it; whose writes fail from then on."),
		path(&c.Locks.DeviceDir, home, "locks.device_dir",
			"The folder in which processes agree on who has which console; empty is ptyctl/devices in this user's runtime folder."),

		path(&c.Audit.Path, home, "audit.path",
			"The audit log, in a folder that not everybody may write to; empty keeps none."),
		integer(&c.Audit.MaxBytes, "audit.max_bytes", 64*mebibyte, 65536, 1024*mebibyte,
			"Size of the audit log at which it is renamed to .1 and a new one begun."),
		integer(&c.Audit.Keep, "audit.keep", 10, 1, 10000,
			"How many full audit logs are kept, as .1 (the newest), .2 and so on."),
		enum(&c.Audit.Fsync, "audit.fsync", AuditFsyncInterval,
			"When audit lines are forced to the disk: each before it counts, once a second, or when the system likes.",
			AuditFsyncAlways, AuditFsyncInterval, AuditFsyncNever),
		boolean(&c.Audit.FailClosed, "audit.fail_closed", false,
			"Refuse whatever cannot be written to the audit log before it is done."),
		enum(&c.Audit.Commands, "audit.commands", AuditCommandsRedacted,
			"How much of a command the audit log keeps: its text without what looks like a secret, a hash, or only its length.",
			AuditCommandsRedacted, AuditCommandsHash, AuditCommandsNone),

		enum(&c.Logging.Level, "logging.level", LogInfo,
			"The least severe messages that are logged.",
			LogDebug, LogInfo, LogWarn, LogError).env("PTYCTL_LOG_LEVEL").flag("log-level", ""),
		enum(&c.Logging.Format, "logging.format", LogText,
			"The shape of a log line: text for people, json for collectors.",
			LogText, LogJSON),
		logFile(&c.Logging.File, home, "logging.file",
			"The log file; empty logs to stderr."),
		integer(&c.Logging.MaxBytes, "logging.max_bytes", 10*mebibyte, 65536, 1024*mebibyte,
			"Size of the log file at which it is renamed to .1 and a new one begun."),
		integer(&c.Logging.Keep, "logging.keep", 5, 1, 10000,
			"How many full log files are kept, as .1 (the newest), .2 and so on."),
	}
}

// bypassed lists names that are known but have no effect: those of the original
// program that no longer apply, and those that are not built yet. They are
// accepted with a warning, so that an existing file loads.
var bypassed = []struct{ path, env, why string }{
	{"ssh.openssh_path", "PTYCTL_SSH_OPENSSH_PATH", "has no effect, because ptyctl speaks SSH itself and starts no ssh program; remove it"},
	{"telnet.telnet_path", "PTYCTL_TELNET_TELNET_PATH", "has no effect, because ptyctl starts no telnet program; remove it"},
}
