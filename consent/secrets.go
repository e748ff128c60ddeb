package consent

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"ptyctl/term"
)

// secretPatience is how long a request for a secret waits that gives no limit: less than most clients wait for a call.
const secretPatience = 45 * time.Second

// AskSecret asks a person about a secret, as term.SecretPerson has it. asked is as Call.Asked. A request is the same as
// another if the same caller asks for the same use in the same session, at the same question.
func (b *Book) AskSecret(
	ctx context.Context, q term.SecretQuestion, asked func(Question, <-chan struct{}),
) ([]byte, error) {
	about := q.About
	call := Call{
		Actor: term.ActorFrom(ctx), Tool: "secret", Action: string(about.Use), Session: about.Peer.Session,
		Verb: term.VerbSecret,
		Wanted: term.Consent{
			Rule: q.Rule, Protocol: about.Peer.Protocol, Host: about.Peer.Host, User: about.Peer.User, Person: true,
			Text: cmp.Or(about.Command, about.Prompt), Secret: q.Secret, Value: q.Value, Lasting: q.Lasting,
		},
		Asked: asked,
	}
	if about.Alone {
		call.Session = ""
	}
	if !Showable(call.Wanted) {
		return nil, term.Errorf(term.PolicyDenied, "a person would have to be asked about secret %s, and its use cannot be "+
			"shown to one exactly: it is too long, or has characters without a form of their own", q.Secret)
	}
	outcome, question, err := b.Ask(ctx, call, cmp.Or(about.Wait, secretPatience))
	switch {
	case term.KindOf(err) == term.LimitExceeded:
		return nil, err
	case err != nil:
		return nil, &term.Error{Kind: term.Canceled, Err: err,
			Msg: term.CanceledMsg(ctx, "the call was canceled while it waited for a person; the secret was not used")}
	}
	refused := func(why string) error {
		return &term.Error{
			Kind: term.PolicyDenied, Msg: fmt.Sprintf("secret %s is not given: %s", q.Secret, why),
			Facts: term.Facts{term.Denial{Rule: q.Rule}},
		}
	}
	switch outcome {
	case Agreed:
		return question.Value, nil
	case Denied:
		return nil, refused("a person was asked, and has denied it")
	case Expired:
		return nil, refused("a person was asked, and has not answered in time")
	}
	wanted := "agree to its use"
	if q.Value {
		wanted = "give its value"
	}
	return nil, &term.Error{
		Session: call.Session, Kind: term.Busy,
		Msg: fmt.Sprintf("secret %s: a person has to %s, and has not answered yet, so it was not used; the question stays "+
			"for %v: make the same call again to wait for the answer", q.Secret, wanted,
			time.Until(question.Expires).Round(time.Second)),
		Facts: term.Facts{term.Occupied{Waiting: &term.Waiting{Kind: term.ForPerson, Text: q.Rule}}},
	}
}
