//go:build !unix

package tty

import "context"

// UntilHangUp returns a context that ends with ctx: this system has no signal for a terminal that is closed.
func UntilHangUp(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithCancel(ctx)
}
