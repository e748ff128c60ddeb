// Package httpserve serves an MCP server over streamable HTTP and checks who may use it.
//
//	h := httpserve.New(srv, httpserve.Options{Tokens: []httpserve.Token{{Name: "ci", Value: secret}}})
//	ln, err := httpserve.Listen("127.0.0.1:8765", true)
//	err = h.Serve(ctx, ln)
//
// A request passes these checks in order, the cheapest first:
//
//	path -> Host, Origin -> token -> method -> rate -> room -> size -> body -> MCP session -> the MCP server
//	 404        403          401       405     429     503    413    408         400, 404
//
// People have a page beside MCP, with stricter checks: see Page.
//
// Promises:
//
//   - No byte of a body is read before the token is checked.
//   - Connections without an authorized request cannot take the place of others: the oldest
//     of the address that has most of them is closed for a new one.
//   - A client that sends its headers or body too slowly, or does not read its answer, is
//     disconnected. A silent stream is not.
//   - An MCP session belongs to the token that began it, and is removed after a time without
//     use, or when its token begins more than its share. Terminal sessions do not depend on MCP sessions.
//   - A token of a person opens the page and nothing else; no other token opens it.
//   - When a token is withdrawn, all that it has open ends: see Handler.SetTokens.
//   - A caller with an access token (Options.OAuth) is named OAuthPrefix and the token's subject, a name that no other
//     token can have. All that it has open ends when the token expires. Refusals lead its client to the issuer (RFC
//     9728).
//   - Every refusal is a JSON-RPC error that says what to do next.
//
// The package does not choose the transport: its user may serve a handler on a TCP port,
// with or without TLS, or on a Unix socket.
package httpserve
