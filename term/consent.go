package term

import "context"

// A Consent is what a person is asked to agree to, and then what he has agreed to: one action that the operator's rules
// allow in no other way. It counts in the one call whose context carries it, for this action. Nothing in a
// call's arguments makes one.
type Consent struct {
	Rule     string // that wants it
	Protocol string // of the session
	Host     string // as the caller names it
	User     string // of the session; empty: the default
	Dir      string // the working directory, as the caller gives it
	Env      string // NAME=value of what the caller sets, a line each
	Text     string // what is run, or typed
	Typed    bool
}

type consentKey struct{}

// WithConsent returns a context that carries c, for a call that is made again after a person has agreed to it.
func WithConsent(ctx context.Context, c Consent) context.Context {
	return context.WithValue(ctx, consentKey{}, &c)
}

// ConsentFrom returns the Consent that ctx carries; nil if none.
func ConsentFrom(ctx context.Context) *Consent {
	c, _ := ctx.Value(consentKey{}).(*Consent)
	return c
}
