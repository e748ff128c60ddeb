package cliadvice

import (
	"errors"
	"slices"
	"strings"

	"ptyctl/mcpapi/wire"
	"ptyctl/term"
)

// byReason has what to do about an error, by its reason. A reason that no command can cause is not listed: the
// commands of ptyctl run no programs of this machine, move no files, and give no marker and no pin of their own.
var byReason = map[term.Reason]string{
	term.ReasonNoSession:        "ptyctl sessions --all lists the sessions",
	term.ReasonLoginAsks:        "answer it with ptyctl answer",
	term.ReasonLoginsWait:       "answer with ptyctl answer",
	term.ReasonReopening:        "wait until ptyctl sessions shows the session as open",
	term.ReasonMayReopen:        "connect it again with ptyctl reopen",
	term.ReasonReservationEnded: "nothing more is sent to it; open the device again",
	term.ReasonNoOwners:         "they pass between the clients of a daemon, which ptyctl mcp --daemon starts",
	term.ReasonElsewhere:        "use it with ptyctl attach --pid PROCESS",
	term.ReasonOpening:          "wait until ptyctl sessions shows the session as open",

	term.ReasonNodeUnreachable: "ptyctl-cluster status shows the nodes",
	term.ReasonNodeSilent:      "ptyctl-cluster status shows the nodes; look at the session before you repeat it",
	term.ReasonRequestLost:     "look whether it was done before you do it again",

	term.ReasonHeldTakable: "watch with ptyctl attach, wait, or take the terminal with ptyctl attach --take",
	term.ReasonNotHeld:     "take the terminal again with ptyctl attach --take",
	term.ReasonTakenOver:   "read what the terminal shows, then take it again with ptyctl attach --take",
	term.ReasonConsole:     "take the terminal with ptyctl attach --take",

	term.ReasonNoForwarding: "leave --protocol out: SSH forwards connections",

	term.ReasonNotReady:      openInstead,
	term.ReasonNoPrompt:      openInstead,
	term.ReasonFullScreen:    openInstead,
	term.ReasonOtherPrompt:   "correct --profile, or " + openInstead,
	term.ReasonUnsurePrompt:  openInstead,
	term.ReasonHalfTyped:     openInstead,
	term.ReasonContinuation:  openInstead,
	term.ReasonOtherShell:    "run it again",
	term.ReasonDevicePrompt:  "name the device family with --profile (ptyctl profiles lists them), or " + openInstead,
	term.ReasonNoChannelLane: "leave --lane out, or give --lane terminal",
	term.ReasonTypeInstead:   "give --lane terminal, or " + openInstead,

	term.ReasonNameServer: "check the name servers of this machine, or give a numeric address",
	term.ReasonConnectTimeout: "check address and port, and that nothing on the way drops packets; if the host is only slow, " +
		"raise that ConnectTimeout",
	term.ReasonSlow: "check address and port, and that nothing on the way drops packets; if the host is only slow, " +
		"raise session.connect_timeout_ms in the configuration",
	term.ReasonNoCredential: "load a key into the agent with ssh-add, or name one with IdentityFile in your ssh_config; " +
		"a password is asked for unless auth.interactive is false in the configuration, or BatchMode is yes",
	term.ReasonWrongAnswer:   "check the password or code, and the user name before the @ of USER@HOST",
	term.ReasonWrongPassword: "check the password, and the user name before the @ of USER@HOST",
	term.ReasonPinUnrecorded: "compare the fingerprint with one from the host's owner, then make the known_hosts file " +
		"writable, or give --host-key ask to be asked each time",
	term.ReasonPinAllowed: "compare the fingerprint with one from the host's owner, then give --host-key accept_new to " +
		"record the key, or --host-key ask to be asked",
	term.ReasonPinOrRecord: "for a host that is not on record, give --host-key accept_new; " +
		"where the recorded key has changed, ask the host's owner, and replace the line in known_hosts",

	term.ReasonSerialAllow: `list the line in the configuration, as [serial] allow = ["/dev/serial/by-id/*"]`,

	term.ReasonTelnetLogin:  "leave USER@ out, and answer the login prompt in ptyctl open",
	term.ReasonTelnetSilent: openInstead,
	term.ReasonNotTelnet:    "", // the message says it
	term.ReasonNotTelnetTLS: "the commands use no TLS; check --protocol and the port",
	term.ReasonNegotiation:  "check --protocol and the port",

	term.ReasonNoRecording:  "make the folder of recordings writable (record.dir in the configuration), and try again",
	term.ReasonUnrecorded:   "make the audit log writable (audit.path in the configuration), and try again",
	term.ReasonUnreadable:   "make the file readable for ptyctl, or remove it, and try again",
	term.ReasonDescriptors:  "close sessions that are not needed, or raise the limit of open files",
	term.ReasonTasks:        "end programs that are not needed, or raise the limit of processes of the user or container",
	term.ReasonMemory:       "close sessions and end programs that are not needed, or raise the container's memory limit",
	term.ReasonTerminals:    "close terminals that are not needed, or raise their limit (kernel.pty.max on Linux)",
	term.ReasonCommandsOnly: "run commands with ptyctl exec",
	term.ReasonPTYRefused:   "run commands with ptyctl exec",

	term.ReasonRunCommands: "run single commands with ptyctl exec, whose commands are judged one by one",

	term.ReasonExists:       "give --overwrite to replace it, or another folder",
	term.ReasonTransferSlow: "give it more time with --timeout",
	term.ReasonNotReplaced:  "have the user be able to make files in that folder, or give another path",
}

// openInstead is advice that several reasons share.
const openInstead = "use ptyctl open, and type there"

// byKind has the next step after an error without one in its reason and message.
var byKind = map[term.Kind]string{
	term.PolicyDenied: "ptyctl policy show says where each rule is",
}

// flags has the flag of each part of a request, or its place on the command line.
var flags = map[term.Field]string{
	term.FieldHost:          "HOST",
	term.FieldPort:          "-p",
	term.FieldLane:          "--lane",
	term.FieldForwardTo:     "TO",
	term.FieldProtocol:      "--protocol",
	term.FieldHostKeyPolicy: "--host-key",
}

// Message returns the text of an error for a person at a shell: what happened, why, and what to do.
func Message(e *term.Error) string {
	if advice := byReason[e.Reason]; advice != "" {
		return Fact(e) + "; " + advice
	}
	text := named(e)
	switch {
	case e.Advice != "" && e.Reason == "": // in plain words
		text += "; " + e.Advice
	case byKind[e.Kind] != "" && term.FactOf[term.Denial](e).Rule != "":
		text += "; " + byKind[e.Kind]
	}
	return text
}

// Fact returns what happened and why, without advice.
func Fact(e *term.Error) string {
	var plain interface{ Fact() string }
	if errors.As(e.Err, &plain) { // its message has advice of its own
		if hop := term.FactOf[term.ConnectFailure](e).Hop; hop != "" {
			return hop + ": " + plain.Fact()
		}
		return plain.Fact()
	}
	return named(e)
}

// named returns the error's message without its advice, and with the key of the configuration or the flag that it is
// about.
func named(e *term.Error) string {
	bare := *e
	bare.Advice = ""
	text := bare.Message()
	if term.FactOf[term.ArgumentFault](e).Example != "" { // a call of a tool, which no person at a shell makes
		text, _, _ = strings.Cut(text, "; a correct call: ")
	}
	names := slices.DeleteFunc([]string{
		wire.LimitName(term.FactOf[term.LimitReached](e).Limit),
		wire.SettingName(term.FactOf[term.Denial](e).Setting),
		flags[term.FactOf[term.ArgumentFault](e).Field],
	}, func(name string) bool { return name == "" || strings.Contains(text, name) })
	if len(names) > 0 {
		text += " (" + strings.Join(names, ", ") + ")"
	}
	return text
}
