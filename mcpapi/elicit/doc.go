// Package elicit asks people at the clients: the questions of a login, and their consent to a call that the operator's
// rules leave to them.
//
//	questions := elicit.New(elicit.Questions{Client: srv, Logins: true, Pages: elicit.NewPages(), Log: log})
//	v, question, err := questions.Login(ctx, call, v)
//
// Guarantees:
//
//   - A question takes one answer, and an answer goes only to the question that was shown.
//   - A secret is typed on a page of the person's own machine; no client sees it.
//   - A person sees all that they allow, and nothing that a host or a caller writes can pass for ptyctl's words.
//   - If a client cannot ask, everything is as without this package.
package elicit
