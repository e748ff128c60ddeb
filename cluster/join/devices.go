package join

import (
	"context"
	"errors"

	"ptyctl/cluster/lease"
	"ptyctl/devlock"
)

// devices is the store of the owners of consoles. Its errors mark an owner as silent if the owner's node gives no
// answer: until the lease has run out, the servers do not know of the owner's end.
type devices struct {
	*lease.Store
	n *node
}

// Acquire implements devlock.Store.
func (d devices) Acquire(ctx context.Context, device string, o devlock.Owner) (*devlock.Lease, error) {
	l, err := d.Store.Acquire(ctx, device, o)
	if held, ok := errors.AsType[*devlock.HeldError](err); ok && held.Left == 0 {
		d.explain(ctx, held)
	}
	return l, err
}

// explain finds out whether the node of an owner answers. If it cannot find out, it leaves held as it is.
func (d devices) explain(ctx context.Context, held *devlock.HeldError) {
	if node := held.Owner.Node; node != d.n.name {
		if answers, err := d.n.router.Answers(ctx, node); err != nil || answers {
			return
		}
	}
	ends, here, err := d.Expires(ctx, held.Device)
	switch {
	case here: // and may be about to be given back
		return
	case err == nil:
		held.Ends = ends
	}
	held.Silent = true // of this node's name: a process that has ended, since this one has the name
}
