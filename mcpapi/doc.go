// Package mcpapi speaks the Model Context Protocol: it maps the wire form of its tools to calls of package session
// and back, and knows nothing of how terminals work.
//
//	srv := mcpapi.NewServer(mcpapi.Options{Sessions: manager, Version: "0.1.0"})
//	err := stdio.Serve(ctx, srv, os.Stdin, os.Stdout, stdio.Options{})
//
// This package is the server, which joins the parts: the tools (tools, and toolset, which they are written against),
// their declaration (schema), the form of results and errors (wire), who calls (identity), questions to people
// (elicit), and sessions as resources (subscribe). The transports are stdio and httpserve. What exists only to get
// round mcp-go is in mcpgo.
//
// Guarantees:
//
//   - Every result is one JSON object. A failure that a caller can act on is a result too, with isError set and
//     the object {error_code, message, retryable, details}; JSON-RPC errors are for faults of the protocol.
//   - Arguments are checked strictly: an unknown field, a wrong type or a field of another action is an error
//     that names the field, the allowed values, and a correct call. Nothing is guessed, and nothing is half done.
//   - Terminal sessions, locks and cursors are never tied to an MCP session.
//   - A call sends no progress after its answer; a cancelled call stops waiting.
//   - A session never waits for the notifications to clients (Watch).
//   - A login's question takes one answer, and an answer goes only to the question that was shown.
package mcpapi
