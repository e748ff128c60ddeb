package elicit

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"ptyctl/internal/lazyregexp"
	"ptyctl/internal/mcpgo"
	"ptyctl/session"
	"ptyctl/term"
)

// The forms. Every client with forms can show their members.
var (
	hostKeyForm = json.RawMessage(
		`{"type":"object","properties":{"trust":{"type":"boolean","title":"Trust this host key",` +
			`"description":"Only if the fingerprint is the one that the host's administrator gave you.",` +
			`"default":false}},"required":["trust"]}`,
	)
	textForm = json.RawMessage(
		`{"type":"object","properties":{"answer":{"type":"string","title":"Answer",` +
			`"description":"Never a password or code.","maxLength":1024}},"required":["answer"]}`,
	)
)

// secretWord matches the words of a question for a secret. A server may ask for one with echo: such a question is no
// less secret.
var secretWord = lazyregexp.New(
	`(?i)pass(?:word|phrase|code|wd)|\bcode\b|\bpin\b|\botp\b|token|secret|\bkey\b|credential|yubi|factor`,
)

// secret reports whether the answer may pass only through the server that asks.
func secret(q term.Prompt) bool {
	return q.Kind != term.PromptHostKey && (!q.Echo || q.Secret != "" || q.Kind != term.PromptChallenge || secretWord.MatchString(q.Text))
}

// form returns the form that asks the client a question, if one can.
func (q *Questions) form(ctx context.Context, a *session.Question) (mcp.ElicitationParams, bool) {
	p := a.Prompt()
	asForm, asURL := elicitation(ctx)
	switch {
	case secret(p):
		return q.pageForm(ctx, a, asURL)
	case !asForm:
		return mcp.ElicitationParams{}, false
	case p.Kind == term.PromptHostKey:
		return mcp.ElicitationParams{
			Mode:            formMode(ctx),
			Message:         heading(p) + plain(p.Text),
			RequestedSchema: hostKeyForm,
		}, true
	}
	return mcp.ElicitationParams{
		Mode:            formMode(ctx),
		Message:         heading(p) + "The host asks, in its own words: " + plain(p.Text),
		RequestedSchema: textForm,
	}, true
}

// pageForm sends the person to a page of this machine, if the client is on it too.
func (q *Questions) pageForm(ctx context.Context, a *session.Question, asURL bool) (mcp.ElicitationParams, bool) {
	if !asURL || !mcpgo.OnStdio(server.ClientSessionFromContext(ctx)) || q.Pages == nil {
		return mcp.ElicitationParams{}, false
	}
	address, err := q.Pages.open(ctx, a)
	if err != nil {
		q.Log.Warn(
			"no page for the question of a login; it is left to the caller",
			"session",
			a.Session().ID(),
			"error",
			err,
		)
		return mcp.ElicitationParams{}, false
	}
	return mcp.ElicitationParams{
		Mode: mcp.ElicitationModeURL, ElicitationID: rand.Text(), URL: address,
		Message: heading(a.Prompt()) + "It asks for something secret. Type it on this page, " +
			"which ptyctl serves on your own machine; neither the assistant nor its client sees it.",
	}, true
}

// heading returns the first line of a form: the login or the secret that the question is for.
func heading(q term.Prompt) string {
	host := plain(q.Host)
	if q.User != "" {
		host = plain(q.User) + "@" + host
	}
	switch {
	case q.Secret != "" && host == "":
		return fmt.Sprintf("ptyctl asks for the secret %s, for this machine.\n", plain(q.Secret))
	case q.Secret != "":
		return fmt.Sprintf("ptyctl asks for the secret %s, for %s.\n", plain(q.Secret), host)
	}
	return fmt.Sprintf("ptyctl logs in to %s.\n", host)
}

// maxShown is how much of a question from afar is shown, in bytes.
const maxShown = 6000

// plain makes a server's text safe to show in a form, so that it cannot imitate another part of the form.
func plain(text string) string { return term.Foreign(text, maxShown) }

// Protocol revisions: since is the first one with elicitation, modeSince the first one with modes of it. Clients of
// those between know only forms.
const (
	since     = "2025-06-18"
	modeSince = "2025-11-25"
)

// formMode is the mode of a form, where modes are known.
func formMode(ctx context.Context) string {
	if mcpgo.Revision(ctx) >= modeSince {
		return mcp.ElicitationModeForm
	}
	return ""
}

// elicitation returns the forms of elicitation that the client has declared.
func elicitation(ctx context.Context) (asForm, asURL bool) {
	var can *mcp.ElicitationCapability
	if info := server.RequestProtocolInfoFromContext(ctx); info != nil && info.Modern {
		if info.ClientCapabilities != nil {
			can = info.ClientCapabilities.Elicitation
		}
	} else if s, ok := server.ClientSessionFromContext(ctx).(server.SessionWithClientInfo); ok {
		if revision := mcpgo.Revision(ctx); revision == "" || revision >= since {
			can = s.GetClientCapabilities().Elicitation
		}
	}
	if can == nil {
		return false, false
	}
	return can.Form != nil || can.URL == nil, can.URL != nil // an empty object means forms
}

// answerIn takes the answer out of a form's content.
func answerIn(content any, hostKey bool) (text string, ok bool) {
	var form struct {
		Trust  *bool
		Answer *string
	}
	raw, err := json.Marshal(content)
	if err != nil || json.Unmarshal(raw, &form) != nil {
		return "", false
	}
	switch {
	case hostKey && form.Trust != nil && *form.Trust:
		return "yes", true
	case hostKey && form.Trust != nil:
		return "no", true
	case !hostKey && form.Answer != nil:
		return *form.Answer, true
	}
	return "", false
}
