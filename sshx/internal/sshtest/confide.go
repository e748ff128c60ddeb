package sshtest

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"ptyctl/internal/leaktest"
	"ptyctl/term"
)

// Confide registers the secrets of a login, so that the leak search finds them in
// outputs.
func Confide(tb testing.TB, a term.Auth) {
	tb.Helper()
	leaktest.Auth(tb, a.Password.Reveal(), a.PrivateKeyPEM.Reveal(), a.Passphrase.Reveal())
}

// Confiding returns p with its answers registered as secrets. Questions are shown
// to people.
func Confiding(tb testing.TB, p term.Prompter) term.Prompter {
	if p == nil {
		return nil
	}
	return confidant{tb, p}
}

type confidant struct {
	tb testing.TB
	p  term.Prompter
}

// Prompt implements term.Prompter.
func (c confidant) Prompt(ctx context.Context, q term.Prompt) (string, error) {
	leaktest.Output(c.tb, "question", fmt.Sprintf("%+v", q))
	answer, err := c.p.Prompt(ctx, q)
	if err == nil && q.Kind != term.PromptHostKey {
		leaktest.Typed(c.tb, answer)
	}
	return answer, err
}

// RegisterError registers the text of an error as an output.
func RegisterError(tb testing.TB, err error) {
	tb.Helper()
	text := fmt.Sprint(err)
	if e, ok := errors.AsType[*term.Error](err); ok && e.Facts != nil {
		text += fmt.Sprintf(" %+v", e.Facts)
	}
	leaktest.Output(tb, "error", text)
}
