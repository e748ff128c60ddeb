package limits

import (
	"maps"
	"slices"

	"ptyctl/cluster/internal/bucket"
)

// A taker is a call of Take that waits.
type taker struct {
	use  Use
	done chan error // buffered
}

// A counter is one limit in this process. One worker at a time writes its key, and counts all waiting calls together.
type counter struct {
	key string

	// Book.mu guards these.
	held    int      // sessions that are taken and not released: the intended share
	share   int      // the share in the last confirmed write
	unsure  bool     // a later write may have been done, too
	epoch   uint64   // of the process that the share belongs to
	waiting []*taker // in their order
	busy    bool     // it has a worker
	failed  error    // of the worker's last attempt

	// Only the worker uses these.
	known    bool // the following was last read or written
	shares   shares
	revision uint64
}

// dirty reports whether the share has to be written. The caller holds mu.
func (b *Book) dirty(c *counter) bool {
	return c.unsure || c.share != c.held || c.epoch != b.epoch && c.held > 0
}

// start gives a counter a worker if it has something to do. The caller holds mu.
func (b *Book) start(c *counter) {
	if b.closed || c.busy || len(c.waiting) == 0 && !b.dirty(c) {
		return
	}
	c.busy = true
	b.steps.Go(func() { b.serve(c) })
}

// serve is the worker of a counter. It ends when there is nothing left to do, or when no call waits and an attempt
// fails: then the next renewal that succeeds starts another.
func (b *Book) serve(c *counter) {
	for attempts := 0; ; {
		err := b.step(c)
		b.mu.Lock()
		c.failed = err
		if len(c.waiting) == 0 && (err != nil && !bucket.Refused(err) || !b.dirty(c)) {
			c.busy = false
			if c.held == 0 && !b.dirty(c) && len(b.counters) > maxIdle {
				delete(b.counters, c.key)
			}
			b.mu.Unlock()
			return
		}
		b.mu.Unlock()
		if err == nil {
			attempts = 0
			continue
		}
		// A refusal means that another process has written, so all together get on. The pause keeps them apart.
		if attempts++; attempts > 2 && !bucket.Pause(b.ctx, min(attempts-3, 3)) {
			b.mu.Lock()
			c.busy = false
			b.mu.Unlock()
			return
		}
	}
}

// step makes one attempt to count the waiting calls, and to write the share.
func (b *Book) step(c *counter) error {
	b.mu.Lock()
	if !b.valid() {
		b.mu.Unlock()
		return errNoKey
	}
	own, epoch, former := b.process.name, b.epoch, slices.Clone(b.former)
	held, takers, unsure := c.held, slices.Clone(c.waiting), c.unsure || c.epoch != b.epoch
	b.mu.Unlock()

	fresh := !c.known
	if fresh {
		if err := b.read(c); err != nil {
			return err
		}
	}
	_, refused := grant(takers, c.shares.others(own), held)
	if len(refused) > 0 && !fresh { // the known counts may be old
		if err := b.read(c); err != nil {
			return err
		}
	}
	next := maps.Clone(c.shares)
	for _, p := range former {
		delete(next, p)
	}
	if len(refused) > 0 {
		if err := b.bury(next, own); err != nil {
			return err
		}
	}
	granted, refused := grant(takers, next.others(own), held)
	if next[own] = held + len(granted); next[own] == 0 {
		delete(next, own)
	}
	if unsure || !maps.Equal(next, c.shares) {
		revision, err := b.write(c, next)
		if err != nil {
			c.known = false
			if !bucket.Refused(err) {
				b.mu.Lock()
				c.unsure = true
				b.mu.Unlock()
			}
			return err
		}
		c.shares, c.revision = next, revision
	}

	b.mu.Lock()
	defer b.mu.Unlock()
	c.share, c.unsure, c.epoch = held+len(granted), false, epoch
	if epoch != b.epoch || !b.valid() { // the process may have lost its share by now
		return errNoKey
	}
	for _, t := range granted {
		if c.decided(t) {
			c.held++
			t.done <- nil
		}
	}
	for _, t := range refused {
		if c.decided(t) {
			t.done <- &FullError{What: t.use.What, Name: t.use.Name, Most: t.use.Most, Nodes: next.nodes()}
		}
	}
	return nil
}

// grant divides the waiting calls into those that can be counted and the others. A process never raises its share if
// the sum is above the limit then.
func grant(takers []*taker, others, held int) (granted, refused []*taker) {
	for _, t := range takers {
		if others+held+len(granted) < t.use.Most {
			granted = append(granted, t)
		} else {
			refused = append(refused, t)
		}
	}
	return granted, refused
}

// decided removes a call from the waiting ones. It reports false if the call does not wait any more. The caller holds
// Book.mu.
func (c *counter) decided(t *taker) bool {
	i := slices.Index(c.waiting, t)
	if i < 0 {
		return false
	}
	c.waiting = slices.Delete(c.waiting, i, i+1)
	return true
}

// read reads the key of a counter.
func (b *Book) read(c *counter) error {
	c.known = false
	e, err := b.bucket.Read(b.ctx, c.key)
	if err != nil {
		return err
	}
	if c.shares, err = sharesOf(e); err != nil {
		return err
	}
	c.revision, c.known = e.Revision, true
	return nil
}

// sharesOf returns the shares in an entry.
func sharesOf(e bucket.Entry) (shares, error) {
	if !e.Held() {
		return make(shares), nil
	}
	return decode(e.Data)
}

// write writes the key of a counter. The marker of a deleted key is of no use for long.
func (b *Book) write(c *counter, next shares) (revision uint64, err error) {
	m := b.bucket.Write(c.key, next.encode(), c.revision)
	if len(next) == 0 {
		bucket.WithTTL(m, graves)
	}
	return b.bucket.Put(b.ctx, m)
}
