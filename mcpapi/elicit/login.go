package elicit

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"ptyctl/consent"
	"ptyctl/mcpapi/toolset"
	"ptyctl/mcpapi/wire"
	"ptyctl/session"
	"ptyctl/term"
)

// The person at the client gets a login's questions, if the client can ask and the operator allows it. A host key and a
// value that may be seen are asked in a form; a secret is asked on a page of this machine (page.go), and never passes
// through the client. There are two ways. Since revision 2026-07-28 the result of open is the question, and the client
// calls again with the answer (resume); before, the client is asked while open waits (askNow). A question without an
// answer is left to the caller, as if the client could not ask: the result has the prompt, and ptyctl_session_io write
// answers it.
//
// The login does not care who answers. The first answer counts, for the question that was shown (session.Question).

// answerID names the one question of an input_required result.
const answerID = "answer"

// Questions asks the people at the clients of one server. Make them with newQuestions.
type Questions struct {
	Client *server.MCPServer
	Logins bool   // the person at the client gets the questions of a login, if the client can ask
	Pages  *Pages // for questions that no client may see the answer of; nil: they are left to the caller
	Log    *slog.Logger

	People *consent.Book // the calls that wait for an answer of the operator's people; nil: no call can

	asked *asked
}

// New returns a Questions with the settings of q, and no question asked so far.
func New(q Questions) *Questions {
	q.asked = newAsked()
	return &q
}

// A Runner runs a call again after a person was asked about it.
type Runner interface {
	Once(ctx context.Context) (any, error)
}

// A login is the login of a session that a call opens.
type login struct {
	q       *Questions
	call    *toolset.Call
	opening *toolset.Opening
}

// Login asks the person at the client the questions of the session that c opens. It returns the value that the result
// of the call shows: v, the call's own value, if the operator does not allow questions or the client cannot ask. If the
// client must be asked through the call's result, it returns that.
func (q *Questions) Login(ctx context.Context, c *toolset.Call, v any) (any, *mcp.CallToolResult, error) {
	l := &login{q, c, c.Opening()}
	switch {
	case !q.Logins:
		return v, nil, nil
	case server.IsModernRequest(ctx):
		return v, l.question(ctx), nil
	}
	v, err := l.askNow(ctx)
	return v, nil, err
}

// askNow asks the client one question after the other, until no login of the call asks or the call may wait no longer.
func (l *login) askNow(ctx context.Context) (any, error) {
	acting := l.call.Actor(ctx)
	for {
		answered, err := l.askAll(acting)
		if err != nil {
			return nil, err
		}
		v, err := l.result(acting, l.call.Left())
		if err != nil || !answered || !l.next() {
			return v, err
		}
	}
}

// askAll asks the client the questions of one login. It reports whether none is left to the caller.
func (l *login) askAll(ctx context.Context) (answered bool, err error) {
	for {
		a := l.opening.Session.Question()
		if a == nil {
			return true, nil
		}
		form, ok := l.q.form(ctx, a)
		// Left to the caller from here on: a person who has dismissed one question wants no other.
		if !ok || !l.request(ctx, a, form) {
			return false, nil
		}
		if err := l.again(ctx, l.call.Left()); err != nil {
			return false, err
		}
	}
}

// next switches to the call's next login, for example to the login of a copy's other host. It reports whether there is
// one.
func (l *login) next() bool {
	o := l.call.Opening()
	if o == nil || o == l.opening {
		return false
	}
	l.opening = o
	return true
}

// request asks the client one question, and stops when another caller answers it. It reports whether the question is
// answered, by the person or by that caller.
func (l *login) request(ctx context.Context, a *session.Question, form mcp.ElicitationParams) bool {
	// The person has as long as the call may wait; afterwards the question is the caller's.
	waiting, stop := context.WithTimeout(ctx, l.call.Left())
	defer stop()
	over := make(chan struct{})
	go func() { // ends with this call
		defer close(over)
		select {
		case <-a.Over():
			stop()
		case <-waiting.Done():
		}
	}()
	defer func() { stop(); <-over }()
	srv := l.q.Client
	res, err := srv.RequestElicitation(waiting, mcp.ElicitationRequest{Params: form})
	// The client's own error says only that nothing was answered, as the question itself shows.
	if err == nil && l.answer(ctx, a, form, &res.ElicitationResponse) {
		select {
		case <-a.Over(): // a page may take its time
		case <-waiting.Done():
		}
	}
	select {
	case <-a.Over():
	default:
		return false
	}
	if form.Mode == mcp.ElicitationModeURL { // a client that shows that the page is open can stop it
		_ = srv.SendElicitationComplete(ctx, server.ClientSessionFromContext(ctx), form.ElicitationID)
	}
	return true
}

// question returns the result that asks a client of revision 2026-07-28, or nil if the person must not be asked. The
// pending answer remembers who called, and with which arguments: only the same call may continue it.
func (l *login) question(ctx context.Context) *mcp.CallToolResult {
	acting := l.call.Actor(ctx)
	a := l.opening.Session.Question()
	if a == nil {
		return nil
	}
	form, ok := l.q.form(acting, a)
	if !ok {
		return nil
	}
	return l.q.asked.question(l.call, form, pendingAnswer{
		asking: a,
		form:   form,
		open:   *l.opening,
		notes:  l.call.Warnings(),
		actor:  term.ActorFrom(acting),
	})
}

// Resume continues a call that had a question as its result, now that the client has the answer. It returns
// the value that the result shows, or the next question.
func (q *Questions) Resume(
	ctx context.Context, c *toolset.Call, again Runner, trip mcp.MultiRoundTripParams,
) (any, *mcp.CallToolResult, error) {
	p, ok := q.asked.take(trip.RequestState)
	// The state is the client's to send back, and so is no proof: the call must be the same one, by the same
	// caller.
	if !ok || p.call != q.asked.fingerprint(c) || !p.by(term.ActorFrom(c.Acting(ctx, ""))) {
		return nil, nil, &term.Error{
			Kind: term.InvalidArgument, Facts: term.Facts{term.ArgumentFault{Field: "requestState"}},
			Msg: "requestState is not that of a question which waits for this call's answer; " +
				"it may be used once, with the arguments it came for. ptyctl_session list shows the session",
		}
	}
	var answer *mcp.ElicitationResponse
	if res := server.ElicitationResponse(trip.InputResponses, answerID); res != nil {
		answer = &res.ElicitationResponse
	}
	if p.consent != nil {
		v, err := q.decided(ctx, again, *p.consent, p.refusal, answer)
		return v, nil, err
	}
	// Collected before the question came; their result was never sent.
	for _, w := range p.notes {
		c.Inform(w)
	}
	return (&login{q, c, &p.open}).resume(ctx, &p, answer)
}

// resume continues an open that had a login question as its result.
func (l *login) resume(
	ctx context.Context, p *pendingAnswer, answer *mcp.ElicitationResponse,
) (any, *mcp.CallToolResult, error) {
	acting := l.call.Actor(ctx)
	// A client may call again without an answer, for example if the person has closed the form.
	if answer != nil && l.answer(acting, p.asking, p.form, answer) {
		timer := time.NewTimer(l.call.Left())
		defer timer.Stop()
		select {
		case <-p.asking.Over():
		case <-timer.C:
		case <-ctx.Done():
		}
	}
	select {
	case <-p.asking.Over():
	default: // not answered: from here on it is the caller's
		v, err := l.result(acting, 0)
		return v, nil, err
	}
	if err := l.again(acting, l.call.Left()); err != nil {
		return nil, nil, err
	}
	for {
		if question := l.question(ctx); question != nil {
			return nil, question, nil
		}
		v, err := l.result(acting, 0)
		if err != nil || !l.next() {
			return v, nil, err
		}
	}
}

// again waits for the login's reaction to an answer.
func (l *login) again(ctx context.Context, wait time.Duration) error {
	res, err := l.opening.Again(ctx, wait)
	if err == nil {
		l.opening.OpenResult = res
	}
	return err
}

// result returns the value of the open, with the session's state after at most wait.
func (l *login) result(ctx context.Context, wait time.Duration) (any, error) {
	if err := l.again(ctx, wait); err != nil {
		return nil, err
	}
	return l.opening.Show(ctx, l.call, l.opening.OpenResult)
}

// answer passes the person's answer to the login. It reports false when the question is still open: the person
// dismissed it, or may not answer it.
func (l *login) answer(
	ctx context.Context,
	a *session.Question,
	form mcp.ElicitationParams,
	res *mcp.ElicitationResponse,
) bool {
	hostKey := a.Prompt().Kind == term.PromptHostKey
	var err error
	switch {
	// No to a host key is an answer that the login understands. To a password it is not, so the login ends.
	case res.Action == mcp.ElicitationResponseActionDecline && hostKey:
		err = a.Answer(ctx, []byte("no"))
	case res.Action == mcp.ElicitationResponseActionDecline:
		err = a.Decline(ctx)
	case res.Action != mcp.ElicitationResponseActionAccept:
		return false
	case form.Mode == mcp.ElicitationModeURL: // the person will answer there
	default:
		// The content comes from the client, and need not follow the schema it was given.
		text, ok := answerIn(res.Content, hostKey)
		if !ok {
			l.call.Inform("the client's answer to the question did not have the form asked for")
			return false
		}
		err = a.Answer(ctx, []byte(text))
	}
	if err != nil && !errors.Is(err, term.Busy) { // Busy: another caller answered first
		l.call.Inform("the answer could not be given: " + wire.WordsFor(ctx).Of(err))
		return false
	}
	return true
}
