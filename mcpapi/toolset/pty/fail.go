package pty

import (
	"errors"

	"ptyctl/mcpapi/wire"
	"ptyctl/term"
)

// fail implements toolset.Set.Fail. Those servers return failures as text that starts
// with "Error: "; fail also marks the result as an error, for clients that display errors
// differently.
func fail(err error) wire.Answer {
	return wire.Answer{Text: "Error: " + reason(err), IsError: true}
}

// reason returns the message of a failure. Messages for an unknown session and for a
// refusal have the wording of those servers. The text of an unexpected error must not
// reach the caller, because it may hold secrets.
func reason(err error) string {
	e, ok := errors.AsType[*term.Error](err)
	switch {
	case !ok || e.Kind == term.Internal && e.Msg == "":
		return "internal error in ptyctl: the cause is in its log; other sessions are not affected"
	case e.Kind == term.NotFound && e.Session != "":
		return "PTY session not found: " + visible(cut(e.Session, maxShown))
	case e.Kind == term.PolicyDenied:
		return "Permission denied: " + wire.Plain(e)
	case e.Kind == term.NodeUnreachable:
		return wire.Plain(e) + "; try again later: if it stays so, the session is lost, and pty_spawn starts a new one"
	case e.Kind == term.NodeSilent:
		return wire.Plain(e) + "; look before you repeat it: pty_list shows the sessions, pty_read the output of one"
	default:
		return wire.Plain(e)
	}
}

// maxShown is the most characters of a caller's own text that a message repeats.
const maxShown = 200
