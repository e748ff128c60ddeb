// Package term is the vocabulary that every other package of ptyctl shares: what a terminal is (Transport and
// its optional interfaces), where it leads (Target), what it may ask a person (Prompt), how a program ended
// (Exit), what went wrong (Error and its closed set of Kinds) and what happened (Event, done by an Actor).
//
// It imports nothing but the standard library and holds no behaviour of its own, so that transports (sshx,
// telnet, ptyx), the engine (session) and the wire (mcpapi) can agree without importing one another:
//
//	sshx   telnet   ptyx      implement Transport, Execer, Signaler, Waiter, Describer, KeySender
//	   \      |      /
//	    v     v     v
//	       term              the words
//	          ^
//	       session           drives a Transport; calls Gate, Journal and Observer
//	          ^
//	       mcpapi            turns an Error into error_code, message, retryable, details
//
// The set of Kinds is append-only: a Kind that was ever sent to a caller keeps its name and its meaning.
package term
