package toolset

import (
	"context"

	"ptyctl/mcpapi/schema"
)

// A Tool is one that can be called.
type Tool struct {
	*schema.Tool
	Handle Handler
}

// A Handler runs one call of a tool. The context carries the caller as a term.Actor. The result must be an Answer, a
// wire.Shown, or a struct, which becomes the result's JSON. An error takes the form that Set.Fail gives it.
type Handler func(ctx context.Context, c *Call) (any, error)

// Bind makes a tool from its table, the struct A of its arguments, the function that runs a call, and the structs of
// its results. It panics if they do not fit together: the program must not start with such a tool.
func Bind[A any](t schema.Tool, do func(ctx context.Context, c *Call, in *A) (any, error), results ...any) *Tool {
	return &Tool{schema.Declare[A](t, results...), func(ctx context.Context, c *Call) (any, error) {
		in, err := c.Checker().Decode(c.args)
		if err != nil {
			return nil, err
		}
		return do(ctx, c, in.(*A))
	}}
}
