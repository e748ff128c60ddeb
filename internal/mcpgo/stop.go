package mcpgo

import "context"

// mcp-go's HTTP handler writes no answer once the context of the request has ended. A call that the stop of the server
// ends has an answer: the state of its command. So its request's context goes on, and the tool's own one ends.

// stopKey finds, in the context of a request, the one that ends with the server.
type stopKey struct{}

// WithStop returns ctx for a request. The context of the request's tool also ends with stop.
func WithStop(ctx, stop context.Context) context.Context {
	return context.WithValue(ctx, stopKey{}, stop)
}

// ToolContext returns the context of the tool that a request calls. done must be called at the end of the tool.
func ToolContext(ctx context.Context) (tool context.Context, done func()) {
	stop, ok := ctx.Value(stopKey{}).(context.Context)
	if !ok {
		return ctx, func() {}
	}
	tool, cancel := context.WithCancelCause(ctx)
	release := context.AfterFunc(stop, func() { cancel(context.Cause(stop)) })
	return tool, func() {
		release()
		cancel(nil)
	}
}
