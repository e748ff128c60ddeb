package mcpgo

import (
	"context"

	"github.com/mark3labs/mcp-go/mcp"
)

// An ErrorSlot takes the error with which a request is to be answered in place of its result: mcp-go gives a tool's
// handler no way to do that. It is used by that request's goroutine alone.
type ErrorSlot struct{ err *mcp.JSONRPCError }

type errorSlotKey struct{}

// WithErrorSlot returns a context for requests that are answered from slot.
func WithErrorSlot(ctx context.Context, slot *ErrorSlot) context.Context {
	return context.WithValue(ctx, errorSlotKey{}, slot)
}

// ErrorSlotFrom returns the slot of the request of ctx; nil if its transport has none.
func ErrorSlotFrom(ctx context.Context) *ErrorSlot {
	slot, _ := ctx.Value(errorSlotKey{}).(*ErrorSlot)
	return slot
}

// Put sets the error.
func (s *ErrorSlot) Put(err mcp.JSONRPCError) { s.err = &err }

// Answer returns the stored error, or answer if no error was stored.
func (s *ErrorSlot) Answer(answer mcp.JSONRPCMessage) mcp.JSONRPCMessage {
	if s.err == nil {
		return answer
	}
	return *s.err
}
