package term

import "context"

// A Consent describes one action that the operator's rules allow only with a person's
// consent: first it is shown to the person, then it is proof of the person's agreement.
// It is valid only in the call with the context that carries it, and only for this
// action. A call's arguments cannot create one.
type Consent struct { // the rule that demands it
	Rule     string // that wants it
	Protocol string // of the session
	Host     string // as the caller wrote it
	User     string // of the session; empty: the default
	Dir      string // the working directory, as the caller wrote it
	Env      string // NAME=value of the caller's variables, one per line
	Text     string // the command, or the text to type
	Typed    bool   // Text is to be typed
	Person   bool   // a person of the operator must agree, and not the one at the client
	Secret   string // name of the secret that is wanted; empty: none
	Value    bool   // the person gives the value of Secret
	Lasting  bool   // as in SecretQuestion
}

type consentKey struct{}

// WithConsent returns a context that carries c, for the repeated call after a person has
// agreed.
func WithConsent(ctx context.Context, c Consent) context.Context {
	return context.WithValue(ctx, consentKey{}, &c)
}

// ConsentFrom returns the Consent that ctx carries, or nil.
func ConsentFrom(ctx context.Context) *Consent {
	c, _ := ctx.Value(consentKey{}).(*Consent)
	return c
}
