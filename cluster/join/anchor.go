package join

import (
	"context"
	"time"

	"ptyctl/audit"
	"ptyctl/cluster/anchors"
)

// Times of anchors: how long one may take, and after how long one that was not kept is tried again.
const (
	anchorTime  = 5 * time.Second
	anchorAgain = 5 * time.Minute
)

// midnight returns the next midnight, UTC.
func midnight(now time.Time) time.Time {
	y, m, d := now.UTC().Date()
	return time.Date(y, m, d+1, 0, 0, 0, 0, time.UTC)
}

// anchorDaily keeps the end of the audit log now and at each midnight, until ctx ends.
func (n *node) anchorDaily(ctx context.Context) {
	for why := anchors.Start; ; why = anchors.Day {
		kept := n.anchor(ctx, why)
		for !kept && rest(ctx, anchorAgain) {
			kept = n.anchor(ctx, why)
		}
		if !rest(ctx, time.Until(midnight(time.Now()))) {
			return
		}
	}
}

// rest waits. It reports false once ctx ends.
func rest(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// anchor keeps the end of the audit log, and reports whether that was done, or there is no log.
func (n *node) anchor(ctx context.Context, why anchors.Why) bool {
	head, ok := audit.Head{}, false
	if f := n.head.Load(); f != nil {
		head, ok = (*f)()
	}
	if !ok {
		return true
	}
	ctx, cancel := context.WithTimeout(ctx, anchorTime)
	defer cancel()
	book, err := anchors.Open(ctx, n.nc, n.group, n.prover)
	if err == nil {
		err = book.Put(ctx, anchors.Anchor{
			Node: n.name, Time: time.Now().UTC(), Why: why, File: head.File, Bytes: head.Bytes, Hash: head.Hash,
		})
	}
	if err != nil {
		n.counts.missed.Add(1)
		n.log.Warn("the end of the audit log was not kept in the cluster", "why", string(why), "head", head.Hash, "error", err)
		return false
	}
	n.counts.anchored.Add(1)
	return true
}
