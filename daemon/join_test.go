package daemon

import (
	"context"
	"errors"
	"net"
	"path/filepath"
	"testing"

	"ptyctl/internal/rundir"
)

// A client that is stopped while another one starts the daemon does not wait for it.
func TestEnsureCanceled(t *testing.T) {
	p := Place{dir: filepath.Join(t.TempDir(), "ptyctl"), name: "d"}
	if err := rundir.Own(p.dir); err != nil {
		t.Fatal(err)
	}
	unlock, err := rundir.TryPath(p.lock())
	if err != nil {
		t.Fatal(err)
	}
	defer unlock()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	err = p.ensure(ctx, func(context.Context, Place) error {
		t.Error("the daemon is started under another's lock")
		return nil
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("ensure after its context has ended = %v, want Canceled", err)
	}
}

// A person who asks a daemon to end does not have to wait for it.
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
