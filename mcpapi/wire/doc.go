// Package wire is the form that results, errors and sessions have on the wire.
//
//	results := wire.Encoder{Results: identity.Full, Log: log}
//	answer, err := results.Failure(ctx, err) // {"error_code":"NOT_FOUND","message":"...","retryable":false}
//
// The engine speaks of its own methods and fields. Here its typed errors get the words of the tools (advice.go), and
// its values the names that they have in JSON.
//
// Guarantees:
//
//   - Every result is one JSON object, or in the form text a line and the output. A failure that a caller can act on is a result too, with isError set.
//   - Every reason, limit, setting and field that package term knows has its words, and every kind its own code.
//   - An internal error goes to the log; its text never reaches a caller.
package wire
