package elicit

import (
	"context"
	"crypto/rand"
	"log/slog"
	"sync"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"ptyctl/consent"
	"ptyctl/internal/mcpgo"
	"ptyctl/term"
)

// Secrets asks people about the operator's secrets: where all questions wait, and for a value also on a page of this
// machine, to which a client that can do so leads the person. It implements term.SecretPerson.
type Secrets struct {
	Book  *consent.Book
	Pages *Pages
	Log   *slog.Logger
}

// AskSecret implements term.SecretPerson.
func (s *Secrets) AskSecret(ctx context.Context, q term.SecretQuestion) ([]byte, error) {
	var leading sync.WaitGroup
	defer leading.Wait()
	waiting, stop := context.WithCancel(ctx)
	defer stop()
	return s.Book.AskSecret(ctx, q, func(asked consent.Question, over <-chan struct{}) {
		client, able := server.ClientSessionFromContext(ctx).(server.SessionWithElicitation)
		_, asURL := elicitation(ctx)
		if !able || !asURL || !q.Value || server.IsModernRequest(ctx) || s.Pages == nil || !mcpgo.OnStdio(client) {
			return
		}
		a := &valueAsked{book: s.Book, question: asked, over: over}
		address, err := s.Pages.open(ctx, a)
		if err != nil {
			s.Log.Warn("no page for a secret; the question waits elsewhere", "secret", q.Secret, "error", err)
			return
		}
		leading.Go(func() {
			res, err := client.RequestElicitation(waiting, mcp.ElicitationRequest{Params: mcp.ElicitationParams{
				Mode: mcp.ElicitationModeURL, ElicitationID: rand.Text(), URL: address,
				Message: heading(a.Prompt()) + "Type it on this page, which ptyctl serves on your own machine; neither the " +
					"assistant nor its client sees it.",
			}})
			if err == nil && res.Action == mcp.ElicitationResponseActionDecline {
				_ = a.Decline(ctx) // the first answer counts
			}
		})
	})
}

// A valueAsked is a question for a value on a page.
type valueAsked struct {
	book     *consent.Book
	question consent.Question
	over     <-chan struct{}
}

// Prompt implements asking.
func (a *valueAsked) Prompt() term.Prompt {
	w := a.question.Wanted
	return term.Prompt{User: w.User, Host: w.Host, Text: w.Text, Secret: w.Secret}
}

// Answer implements asking.
func (a *valueAsked) Answer(ctx context.Context, value []byte) error {
	return a.book.Give(ctx, a.question.ID, value)
}

// Decline implements asking.
func (a *valueAsked) Decline(ctx context.Context) error {
	return a.book.Answer(ctx, a.question.ID, false)
}

// Over implements asking.
func (a *valueAsked) Over() <-chan struct{} { return a.over }
