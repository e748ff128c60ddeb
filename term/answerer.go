package term

import "context"

// A Login is one login of a connection, as far as it is known before a question is answered.
type Login struct {
	Hop     int          // 0: the first host
	User    string       // the account
	Host    string       // the host's own name, after all settings
	Port    int          // of the host
	Names   []string     // the names by which the operator's own settings lead to this host
	HostKey HostKeyProof // the proof of the host's key by the operator's record
	Given   []string     // the names that the Answerer returned in this login before
	Secret  string       // the name of the secret that the caller wants for it; empty: none
}

// An Answerer answers questions of logins in place of a person, for example from a store of secrets. Its methods may be
// called by any number of goroutines.
type Answerer interface {
	// Expects reports whether there may be an answer to a question of the login. It is asked before a method of
	// authentication that has questions is tried.
	Expects(l Login) bool

	// Answer returns an answer, and its name for Login.Given. An empty name means no answer: the person is asked. The
	// error *PersonAnswers means that a person of the operator must answer. Any other error is an *Error, and ends
	// the login. ctx carries the Actor that opens the connection.
	Answer(ctx context.Context, l Login, q Prompt) (answer, name string, err error)
}

type personKey struct{}

// WithPerson returns a context in which waits is called when a login begins to wait for a person who must agree to an
// answer. It returns a function that is called when the login goes on. The question is put to the person elsewhere.
func WithPerson(ctx context.Context, waits func(w Waiting) (over func())) context.Context {
	return context.WithValue(ctx, personKey{}, waits)
}

// AwaitPerson reports to the context's login, if it registered for that, that it waits for a person until over is
// called.
func AwaitPerson(ctx context.Context, w Waiting) (over func()) {
	if waits, ok := ctx.Value(personKey{}).(func(w Waiting) (over func())); ok {
		return waits(w)
	}
	return func() {}
}
