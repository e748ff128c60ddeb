// Package stdio answers newline-delimited JSON-RPC on a pair of streams, as MCP's stdio transport describes it.
//
//	err := stdio.Serve(ctx, srv, os.Stdin, os.Stdout, stdio.Options{})
//
// Read serve.go first: the loop. message.go reads one line, batch.go a line with several messages, writer.go owns the
// output, session.go is the client as mcp-go sees it, and request.go has the questions of the server to the client.
package stdio
