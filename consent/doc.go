// Package consent keeps the questions that calls put to a person of the operator's, and their answers.
//
//	book := consent.NewBook(consent.Options{TTL: 10 * time.Minute, Observe: log.Observe})
//	outcome, err := book.Ask(ctx, consent.Call{Actor: actor, Tool: "exec", Arguments: args, Wanted: wanted}, wait)
//	...
//	err := book.Answer(ctx, id, true) // ctx carries the Actor of a person
//
// Guarantees:
//
//   - An answer is used once, and only by the same call: same principal and task, same tool and action, same arguments
//     and same action as it was judged.
//   - An id belongs to one question for good. An answer to a question that has expired, was answered or was withdrawn is
//     refused.
//   - No answer is a denial.
//   - The arguments of a call, which may hold a secret, are not kept; a keyed hash of them is.
package consent
