package join

import (
	"context"
	"errors"

	"ptyctl/cluster/lease"
	"ptyctl/devlock"
)

// devices are the owners of consoles. An owner whose node gives no answer is said to be one: until its lease has run out,
// the servers know nothing of its end.
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

// explain finds out whether the node of an owner answers. What cannot be found out is left as it is.
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
