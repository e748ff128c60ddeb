// Package verdict has the wire forms of a question and its answer: a node of a cluster asks the node that a caller is
// connected to for the verdict of that node's rules on an action. The package judges nothing and sends nothing.
//
//	text, err := verdict.Encode(action, "")      // at the node that acts
//	...
//	q, err := verdict.Decode(text)               // at the node that is asked
//	q.Action.Actor = actor                       // of its own client, which no message names
//	ruling, err := gate(ctx, q.Action)
//	answer := q.Answer(ruling, err)
//	...
//	answer, err := verdict.ReadAnswer(text)      // at the node that acts
//	ruling, err := answer.Ruling(action, "fra1")
//
// Guarantees:
//
//   - A question has no secret: no credential, no input that must not be recorded, no variable of the operator.
//   - Both forms are bounded and are checked when read: the other node is not trusted.
//   - The question describes the exact action: an action that the form cannot express exactly is an error.
package verdict
