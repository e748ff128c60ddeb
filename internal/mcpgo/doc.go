// Package mcpgo exists only to get round mcp-go, which reads and writes messages in another way than ptyctl
// needs. A new release of mcp-go may make parts of it needless:
//
//   - ReadCall and Arguments: a call is taken apart once, instead of seven times (docs/decisions/0022).
//   - EncodeAnswer: a request's id in its own digits, and answers that are not read and copied three times;
//     in lists of tools no empty annotations.
//   - ErrorSlot: a failure of a tool as a JSON-RPC error.
//   - TellURI and TellTool: the parts that the errors of mcp-go lack, or repeat.
//   - WithStop and ToolContext: an answer for a call that the stop of the server ends.
//   - ClientFromContext, Capabilities and Revision: who asks, from the two places where mcp-go keeps that.
//
// The smallest use is that of a transport:
//
//	line, err := mcpgo.EncodeAnswer(id, srv.HandleMessage(ctx, message))
package mcpgo
