package vault

import (
	"bytes"
	"context"
	"fmt"
	"time"

	"ptyctl/term"
)

// A Sight is a terminal at one moment, as far as it matters for a secret.
type Sight struct {
	Line       string // with the cursor, as a person sees it
	Shell      bool   // it is the prompt of a shell
	Typed      bool   // something was typed at it
	FullScreen bool   // a program has the whole screen
	Echo       term.Support

	// These change with each byte that comes, and with each input.
	Received int64
	Sent     int64
	Inputs   int
}

// A Terminal is a session as this package sees it.
type Terminal interface {
	// Settle waits, for a moment, until the terminal has shown a question whole.
	Settle(ctx context.Context)

	Look() Sight

	// Peer returns the far side; false: nothing proves which one it is.
	Peer() (term.Peer, bool)
}

// Fetch asks for the value of a secret, which may take as long as ctx lasts. The caller clears it. still returns why
// the value must not be typed any more; nil: it may be.
func Fetch(
	ctx context.Context, t Terminal, from term.Secrets, name string,
) (value []byte, still func() error, err error) {
	peer, proven := t.Peer()
	switch {
	case from == nil:
		return nil, nil, term.Errorf(term.NotFound, "the operator has no secrets")
	case !proven:
		return nil, nil, term.Errorf(term.Unsupported, "nothing proves where this session leads, so it gets no secret")
	}
	t.Settle(ctx)
	asked := t.Look()
	value, err = from.Release(ctx, term.SecretRequest{
		Name: name, Use: term.SecretTerminal, Peer: peer, Prompt: asked.Line,
		// Where the echo is not known, input at the line decides: it may be shown, and the value would follow it.
		Echo: asked.Echo == term.Yes, Typed: asked.Typed, Shell: asked.Shell, FullScreen: asked.FullScreen,
		Wait: patience(ctx),
	})
	if err == nil && bytes.ContainsFunc(value, isControl) {
		clear(value)
		value, err = nil, term.Errorf(term.AuthFailed,
			"secret %s has a character that a terminal takes for a key, so it was not typed", name)
	}
	return value, func() error { return asked.changed(t.Look()) }, err
}

// parting is how long before the end of a context a person is no longer waited for, so that there is time to say so.
const parting = time.Second

// patience returns how long a person may take; 0: the default of the code that asks them.
func patience(ctx context.Context) time.Duration {
	end, limited := ctx.Deadline()
	if !limited {
		return 0
	}
	return Patience(time.Until(end))
}

// Patience returns how long a person may take if the caller that waits for them has that long.
func Patience(left time.Duration) time.Duration { return max(left-parting, 1) }

// isControl reports whether a terminal may take a character for a key.
func isControl(r rune) bool { return r < ' ' || r == 0x7f }

// changed returns an error that names the difference, or nil.
func (s Sight) changed(now Sight) error {
	what := ""
	switch {
	case now.Inputs != s.Inputs, now.Sent != s.Sent:
		what = "something was typed"
	case now.Line != s.Line:
		what = "the question has changed"
	case now.Received != s.Received:
		what = "the terminal has shown something"
	case now.FullScreen != s.FullScreen, now.Echo != s.Echo, now.Shell != s.Shell:
		what = "the terminal has changed"
	default:
		return nil
	}
	return &term.Error{
		Kind: term.Busy, Reason: term.ReasonQuestionChanged,
		Msg:    fmt.Sprintf("%s while the secret was fetched, so nothing was typed", what),
		Advice: "read the present question, and call again",
	}
}
