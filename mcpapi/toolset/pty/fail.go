package pty

import (
	"errors"

	"ptyctl/mcpapi"
	"ptyctl/term"
)

// fail is the form of a failure: a text that begins with "Error: ", as those servers give it, marked as an error for the
// clients that show one as such.
func fail(err error) mcpapi.Answer {
	return mcpapi.Answer{Text: "Error: " + reason(err), IsError: true}
}

func reason(err error) string {
	e, ok := errors.AsType[*term.Error](err)
	switch {
	case !ok || e.Kind == term.Internal && e.Msg == "":
		return "a fault in ptyctl; its log has the cause. Other sessions are not affected"
	case e.Kind == term.NotFound && e.Session != "":
		return "PTY session not found: " + visible(cut(e.Session, maxShown))
	case e.Kind == term.PolicyDenied:
		return "Permission denied: " + e.Message()
	default:
		return e.Message()
	}
}

// maxShown bounds what a message shows of a caller's own words, in characters.
const maxShown = 200
