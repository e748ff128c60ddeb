package elicit

import (
	"context"
	"time"

	"ptyctl/consent"
	"ptyctl/mcpapi/toolset"
	"ptyctl/term"
)

// Where the rules say so, one of the operator's people is asked about an action that needs consent, at the watch page
// or with a command, and not the person at the client: a client may answer for itself. The call waits for the answer as
// long as it may. After that the question stays for a while, and the same call, made again, uses the answer.

// person asks a person about a call that was refused, and makes it again if they agree.
func (q *Questions) person(
	ctx context.Context, c *toolset.Call, again Runner, wanted term.Consent, refusal error,
) (any, error) {
	switch {
	case q.People == nil:
		return nil, noted(refusal, "a person would have to agree, and none can answer in this process")
	case !consent.Showable(wanted):
		return nil, noted(refusal, "a person would have to agree, and it cannot be shown to one exactly: it is too long, or "+
			"has characters without a form of their own")
	}
	c.Waits("a person who agrees", nil)
	tool, _ := toolset.ToolOf(c)
	outcome, asked, err := q.People.Ask(ctx, consent.Call{
		Actor: term.ActorFrom(c.Actor(ctx)), Tool: tool, Action: c.Action(), Session: c.Text("session_id"),
		Verb: verbOf(wanted), Arguments: c.Arguments(), Attempt: "request_id", Wanted: wanted,
	}, c.Left())
	switch {
	case term.KindOf(err) == term.LimitExceeded:
		return nil, noted(refusal, err.Error())
	case err != nil:
		return nil, &term.Error{Kind: term.Canceled, Err: err,
			Msg: term.CanceledMsg(ctx, "the call was canceled while it waited for a person; nothing was done")}
	}
	switch outcome {
	case consent.Agreed:
		q.Log.Info("a person has agreed to a call", "rule", wanted.Rule, "host", wanted.Host, "question", asked.ID)
		return again.Once(term.WithConsent(ctx, wanted))
	case consent.Denied:
		return nil, noted(refusal, "a person was asked, and has denied it")
	case consent.Expired:
		return nil, noted(refusal, "a person was asked, and has not answered in time")
	}
	return nil, &term.Error{
		Op: string(verbOf(wanted)), Session: asked.Session, Kind: term.Busy,
		Msg: "a person has to agree to this, and has not answered yet, so nothing was done; the question stays for " +
			time.Until(asked.Expires).Round(time.Second).String() +
			": make exactly the same call again to wait for the answer",
		Facts: term.Facts{term.Occupied{Waiting: &term.Waiting{Kind: term.ForPerson, Text: wanted.Rule}}},
	}
}

// verbOf names an action for a person.
func verbOf(w term.Consent) term.Verb {
	if w.Typed {
		return term.VerbWrite
	}
	return term.VerbExec
}
