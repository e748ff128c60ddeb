// Package questions shows the questions that wait for a person, and takes the answers: those of logins, and the calls
// that need a person's consent. They are one list, for every command and page of ptyctl.
//
//	board := questions.New(questions.Options{Consents: book})
//	board.Serve(manager)                      // board is one of the manager's observers
//	list := board.List(ctx)                   // ctx carries the identity.Caller
//	err := board.Answer(ctx, questions.Answer{ID: list.Questions[0].ID, Yes: new(true)})
//
//	httpserve.Options{People: board}          // the same at a control socket
//
// Guarantees:
//
//   - An id belongs to one question for good: an answer that comes too late is for no other one.
//   - Only a person at the operator's own socket can answer a consent, and no program that this ptyctl has started.
//   - All text of a caller or a host is safe to show: control characters are made visible.
//   - A secret is not kept after it has been passed on.
package questions
