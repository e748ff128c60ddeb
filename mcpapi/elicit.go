package mcpapi

import (
	"context"
	"errors"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"ptyctl/session"
	"ptyctl/term"
)

// A login's questions are put to the person at the client, if the client can ask and the operator lets it: a host key
// and what may be seen as a form, a secret on a page of this machine (page.go), never by way of the client. There are
// two ways. Since revision 2026-07-28 the result of open is the question, and the client calls again with the answer
// (resume); before, the client is asked while open waits (askNow). Whatever is not answered so is left to the caller,
// as if the client could not ask: the result has the prompt, and ptyctl_session_io write answers it.
//
// Who answers does not matter to the login. The first answer counts, and it is for the question that was shown
// (session.Asking).

// answerID names the one question of an input_required result.
const answerID = "answer"

// An opening is a session that waits for a login question which a person may be asked. show makes the result of the
// call from the session's present state.
type opening struct {
	session.OpenResult
	show func(*Call, session.OpenResult) any // the result of the call that opens it, as things are
}

// elicit asks the person at the client the questions of the session that c opens. It returns v, the call's own
// result, if the operator does not allow questions or the client cannot ask.
func (c *Call) elicit(ctx context.Context, v any) (*mcp.CallToolResult, error) {
	switch {
	case !c.o.Elicitation:
		return c.result(ctx, v, false)
	case server.IsModernRequest(ctx):
		if question := c.question(ctx); question != nil {
			return question, nil
		}
		return c.result(ctx, v, false)
	}
	return c.askNow(ctx)
}

// askNow asks the client one question after the other, until the login is over or the call may wait no longer.
func (c *Call) askNow(ctx context.Context) (*mcp.CallToolResult, error) {
	acting := c.actor(ctx)
	for {
		a := c.asking.Session.Asking()
		if a == nil {
			break
		}
		form, ok := c.form(acting, a)
		if !ok || !c.request(acting, a, form) {
			break
		}
		if err := c.again(acting, c.left()); err != nil {
			return c.fail(ctx, err)
		}
	}
	return c.openResult(acting, c.left())
}

// left returns how long the call may still wait.
func (c *Call) left() time.Duration { return max(c.o.MaxWait-time.Since(c.began), 0) }

// request asks the client one question, and stops when another caller answers it. It reports whether the question is
// answered, by the person or by that caller.
func (c *Call) request(ctx context.Context, a *session.Asking, form mcp.ElicitationParams) bool {
	waiting, stop := context.WithTimeout(ctx, c.left())
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
	srv := c.srv
	res, err := srv.RequestElicitation(waiting, mcp.ElicitationRequest{Params: form})
	if err == nil && c.answer(ctx, a, form, &res.ElicitationResponse) {
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
func (c *Call) question(ctx context.Context) *mcp.CallToolResult {
	acting := c.actor(ctx)
	a := c.asking.Session.Asking()
	if a == nil {
		return nil
	}
	form, ok := c.form(acting, a)
	if !ok {
		return nil
	}
	token, ok := c.asked.put(
		pendingAnswer{
			asking: a,
			form:   form,
			open:   *c.asking,
			notes:  c.notes,
			actor:  term.ActorFrom(acting),
			call:   c.fingerprint(),
		},
	)
	if !ok {
		return nil
	}
	return server.NewInputRequestBuilder(token).Elicit(answerID, form).ToolResult()
}

// resume continues a call that had a question as its result, now that the client has the answer.
func (c *Call) resume(ctx context.Context, trip mcp.MultiRoundTripParams) (*mcp.CallToolResult, error) {
	p, ok := c.asked.take(trip.RequestState)
	if !ok || p.call != c.fingerprint() || !p.by(term.ActorFrom(c.acting(ctx, ""))) {
		return c.fail(ctx, &term.Error{
			Kind: term.InvalidArgument, Facts: term.Facts{term.ArgumentFault{Field: "requestState"}},
			Msg: "requestState is not that of a question which waits for this call's answer; it may be used once, with the arguments it came for. ptyctl_session list shows the session",
		})
	}
	if p.consent != nil {
		var answer *mcp.ElicitationResponse
		if res := server.ElicitationResponse(trip.InputResponses, answerID); res != nil {
			answer = &res.ElicitationResponse
		}
		v, err := c.decided(ctx, *p.consent, p.refusal, answer)
		return c.outcome(ctx, v, err)
	}
	return c.resumeOpen(ctx, p, trip)
}

// resumeOpen continues an open that had a login question as its result.
func (c *Call) resumeOpen(
	ctx context.Context,
	p pendingAnswer,
	trip mcp.MultiRoundTripParams,
) (*mcp.CallToolResult, error) {
	acting := c.actor(ctx)
	c.asking, c.notes = &p.open, p.notes
	if res := server.ElicitationResponse(trip.InputResponses, answerID); res != nil &&
		c.answer(acting, p.asking, p.form, &res.ElicitationResponse) {
		timer := time.NewTimer(c.left())
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
		return c.openResult(acting, 0)
	}
	if err := c.again(acting, c.left()); err != nil {
		return c.fail(ctx, err)
	}
	if question := c.question(ctx); question != nil {
		return question, nil
	}
	return c.openResult(acting, 0)
}

// again waits for the login's reaction to an answer.
func (c *Call) again(ctx context.Context, wait time.Duration) error {
	res, err := c.asking.Again(ctx, wait)
	if err == nil {
		c.asking.OpenResult = res
	}
	return err
}

// openResult returns the result of the open, with the session's state after at most wait.
func (c *Call) openResult(ctx context.Context, wait time.Duration) (*mcp.CallToolResult, error) {
	if err := c.again(ctx, wait); err != nil {
		return c.fail(ctx, err)
	}
	return c.result(ctx, c.asking.show(c, c.asking.OpenResult), false)
}

// answer passes the person's answer to the login. It reports false when the question is still open: the person
// dismissed it, or may not answer it.
func (c *Call) answer(
	ctx context.Context,
	a *session.Asking,
	form mcp.ElicitationParams,
	res *mcp.ElicitationResponse,
) bool {
	hostKey := a.Prompt().Kind == term.PromptHostKey
	var err error
	switch {
	case res.Action == mcp.ElicitationResponseActionDecline && hostKey:
		err = a.Answer(ctx, []byte("no"))
	case res.Action == mcp.ElicitationResponseActionDecline:
		err = a.Decline(ctx)
	case res.Action != mcp.ElicitationResponseActionAccept:
		return false
	case form.Mode == mcp.ElicitationModeURL: // the person will answer there
	default:
		text, ok := answerIn(res.Content, hostKey)
		if !ok {
			c.warn("the client's answer to the question did not have the form asked for")
			return false
		}
		err = a.Answer(ctx, []byte(text))
	}
	if err != nil && !errors.Is(err, term.Busy) { // Busy: another caller answered first
		c.warn("the answer could not be given: " + said(err))
		return false
	}
	return true
}
