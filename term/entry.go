package term

import "context"

type entryGateKey struct{}

// WithEntryGate returns a context for a call that another node of a cluster has passed on: g asks the Gate of that
// node, with the actor that the node knows. It fails once the call is over. A nil g means that no Gate can be asked.
func WithEntryGate(ctx context.Context, g Gate) context.Context {
	return context.WithValue(ctx, entryGateKey{}, g)
}

// EntryGateFrom returns the Gate that ctx carries, or nil. Work that goes on after its call carries it as well, so
// that the Gate can still be asked about its actions while the call lasts:
//
//	ctx = term.WithEntryGate(ctx, term.EntryGateFrom(call))
func EntryGateFrom(ctx context.Context) Gate {
	g, _ := ctx.Value(entryGateKey{}).(Gate)
	return g
}
