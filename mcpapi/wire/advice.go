package wire

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"

	"ptyctl/internal/mcpgo"
	"ptyctl/mcpapi/identity"
	"ptyctl/session"
	"ptyctl/term"
)

// The packages below speak of Go methods and fields. This file is the one place that puts their errors into the words
// of the tools: the keys of the configuration, the names of arguments, and the advice by reason.

// limitKeys has the configuration key of each limit, or the argument for a limit of a program.
var limitKeys = map[term.Limit]string{
	term.LimitSessions:     "session.max_sessions",
	term.LimitOutput:       "limits.max_total_buffer_bytes",
	term.LimitWaitingReads: "limits.max_waiting_reads",
	term.LimitFileWrite:    "fs.max_write_bytes",
	term.LimitCopyBytes:    "fs.max_copy_bytes",
	term.LimitCopyFiles:    "fs.max_copy_files",
	term.LimitDescriptors:  "RLIMIT_NOFILE",
	term.LimitTasks:        "RLIMIT_NPROC",
	term.LimitTerminals:    "kernel.pty.max",
	term.LimitGroupMemory:  "memory.max",
	term.LimitFleetHosts:   "fleet.max_hosts",
	term.LimitForwards:     "forward.max",

	term.LimitCPU:       "cpu_s",
	term.LimitMemory:    "memory_bytes",
	term.LimitFiles:     "open_files",
	term.LimitProcesses: "processes",
}

// settingKeys has the configuration key of each setting that can forbid an action.
var settingKeys = map[term.Setting]string{
	term.SettingTakeOver:    "locks.allow_take_over",
	term.SettingLocalFiles:  "fs.roots",
	term.SettingRemoteFiles: "fs.remote",
	term.SettingForward:     "forward.allow",
	term.SettingForwardTCP:  "forward.tcp",

	term.SettingHostKeyFloor:    "ssh.host_key_floor",
	term.SettingCallerPaths:     "ssh.caller_paths",
	term.SettingAgentForwarding: "ssh.allow_agent_forwarding",
	term.SettingIdentityAgent:   "ssh.identity_agent",
	term.SettingExecDirectives:  "ssh.allow_exec_directives",
}

// settingAdvice says which setting the operator should change when the engine's error names none.
var settingAdvice = map[term.Setting]string{
	term.SettingLocalFiles:  "the operator may change that: fs.roots in the configuration lists the folders",
	term.SettingRemoteFiles: "the operator may change that: fs.remote in the configuration is true then",
	term.SettingForward:     "the operator may change that: forward.allow in the configuration lists the addresses",
	term.SettingForwardTCP:  "the operator may change that: forward.tcp in the configuration is true then",
}

// arguments has the name of each field of a request on the wire.
var arguments = map[term.Field]string{
	term.FieldClick:     "click",
	term.FieldData:      "data",
	term.FieldKey:       "key",
	term.FieldLane:      "lane",
	term.FieldLines:     "lines",
	term.FieldCommand:   "cmd",
	term.FieldProtocol:  "protocol",
	term.FieldStream:    "stream",
	term.FieldTask:      "task_id",
	term.FieldHost:      "host",
	term.FieldPort:      "port",
	term.FieldPath:      "path",
	term.FieldOffset:    "offset",
	term.FieldCopyFrom:  "from.path",
	term.FieldCopyTo:    "to.path",
	term.FieldForwardTo: "to",
	term.FieldMode:      "mode",
	term.FieldSignal:    "signal",
	term.FieldPTY:       "pty",
	term.FieldTerm:      "pty.term",
	term.FieldEnv:       "env",
	term.FieldArgv:      "argv",
	term.FieldDir:       "cwd",
	term.FieldLocalEnv:  "env",
	term.FieldLimits:    "limits",
	term.FieldProcesses: "limits.processes",

	term.FieldAuth:       "auth",
	term.FieldPrivateKey: "auth.private_key_pem",
	term.FieldPassphrase: "auth.passphrase",

	term.FieldSSH:           "ssh_options",
	term.FieldHostKeyPolicy: "ssh_options.host_key_policy",
	term.FieldFingerprint:   "ssh_options.host_key_fingerprint",
	term.FieldKnownHosts:    "ssh_options.known_hosts_path",
	term.FieldConfigPath:    "ssh_options.config_path",
	term.FieldProxyURL:      "ssh_options.proxy_url",
	term.FieldExtraArgs:     "ssh_options.extra_args",
	term.FieldLegacy:        "ssh_options.legacy",

	term.FieldTelnetMode:   "telnet.mode",
	term.FieldTelnetEnter:  "telnet.enter",
	term.FieldTelnetBinary: "telnet.binary",
	term.FieldTLS:          "telnet.tls",
	term.FieldSerial:       "serial",
	term.FieldPin:          "telnet.tls.pin",
}

// advice has the advice for an error, by its reason. {exec} is the id of the running command; the part after a | is
// added if the session has a channel lane.
var advice = map[term.Reason]string{
	term.ReasonNoSession:  "ptyctl_session list shows the sessions there are",
	term.ReasonNoExec:     "ptyctl_session status shows those there are (running_exec_ids, unfetched_exec_ids)",
	term.ReasonLoginAsks:  "send it as data with ptyctl_session_io write (key ctrl_c cancels)",
	term.ReasonLoginsWait: "answer with ptyctl_session_io write (ctrl_c cancels), or close them",
	term.ReasonOpening:    "ask again with ptyctl_session status",
	term.ReasonReopening: "ptyctl_session wait with until_state open says when that is over, " +
		"and ptyctl_session close ends it",
	term.ReasonMayReopen:        "ptyctl_session reopen connects it again",
	term.ReasonReservationEnded: "nothing more is sent to it; open the device again with ptyctl_session open",
	term.ReasonNoOwners:         "where ptyctl mcp --daemon is started in place of ptyctl mcp, sessions stay for adopt",
	term.ReasonNotLeft: "ptyctl_session list shows those with resumable true; a person can hand over any other: " +
		"ptyctl sessions give SESSION SHIM",
	term.ReasonOwnerPresent: "adopt works once that client is gone; a person can hand it over before: " +
		"ptyctl sessions give SESSION SHIM",
	term.ReasonElsewhere: "open a new one, or have a person use it (ptyctl attach --pid PROCESS SESSION); it ends with that " +
		"process",
	term.ReasonNodeUnreachable: "call again later; ptyctl_session list says which nodes answer, and a session whose node has ended is gone",
	term.ReasonNodeSilent: "look before you repeat it: read the session once its node answers; a call that had a request_id " +
		"may be repeated with the same one, and is not done twice",
	term.ReasonRequestLost:     "look whether it was done; to do it again, use a new request_id",
	term.ReasonResumable:       "take it with ptyctl_session adopt",
	term.ReasonNoFleet:         "ptyctl_fleet status lists your runs",
	term.ReasonNoFiles:         "for files of ptyctl's own machine leave session_id out",
	term.ReasonNoForwarding:    "open a session with protocol ssh to a host that reaches the address, and forward there",
	term.ReasonNulByte:         "pass such data as stdin with stdin_encoding base64",
	term.ReasonCanceledRunning: "wait for it with exec_id {exec}",

	term.ReasonNoTask: "pass a task_id, the name under which the lock is held, " +
		"here and in each call that needs the lock",
	term.ReasonTaskOmitted: "if that task is yours, pass its name as task_id; reading is allowed, for anything else wait",
	term.ReasonHeldTakable: "reading is allowed, for anything else wait, " +
		"or take the lock over (ptyctl_session lock with take_over true)",
	term.ReasonNotHeld:   "take it with ptyctl_session lock",
	term.ReasonTakenOver: "read what the terminal shows, then take the lock again with ptyctl_session lock",
	term.ReasonConsole:   "take it first with ptyctl_session lock and a task_id, and pass that task_id",

	term.ReasonRunning: "wait for it with exec_id {exec}, stop it with cancel, or pass queue true to run after it" +
		"|, or lane channel to run beside the terminal",
	term.ReasonQueued:          "pass queue true to run after them|, or lane channel to run beside the terminal",
	term.ReasonSteps:           "call again when they are through|, or pass lane channel to run beside the terminal",
	term.ReasonTransfer:        "wait for it with exec_id {exec}, or stop it with cancel|; lane channel runs beside the terminal",
	term.ReasonNotFree:         "call again to go on waiting|, or pass lane channel to run beside the terminal",
	term.ReasonNotReady:        typeInstead,
	term.ReasonNoPrompt:        ifPrompt + typeInstead,
	term.ReasonUnsurePrompt:    ifPrompt + typeInstead,
	term.ReasonOtherPrompt:     "correct expect.prompt_regex ({pattern} would match), or " + typeInstead,
	term.ReasonDevicePrompt:    "set class device; " + ifPrompt + typeInstead,
	term.ReasonQuestionChanged: "read the present question with ptyctl_session_io read, and call again",
	term.ReasonHalfTyped:       "enter it, or clear it with key ctrl_u or ctrl_c, and call again; or " + typeInstead,
	term.ReasonContinuation:    "key ctrl_c gives an unfinished command up; " + ifPrompt + typeInstead,
	term.ReasonFullScreen: "press the key that ends the program; if it is gone and has left its screen on, write " +
		`"reset\n"; or ` + typeInstead,
	term.ReasonOtherShell:   "call again",
	term.ReasonCustomMarker: "leave rc_mode out",

	term.ReasonNoChannelLane: "use lane terminal",

	term.ReasonTypeInstead: "use ptyctl_session_io write and read",
	term.ReasonSlow: "check address and port, and that nothing on the way drops packets, " +
		"and raise timeouts.connect_timeout_ms if it is only slow",
	term.ReasonConnectTimeout: "check address and port, and that nothing on the way drops packets, " +
		"and pass timeouts.connect_timeout_ms, which goes before ConnectTimeout, if it is only slow",
	term.ReasonNameServer: "have the operator check the name servers of ptyctl's machine, pass a numeric address as " +
		"host, or raise timeouts.connect_timeout_ms if they are only slow",
	term.ReasonNoCredential: "pass auth.password or auth.private_key_pem, load a key into the agent, " +
		"or leave auth.interactive on to be asked",
	term.ReasonWrongAnswer:   "check the answers that were given, and username",
	term.ReasonWrongPassword: "check auth.password and username",
	term.ReasonPinUnrecorded: "ssh_options.host_key_fingerprint pins a key",
	term.ReasonPinAllowed:    "ssh_options.host_key_fingerprint pins a key",
	term.ReasonPinOrRecord: "for a host that is not on record, pass its fingerprint as " +
		"ssh_options.host_key_fingerprint; where the recorded key has changed, have the operator record the new one",

	term.ReasonTelnetLogin: "leave auth out, read the login prompt with ptyctl_session_io and answer it with write " +
		"(sensitive for the password)",
	term.ReasonSerialAllow:  `the operator may allow lines in the configuration, as [serial] allow = ["/dev/serial/by-id/*"]`,
	term.ReasonTelnetSilent: "open the session with telnet.mode telnet if it does speak it",
	term.ReasonNotTelnet:    "telnet.mode raw shows its bytes",
	term.ReasonNotTelnetTLS: "set telnet.tls, or set telnet.mode raw to see its bytes",
	term.ReasonNegotiation:  "telnet.mode raw is for what is no Telnet server",
	term.ReasonCertificate: "verify its fingerprint by another way and pin it (telnet.tls.pin), " +
		"or name the host as the certificate does (telnet.tls.server_name)",
	term.ReasonNoTLS: "leave telnet.tls out, or give the port that has it (992 as a rule)",

	term.ReasonCommandsOnly: "run commands with ptyctl_session_exec; auto takes the channel lane",
	term.ReasonPTYRefused:   "pass pty.enabled false for a session without one",
	term.ReasonOneProgram:   `run another with ptyctl_run, or open a local session with argv ["bash"]`,
	term.ReasonNoTerminal:   "pass its input as stdin of ptyctl_run, or open a local session",
	term.ReasonRunCommands:  "run commands with ptyctl_session_exec, whose commands are judged",
	term.ReasonTransferSlow: "give it more (timeout_ms), or move less at a time",
	term.ReasonExists:       "pass overwrite true to replace it, or another folder",
	term.ReasonNotReplaced:  "pass non_atomic to write over the file that is there",
	term.ReasonUnreadable:   "have the operator make the file readable, or remove the cause, and call again",
	term.ReasonDescriptors: "close sessions that are not needed and call again, " +
		"or have the operator raise the limit of ptyctl's process (ulimit -n)",
	term.ReasonUnrecorded: "call again once the operator has made the audit log writable (audit.path: a full disk, " +
		"permissions); close works meanwhile",
	term.ReasonNoRecording: "call again once the operator has made the folder of recordings writable (record.dir: a full " +
		"disk, permissions); close works meanwhile",
	term.ReasonTasks: "end programs that are not needed, for example by closing their sessions, and call again, " +
		"or have the operator raise the limit (pids.max of the container, ulimit -u)",
	term.ReasonMemory: "close sessions and end programs that are not needed, and call again, " +
		"or have the operator raise the memory limit of the container or service (memory.max)",
	term.ReasonTerminals: "close local sessions that are not needed and call again, use ptyctl_run, " +
		"which needs no terminal, or have the operator raise the limit (kernel.pty.max, max= of devpts)",
}

// A hostAdvice is advice for a call that names its host and has no argument about the connection. It is followed by
// opening the host with more arguments, if it has some.
type hostAdvice struct{ text, arguments string }

// longer is the argument for a host that is slow.
const longer = `"timeouts":{"connect_timeout_ms":60000}`

// onHost has the advice for such a call, by reason, if the advice in the table above is of no use to it.
var onHost = map[term.Reason]hostAdvice{
	term.ReasonSlow: {
		"check address and port, and that nothing on the way drops packets; if it is only slow, ", longer,
	},
	term.ReasonConnectTimeout: {
		"check address and port, and that nothing on the way drops packets; if it is only slow, ", longer,
	},
	term.ReasonNameServer: {
		"have the operator check the name servers of ptyctl's machine, pass a numeric address as host, " +
			"or, if they are only slow, ", longer,
	},
	term.ReasonNoCredential:  {"load a key into the agent, or ", `"auth":{"password":"..."}`},
	term.ReasonWrongAnswer:   {"check the answers that were given, and the user before the @ of host", ""},
	term.ReasonPinUnrecorded: {"to pin its key, ", `"ssh_options":{"host_key_fingerprint":"SHA256:..."}`},
	term.ReasonPinAllowed:    {"to pin its key, ", `"ssh_options":{"host_key_fingerprint":"SHA256:..."}`},
	term.ReasonNotTelnet:     {"to see its bytes, ", `"telnet":{"mode":"raw"}`},
	term.ReasonNotTelnetTLS:  {"to speak TLS, ", `"telnet":{"tls":{"enabled":true}}`},
	term.ReasonNegotiation:   {"if it is no Telnet server, ", `"telnet":{"mode":"raw"}`},
	term.ReasonPTYRefused:    {"run commands with ptyctl_session_exec and the same host", ""},
}

// opening completes the advice for a call that has named n.
func (a hostAdvice) opening(n term.HostNamed) string {
	if a.arguments == "" {
		return a.text
	}
	host := n.Host
	if n.Port != 0 {
		host = net.JoinHostPort(host, strconv.Itoa(n.Port))
	}
	if n.User != "" {
		host = n.User + "@" + host
	}
	text, err := json.Marshal(host)
	if err != nil { // a string has JSON
		text = []byte(`"..."`)
	}
	return fmt.Sprintf(`%sopen it with ptyctl_session {"action":"open","protocol":%q,"host":%s,%s} and use its session_id`,
		a.text, n.Protocol, text, a.arguments)
}

// ifPrompt is advice for a line that nothing proves to be a prompt. {pattern} is an expression that matches it.
const ifPrompt = "if the last line is a shell's prompt, set expect.prompt_regex (such as {pattern}), or "

// typeInstead is advice that several reasons share. The text after | applies only if the host has a channel lane.
const typeInstead = "use ptyctl_session_io write and read|, or pass lane channel"

// limitAdvice is the advice for an error that names a limit and has no advice by reason.
var limitAdvice = map[term.Limit]string{
	term.LimitWaitingReads: "read with timeout_ms 0, which does not wait, or again later from the same cursor",
}

// LimitName returns the wire name of a limit.
func LimitName(l term.Limit) string { return limitKeys[l] }

// SettingName is the configuration key of a setting.
func SettingName(s term.Setting) string { return settingKeys[s] }

// LimitNames returns the wire names of limits that are separated by spaces.
func LimitNames(limits string) []string {
	names := strings.Fields(limits)
	for i, l := range names {
		names[i] = LimitName(term.Limit(l))
	}
	return names
}

// Message is the text of an error for a caller of this package's own tools: what happened, why, and what to do.
func Message(e *term.Error) string {
	text := cmp.Or(
		advice[e.Reason],
		settingAdvice[term.FactOf[term.Denial](e).Setting],
		limitAdvice[term.FactOf[term.LimitReached](e).Limit],
	)
	if text == "" {
		text = secretAdvice(term.FactOf[term.Denial](e).Rule)
	}
	argument := argumentOf(e)
	if n := term.FactOf[term.HostNamed](e); n.Host != "" {
		argument = "" // the call has no such argument
		if a, ok := onHost[e.Reason]; ok {
			text = a.opening(n)
		}
	}
	if text == "" && e.Kind == term.AlreadyClosed {
		return Plain(e) + " (ptyctl_session_io read; ptyctl_session open)"
	}
	if text == "" {
		return Plain(e) + argument
	}
	text, beside, _ := strings.Cut(text, "|")
	busy := term.FactOf[term.Occupied](e)
	if busy.Channel {
		text += beside
	}
	text = strings.NewReplacer("{exec}", busy.Exec, "{pattern}", strconv.Quote(busy.Pattern)).Replace(text)
	return fact(e) + "; " + text + argument
}

// secretConditions has the advice for an unmet condition of a secret. {key} is the secret's part of the configuration.
var secretConditions = map[string]string{
	"hosts":     "the operator may add a name of the host to {key}.hosts, to which their own ssh_config must lead",
	"users":     "the operator may add the account to {key}.users",
	"local":     "the operator may allow that with {key}.local = true",
	"devices":   "the operator may add the line's path to {key}.devices",
	"uses":      "the operator may allow that with {key}.uses",
	"callers":   "the operator may add this caller to {key}.callers",
	"commands":  "the operator may add the command to {key}.commands",
	"host_key":  "have the operator check the host's key and add it to known_hosts, and open the session again",
	"cleartext": "open it with telnet.tls, or the operator may allow that with {key}.cleartext = true",
	"prompts": "wait for the question with until_regex and call again; the operator may add an expression for another " +
		"one to {key}.prompts",
	"echo": "if something was typed there, have the question asked again; the operator may allow an answer that is " +
		"shown with {key}.allow_echo = true",
	"screen":   "leave that program, and have the question asked on the main screen",
	"per_hour": "wait, or have the operator raise {key}.per_hour",
}

// secretAdvice returns the advice for the condition of a secret that a rule names, or "" if it names none.
func secretAdvice(rule string) string {
	if !strings.HasPrefix(rule, "secret.") {
		return ""
	}
	dot := strings.LastIndexByte(rule, '.')
	return strings.ReplaceAll(secretConditions[rule[dot+1:]], "{key}", rule[:dot])
}

// argumentOf returns the argument that an error is about, in parentheses, if it is a member of another one. The name of
// such a member is not to be guessed from a message that speaks of, for example, the passphrase.
func argumentOf(e *term.Error) string {
	name := arguments[term.FactOf[term.ArgumentFault](e).Field]
	if !strings.Contains(name, ".") || strings.Contains(e.Message(), name) {
		return ""
	}
	return " (" + name + ")"
}

// Words turn an error into text for one caller.
type Words func(*term.Error) string

// WordsFor returns the words for the caller: the tools' words, or its own if it is a command of ptyctl that shows
// errors to a person. The command call shows none: it has an agent's results. The name is the client's own claim, and
// decides about the wording alone.
func WordsFor(ctx context.Context) Words {
	own := identity.FromContext(ctx).Message
	if own == nil {
		return Message
	}
	name, _, _ := mcpgo.ClientFromContext(ctx)
	if name == "ptyctl" || strings.HasPrefix(name, "ptyctl ") && name != "ptyctl call" {
		return own
	}
	return Message
}

// Of returns the text of any error, for a warning.
func (w Words) Of(err error) string {
	if e, ok := errors.AsType[*term.Error](err); ok {
		return w(e)
	}
	return err.Error()
}

// EndReason is why a session has ended.
func (w Words) EndReason(end session.End) string {
	e, ok := errors.AsType[*term.Error](end.Err)
	if !ok {
		return end.Reason
	}
	advised := *e
	advised.Msg, advised.Advice = w(e), ""
	if end.Before != "" {
		advised.Op, advised.Session = "", ""
		return end.Before + "; not reopened: " + advised.Error()
	}
	return advised.Error()
}

// Plain is the text of an error for a caller of other tools, which has no advice that only a caller of ours can follow.
func Plain(e *term.Error) string {
	text := fact(e)
	if e.Reason == "" && e.Advice != "" && e.Msg != "" { // no table has better words
		text += "; " + e.Advice
	}
	return text
}

// fact returns the error's message without its advice, and with the configuration key of the limit or setting that
// caused it.
func fact(e *term.Error) string {
	bare := *e
	bare.Advice = ""
	text := bare.Message()
	key := limitKeys[term.FactOf[term.LimitReached](e).Limit] + settingKeys[term.FactOf[term.Denial](e).Setting]
	if key != "" && !strings.Contains(text, key) {
		text += " (" + key + ")"
	}
	return text
}
