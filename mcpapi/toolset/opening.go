package toolset

import (
	"context"

	"ptyctl/mcpapi/wire"
	"ptyctl/session"
)

// An Opening is a session that waits for the answer to its login's question. A person may be asked for the answer. Show
// makes the result of the call from the session's present state; the call is the one that gets that result, which may
// be a later one.
type Opening struct {
	session.OpenResult
	Show func(context.Context, *Call, session.OpenResult) (any, error)
}

// Ask lets the person at the client be asked the question of a login, before the call has its result.
func (c *Call) Ask(o *Opening) { c.opening = o }

// Opening returns the last Opening given to Ask, or nil.
func (c *Call) Opening() *Opening { return c.opening }

// Undone describes a call that names a host and has done nothing there, because the session is not open.
type Undone struct {
	What string // the act that was left out, such as "the command was not run"
	Then string // the next step of the caller once the login is over; empty: the same call
	Asks bool   // a person may be asked the login's question

	// Do makes the result of the call once a person has answered and the session is open.
	Do func(context.Context, *Call, session.OpenResult) (any, error)
}

// NotOpen returns the result of a call with a session that is not open. If the client can ask a person, NotOpen first
// has it ask the login's question, and u.Do makes the result.
func (c *Call) NotOpen(res session.OpenResult, u Undone) *NotOpen {
	// A retry must get the same answer, and the person must not get a second question.
	if res.Prompt != nil && u.Asks && c.Text("request_id") == "" {
		c.Ask(&Opening{OpenResult: res, Show: func(
			ctx context.Context, c *Call, res session.OpenResult,
		) (any, error) {
			if res.State != session.Open {
				return notOpen(c, res, u), nil
			}
			return u.Do(ctx, c, res)
		}})
	}
	return notOpen(c, res, u)
}

func notOpen(c *Call, res session.OpenResult, u Undone) *NotOpen {
	i := res.Session.Info()
	out := &NotOpen{
		Action: "open", Success: true, SessionID: i.ID, State: res.State, Protocol: i.Protocol, Cursor: "0",
		WaitingForInput: res.Prompt != nil, Prompt: (*wire.Prompt)(res.Prompt), again: u.Then == "",
	}
	out.WaitingFor = wire.PersonOf(res.Session, out.Prompt)
	text := u.What + ": "
	switch {
	case out.WaitingFor != nil && out.again:
		text += "the login waits for a person (ptyctl watch, ptyctl answer). Make this call again to wait on"
	case out.WaitingFor != nil:
		text += "the login waits for a person (ptyctl watch, ptyctl answer). Wait with ptyctl_session_io read, then " + u.Then
	case res.Prompt != nil && out.again:
		text += "the login asks. Answer with ptyctl_session_io write, then make this call again"
	case res.Prompt != nil:
		text += "the login asks. Answer with ptyctl_session_io write, then " + u.Then
	case res.State.Ended():
		out.EndCode = i.End.Code
		for _, w := range i.About.Warnings {
			c.Warn(w)
		}
		text += "the session was over at once: " + i.End.Reason + "; read its output from cursor 0"
	case out.again:
		text += "the session is still " + string(res.State) + ". Make this call again to wait on"
	default:
		text += "the session is still " + string(res.State) + ". Wait with ptyctl_session_io read, then " + u.Then
	}
	// Of this result alone: once a person has answered, the call has another one.
	out.Warnings = append(c.Warnings(), text)
	return out
}

// NotOpen is the result of a call that names a host when the session there is not open: the members of an open's result
// that exist by then.
type NotOpen struct {
	Action          string          `json:"action"`
	Success         bool            `json:"success"`
	SessionID       string          `json:"session_id"`
	State           session.State   `json:"state"`
	EndCode         session.EndCode `json:"end_code,omitempty"`
	Protocol        string          `json:"protocol"`
	Cursor          string          `json:"cursor"`
	WaitingForInput bool            `json:"waiting_for_input,omitempty"`
	Prompt          *wire.Prompt    `json:"prompt,omitempty"`
	WaitingFor      *wire.Waiting   `json:"waiting_for,omitempty"`
	Warnings        []string        `json:"warnings,omitempty"`

	again bool // the same call does it
}

// Undone lets a retry of the call act, unless the caller goes on in another way.
func (out *NotOpen) Undone() bool { return out.again }

// SessionName is for the text form.
func (out *NotOpen) SessionName() string { return out.SessionID }

// notOpenCompact is a separate type, so that it has no Compact method.
type notOpenCompact NotOpen

// Compact leaves out the values of the call.
func (out *NotOpen) Compact() any {
	c := notOpenCompact(*out)
	c.Action, c.Success, c.Protocol, c.Cursor, c.WaitingForInput = "", false, "", "", false
	return c
}
