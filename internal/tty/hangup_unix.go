//go:build unix

package tty

import (
	"context"
	"os/signal"
	"syscall"
)

// UntilHangUp returns a context that ends with ctx, or when the terminal of this process is closed (SIGHUP, signal(7)). It
// does not end by a signal that is ignored, as under nohup(1).
func UntilHangUp(ctx context.Context) (context.Context, context.CancelFunc) {
	if signal.Ignored(syscall.SIGHUP) {
		return context.WithCancel(ctx)
	}
	return signal.NotifyContext(ctx, syscall.SIGHUP)
}
