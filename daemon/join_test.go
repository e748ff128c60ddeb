package daemon

import (
	"context"
	"errors"
	"net"
	"testing"
)

// A person who has asked a daemon to end need not wait for it.
func TestAwaitEnd(t *testing.T) {
	near, far := net.Pipe()
	_ = far.Close()
	if err := AwaitEnd(t.Context(), near); err != nil {
		t.Errorf("AwaitEnd of a process that has ended = %v, want nil", err)
	}
	near, far = net.Pipe()
	defer far.Close()
	ctx, interrupt := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- AwaitEnd(ctx, near) }()
	interrupt()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("AwaitEnd after an interrupt = %v, want Canceled", err)
	}
}
