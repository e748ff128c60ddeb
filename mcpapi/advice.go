package mcpapi

import (
	"cmp"
	"errors"
	"strings"

	"ptyctl/term"
)

// The packages below speak of Go methods and fields. This file is the one place that puts their errors into the words of
// the tools: the keys of the configuration, the names of arguments, and the advice by reason.

// limitKeys has the configuration key of each limit.
var limitKeys = map[term.Limit]string{
	term.LimitSessions:     "session.max_sessions",
	term.LimitOutput:       "limits.max_total_buffer_bytes",
	term.LimitWaitingReads: "limits.max_waiting_reads",
}

// settingKeys has the configuration key of each setting.
var settingKeys = map[term.Setting]string{
	term.SettingTakeOver:    "locks.allow_take_over",
	term.SettingLocalFiles:  "fs.roots",
	term.SettingRemoteFiles: "fs.remote",
}

// settingAdvice says how the operator allows what a setting forbids, where the engine's advice does not.
var settingAdvice = map[term.Setting]string{
	term.SettingLocalFiles:  "the operator may change that: fs.roots in the configuration lists the folders",
	term.SettingRemoteFiles: "the operator may change that: fs.remote in the configuration is true then",
}

// arguments has the name of each field of a request on the wire.
var arguments = map[term.Field]string{
	term.FieldData:     "data",
	term.FieldKey:      "key",
	term.FieldLane:     "lane",
	term.FieldProtocol: "protocol",
	term.FieldStream:   "stream",
	term.FieldTask:     "task_id",
}

// advice has what to do about an error, by its reason. {exec} is the id of the command that runs; what follows a | is
// added if the session has a channel lane.
var advice = map[term.Reason]string{
	term.ReasonNoSession:       "ptyctl_session list shows the sessions there are",
	term.ReasonLoginAsks:       "send it with ptyctl_session_io write (ctrl_c cancels)",
	term.ReasonOpening:         "ask again with ptyctl_session status",
	term.ReasonNoFiles:         "for files of ptyctl's own machine leave session_id out",
	term.ReasonNulByte:         "pass such data as stdin with stdin_encoding base64",
	term.ReasonCanceledRunning: "wait for it with exec_id {exec}",

	term.ReasonNoTask:      "pass a task_id, the name under which the lock is held, here and in each call that needs the lock",
	term.ReasonHeldTakable: "reading is allowed, for anything else wait, or take the lock over (ptyctl_session lock with take_over true)",
	term.ReasonNotHeld:     "take it with ptyctl_session lock",
	term.ReasonTakenOver:   "read what the terminal shows, then take the lock again with ptyctl_session lock",
	term.ReasonConsole:     "take it first with ptyctl_session lock and a task_id, and pass that task_id",

	term.ReasonRunning: "wait for it with exec_id {exec}, stop it with cancel, or pass queue true to run after it" +
		"|, or lane channel to run beside the terminal",
	term.ReasonQueued:       "pass queue true to run after them|, or lane channel to run beside the terminal",
	term.ReasonNotFree:      "call again to go on waiting|, or pass lane channel to run beside the terminal",
	term.ReasonNotReady:     typeInstead,
	term.ReasonOtherPrompt:  "correct expect.prompt_regex, or " + typeInstead,
	term.ReasonUnsurePrompt: "set expect.prompt_regex to confirm that it is a prompt, or " + typeInstead,
	term.ReasonDevicePrompt: "set class device, or expect.prompt_regex to confirm that it is a shell's, or " + typeInstead,
	term.ReasonCustomMarker: "leave rc_mode out",

	term.ReasonNoChannelLane: "use lane terminal",
}

const typeInstead = "use ptyctl_session_io write and read|, or pass lane channel"

// limitAdvice has what to do about a limit, where the engine's advice is not enough.
var limitAdvice = map[term.Limit]string{
	term.LimitWaitingReads: "read with timeout_ms 0, which does not wait, or again later from the same cursor",
}

// Message is the text of an error for a caller of this package's own tools: what happened, why, and what to do.
func Message(e *term.Error) string {
	d := detailsOf(e)
	text := advice[e.Reason]
	if text == "" {
		text = settingAdvice[d.Setting]
	}
	if text == "" {
		text = limitAdvice[d.Bound]
	}
	if text == "" {
		return Plain(e)
	}
	text, beside, _ := strings.Cut(text, "|")
	if d.Channel {
		text += beside
	}
	return fact(e) + "; " + strings.ReplaceAll(text, "{exec}", d.Exec)
}

// said is Message for any error.
func said(err error) string {
	if e, ok := errors.AsType[*term.Error](err); ok {
		return Message(e)
	}
	return err.Error()
}

// Plain is the text of an error for a caller of other tools, which has no advice that only a caller of ours can follow.
func Plain(e *term.Error) string {
	text := fact(e)
	if e.Reason == "" && e.Advice != "" && e.Msg != "" { // it is in nobody's words
		text += "; " + e.Advice
	}
	return text
}

// fact is what happened and why, with the configuration key that is behind it.
func fact(e *term.Error) string {
	bare := *e
	bare.Advice = ""
	text, d := bare.Message(), detailsOf(e)
	if key := limitKeys[d.Bound] + settingKeys[d.Setting]; key != "" {
		text += " (" + key + ")"
	}
	return text
}

// Details are the facts behind an error with the names that they have on the wire; nil: there are none.
func Details(e *term.Error) *term.Details {
	if e.Details == nil {
		return nil
	}
	d := *e.Details
	d.Limit = cmp.Or(d.Limit, limitKeys[d.Bound])
	d.Rule = cmp.Or(d.Rule, settingKeys[d.Setting])
	d.Field = cmp.Or(d.Field, arguments[d.Part])
	return &d
}

func detailsOf(e *term.Error) term.Details {
	if e.Details == nil {
		return term.Details{}
	}
	return *e.Details
}
