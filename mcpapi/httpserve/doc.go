// Package httpserve serves an MCP server over streamable HTTP, and lets in only who may come in.
//
//	h := httpserve.New(srv, httpserve.Options{Tokens: []httpserve.Token{{Name: "ci", Value: secret}}})
//	ln, err := httpserve.Listen("127.0.0.1:8765", true)
//	err = h.Serve(ctx, ln)
//
// A request passes, in this order, and each refusal costs as little as possible:
//
//	path -> Host, Origin -> token -> method -> rate -> room -> size -> body -> MCP session -> the MCP server
//	 404        403          401       405     429     503    413    408         400, 404
//
// What it promises:
//
//   - No byte of a body is read before the token is known to be right.
//   - A client that is slow to send its headers or body, or to take its answer, is cut off; a stream that is silent is not.
//   - An MCP session belongs to the token that has begun it, and is forgotten when it was idle for long enough. Terminal
//     sessions are not tied to it.
//   - Every refusal is a JSON-RPC error whose message says what to do next.
//
// Whether a handler is mounted on a TCP port, with TLS or without, or on a Unix socket, is for its user to say.
package httpserve
