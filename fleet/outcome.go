package fleet

import (
	"context"
	"errors"
	"os"
	"strings"

	"ptyctl/term"
)

// The codes of hosts without an exit code, besides those of term.Kind in lower case.
const (
	codeTimeout  = "timeout"         // reached, and the command did not end in time
	codeLost     = "connection_lost" // the connection broke while the command ran
	codeNoStatus = "no_status"       // the command ended, and the server did not say how
	codeAsks     = "login_asks"      // the login asks a question
	codeCanceled = "canceled"        // stopped with the run
)

// lost is the result of a host on which the command did not begin.
func (h *host) lost(ctx context.Context, err error, reached bool) Result {
	res := Result{State: Lost, Code: codeOf(err), Reason: reasonOf(err), Err: err, Reached: reached}
	switch {
	case ctx.Err() != nil && errors.Is(err, term.Canceled) || ctx.Err() != nil && term.KindOf(err) == term.ConnectFailed:
		res.Code, res.Reason = codeCanceled, stopReason(ctx)+" before the command began"
	case reached:
		res.Reason = "reached, did not begin: " + res.Reason
	default:
		res.Reason = "never reached: " + res.Reason
	}
	return res
}

// codeOf returns the kind of an error as a word.
func codeOf(err error) string { return strings.ToLower(string(term.KindOf(err))) }

// stopWords says whether a command that was asked to stop has ended.
func stopWords(exit term.Exit) string {
	if exit.Killed == "yes" {
		return "stopped"
	}
	return "may still run"
}

// maxReason is the longest reason, in bytes.
const maxReason = 200

// reasonOf returns the reason of an error without the part that differs between hosts that fail alike: their names.
func reasonOf(err error) string {
	e, ok := errors.AsType[*term.Error](err)
	if !ok {
		return term.ForeignLine(err.Error(), maxReason)
	}
	text := e.Message()
	switch e.Kind {
	case term.HostKeyMismatch:
		text = "known_hosts has another key; no credential was sent"
	case term.HostKeyUnknown:
		text = "no host key is on record, and the policy needs one; a person adds it to known_hosts"
	case term.HostKeyRevoked:
		text = "the host key is revoked"
	case term.ConnectFailed, term.ConnectTimeout, term.AuthFailed:
		text = stepOf(e, text)
	}
	return term.ForeignLine(text, maxReason)
}

// stepOf names the step of a connection that failed, and its cause.
func stepOf(e *term.Error, text string) string {
	ladder := term.FactOf[term.ConnectFailure](e).Ladder
	if len(ladder) == 0 || len(ladder[len(ladder)-1].Steps) == 0 {
		return text
	}
	hop := ladder[len(ladder)-1]
	step := hop.Steps[len(hop.Steps)-1]
	why, cause := step.Detail, term.RootCause(e.Err)
	if call, ok := errors.AsType[*os.SyscallError](cause); ok {
		cause = call.Err
	}
	switch {
	case why != "":
	case e.Kind == term.ConnectTimeout:
		why = "no answer in time"
	case cause != nil:
		why = cause.Error()
	}
	for _, own := range []string{hop.Address, hop.Host} { // like failures of many hosts are one
		if own != "" {
			why = strings.ReplaceAll(why, own, "it")
		}
	}
	if len(ladder) > 1 {
		return step.Name + ": " + why + " (behind a jump host)"
	}
	return step.Name + ": " + why
}
