// Package term is the vocabulary that all other packages of ptyctl share: a terminal
// (Transport and its optional interfaces), its address (Target), questions to a person
// (Prompt), the end of a program (Exit), failures (Error and its closed set of Kinds) and
// events (Event, caused by an Actor).
//
// It imports only the standard library and has no behavior of its own. Transports (sshx,
// telnet, ptyx), the engine (session) and the MCP server (mcpapi) must agree on it
// without importing each other:
//
//	sshx   telnet   ptyx      implement Transport, Execer, Signaler, Waiter, Describer, KeySender
//	   \      |      /
//	    v     v     v
//	       term              the words
//	          ^
//	       session           drives a Transport; calls Gate, Journal and Observer
//	          ^
//	       mcpapi            converts an Error to its wire form
//
// The set of Kinds is append-only: a Kind that was ever sent to a caller keeps its name
// and its meaning.
package term
