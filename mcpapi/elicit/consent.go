package elicit

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"ptyctl/consent"
	"ptyctl/internal/mcpgo"
	"ptyctl/mcpapi/toolset"
	"ptyctl/term"
)

// An action that the operator's rules allow only with a person's consent is first refused like a denied one, before
// any part of it is done. The refusal names the action that a person may allow. The person at the client is then
// asked, in one of the two ways for a login's questions, and the call is made once more in a context that carries the
// consent. Any answer except "allow once" leaves the refusal as it was.

// consentForm has no default: a person who does not choose has not agreed.
var consentForm = json.RawMessage(
	`{"type":"object","properties":{"decision":{"type":"string","title":"Decision",` +
		`"description":"Allow once counts for this call alone.",` +
		`"enum":["deny","allow_once"],"enumNames":["Deny","Allow once"]}},"required":["decision"]}`,
)

const allowOnce = "allow_once"

// Consent asks the person about a call that was refused with err, and makes the call again if they agree. It returns a
// question if the client must be asked through the call's result.
func (q *Questions) Consent(
	ctx context.Context, c *toolset.Call, again Runner, err error,
) (v any, question *mcp.CallToolResult, _ error) {
	wanted := consentIn(err)
	switch {
	case wanted == nil:
		return nil, nil, err
	case wanted.Person:
		v, err = q.person(ctx, c, again, *wanted, err)
		return v, nil, err
	}
	if _, foreign := toolset.ToolOf(c); foreign { // results of foreign sets have no questions
		return nil, nil, err
	}
	form, ok := consentQuestion(ctx, *wanted)
	if !ok {
		return nil, nil, err
	}
	if server.IsModernRequest(ctx) {
		question := q.asked.question(c, form, pendingAnswer{
			consent: wanted, refusal: err, actor: term.ActorFrom(c.Acting(ctx, "")),
		})
		if question == nil {
			return nil, nil, err
		}
		return nil, question, nil
	}
	waiting, stop := context.WithTimeout(ctx, c.Left())
	defer stop()
	res, bad := q.Client.RequestElicitation(waiting, mcp.ElicitationRequest{Params: form})
	if bad != nil {
		return nil, nil, unanswered(err)
	}
	v, err = q.decided(ctx, again, *wanted, err, &res.ElicitationResponse)
	return v, nil, err
}

// decided makes the call again if the person's answer is that it may be.
func (q *Questions) decided(
	ctx context.Context,
	again Runner,
	wanted term.Consent,
	refusal error,
	res *mcp.ElicitationResponse,
) (any, error) {
	switch {
	case res == nil || res.Action == mcp.ElicitationResponseActionCancel:
		return nil, unanswered(refusal)
	case res.Action != mcp.ElicitationResponseActionAccept || !agrees(res.Content):
		return nil, noted(refusal, "the person at the client was asked, and has denied it")
	}
	q.Log.Info("the person at the client has agreed to a call", "rule", wanted.Rule, "host", wanted.Host)
	return again.Once(term.WithConsent(ctx, wanted))
}

// consentIn returns the action in err that a person may allow, or nil.
func consentIn(err error) *term.Consent {
	if term.KindOf(err) != term.PolicyDenied {
		return nil
	}
	return term.FactOf[term.Denial](err).Consent
}

func unanswered(refusal error) error {
	return noted(refusal, "the person at the client was asked, and has not answered")
}

// noted returns the refusal, with the outcome of the question added.
func noted(refusal error, what string) error {
	e, ok := errors.AsType[*term.Error](refusal)
	if !ok {
		return refusal
	}
	said := *e
	said.Msg += "; " + what
	return &said
}

// agrees reports whether a form's content is the one that allows.
func agrees(content any) bool {
	var form struct{ Decision string }
	raw, err := json.Marshal(content)
	return err == nil && json.Unmarshal(raw, &form) == nil && form.Decision == allowOnce
}

// consentQuestion returns the question for the person. It reports false if the client cannot ask, or if the action
// cannot be shown exactly: a person must see all that they allow.
func consentQuestion(ctx context.Context, wanted term.Consent) (mcp.ElicitationParams, bool) {
	if asForm, _ := elicitation(ctx); !asForm {
		return mcp.ElicitationParams{}, false
	}
	if !consent.Showable(wanted) {
		return mcp.ElicitationParams{}, false
	}
	name, _, _ := mcpgo.ClientFromContext(ctx)
	what := "run"
	if wanted.Typed {
		what = "type"
	}
	where := plain(wanted.Host)
	if wanted.User != "" {
		where = plain(wanted.User) + "@" + where
	}
	if wanted.Protocol == "local" {
		where = "this machine"
	}
	// ptyctl's own text comes first, and each line of the caller is marked: it can neither pass for ptyctl's text nor
	// push that away.
	var b strings.Builder
	fmt.Fprintf(
		&b,
		"The assistant in %s wants to %s the following on %s and needs your consent: "+
			"the rule %s asks for it, for this one call.\n",
		plain(name),
		what,
		where,
		plain(wanted.Rule),
	)
	if wanted.Dir != "" {
		fmt.Fprintf(&b, "In the folder:\n%s", quoted(wanted.Dir))
	}
	if wanted.Env != "" {
		fmt.Fprintf(&b, "With the variables:\n%s", quoted(wanted.Env))
	}
	fmt.Fprintf(&b, "To %s:\n%s", what, quoted(consent.Lines(wanted)))
	return mcp.ElicitationParams{Mode: formMode(ctx), Message: b.String(), RequestedSchema: consentForm}, true
}

// quoted marks each line of a caller's text.
func quoted(text string) string {
	var b strings.Builder
	for line := range strings.SplitSeq(strings.TrimRight(text, "\n"), "\n") {
		b.WriteString("| " + line + "\n")
	}
	return b.String()
}
