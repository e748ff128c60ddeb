package limits

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"time"

	"github.com/nats-io/nats.go"

	"ptyctl/cluster/internal/bucket"
)

// A process is one key process.NODE.ID, which says that the shares of NODE.ID count. Each write that creates one
// chooses a new ID, so that no such write can be done late.
type process struct {
	name     string // NODE.ID
	revision uint64
	renewed  time.Time // when the last write was sent that a server has confirmed
}

// keyOf returns the key of a process.
func keyOf(name string) string { return "process." + name }

// The values of a process's key: it only matters whether the key is there, and whether it is a grave.
var (
	alive = []byte(`{"v":1}`)
	grave = []byte(`{"v":1,"grave":true}`)
)

// valid reports whether the key of this process is there for the next Margin at least. The caller holds mu.
func (b *Book) valid() bool { return time.Since(b.process.renewed) < b.o.TTL-b.o.Margin }

// begin begins a process.
func (b *Book) begin(ctx context.Context) error {
	p := process{name: b.o.Node + "." + rand.Text(), renewed: time.Now()}
	var err error
	if p.revision, err = b.bucket.Put(ctx, bucket.WithTTL(b.bucket.Write(keyOf(p.name), alive, 0), b.o.TTL)); err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.process.name != "" { // others remove its shares if there are too many names for this
		b.former = append(b.former[max(0, len(b.former)-15):], b.process.name)
	}
	b.process = p
	b.epoch++
	return nil
}

// renewals renews the key of this process until Close.
func (b *Book) renewals() {
	timer := time.NewTimer(b.o.every())
	defer timer.Stop()
	for {
		select {
		case <-b.ctx.Done():
			return
		case <-timer.C:
		}
		was := b.Alive()
		err := b.renew(b.ctx)
		if err != nil {
			if was && !b.Alive() {
				b.o.Logger.Warn("limits over all nodes cannot be known", "node", b.o.Node, "error", err)
			}
			timer.Reset(b.o.every() / 5)
			continue
		}
		if !was && b.Alive() {
			b.o.Logger.Info("limits over all nodes are known again", "node", b.o.Node)
		}
		timer.Reset(b.o.every())
		b.mu.Lock()
		for _, c := range b.counters {
			b.start(c)
		}
		b.mu.Unlock()
	}
}

// renew renews the key once. If it is gone, renew begins another process, and the shares of that one are written next.
func (b *Book) renew(ctx context.Context) error {
	b.mu.Lock()
	p := b.process
	b.mu.Unlock()
	sent := time.Now()
	revision, err := b.bucket.Put(ctx, bucket.WithTTL(b.bucket.Write(keyOf(p.name), alive, p.revision), b.o.TTL))
	switch {
	case err == nil:
		b.mu.Lock()
		defer b.mu.Unlock()
		b.process.revision, b.process.renewed = revision, sent
		return nil
	case errors.Is(err, nats.ErrNoResponders): // the bucket may have been lost
		_, config := b.o.bucket()
		ctx, cancel := context.WithTimeout(ctx, b.o.attempt())
		defer cancel()
		_, _ = b.bucket.Open(ctx, config) // the next attempt shows whether there is one
		return err
	case !bucket.Refused(err):
		return err
	}
	e, failed := b.bucket.Read(ctx, keyOf(p.name))
	switch {
	case failed != nil:
		return failed
	case !e.Held() || bytes.Equal(e.Data, grave):
		if bucket.CodeOf(err) != bucket.WrongRevision { // another write is under way, which may be an earlier one of this key
			return err
		}
		return b.begin(ctx)
	}
	b.mu.Lock() // the answer to an earlier renewal was lost
	b.process.revision = e.Revision
	b.mu.Unlock()
	return err
}

// bury removes the shares of processes that are dead, and makes sure that they are.
func (b *Book) bury(s shares, own string) error {
	for name := range s {
		b.mu.Lock()
		seen := b.seen[name]
		b.mu.Unlock()
		if name == own || time.Since(seen) < b.o.every() {
			continue
		}
		now := time.Now()
		dead, err := b.dead(name)
		for attempts := 0; bucket.Refused(err) && attempts < 3; attempts++ { // another process buries it, too
			dead, err = b.dead(name)
		}
		if err != nil {
			return err
		}
		if dead {
			delete(s, name)
			continue
		}
		b.mu.Lock()
		if len(b.seen) > 4*maxIdle {
			clear(b.seen)
		}
		b.seen[name] = now
		b.mu.Unlock()
	}
	return nil
}

// dead reports whether a process has no key. A read alone does not show that: it may be answered by a server that led
// the stream before. A write in the key's place is confirmed by the majority only if the key is gone.
func (b *Book) dead(name string) (bool, error) {
	e, err := b.bucket.Read(b.ctx, keyOf(name))
	if err != nil || e.Held() {
		return bytes.Equal(e.Data, grave), err
	}
	_, err = b.bucket.Put(b.ctx, bucket.WithTTL(b.bucket.Write(keyOf(name), grave, e.Revision), graves))
	return err == nil, err
}

// end deletes the key of this process.
func (b *Book) end(ctx context.Context, began time.Time) error {
	b.mu.Lock()
	p := b.process
	b.mu.Unlock()
	for attempts := 0; ; attempts++ {
		_, err := b.bucket.Put(ctx, bucket.WithTTL(b.bucket.Write(keyOf(p.name), nil, p.revision), graves))
		if err == nil {
			return nil
		}
		e, failed := b.bucket.Read(ctx, keyOf(p.name)) // a renewal may have been under way, or the answer was lost
		if failed == nil {
			if !e.Held() || bytes.Equal(e.Data, grave) {
				return nil
			}
			p.revision = e.Revision
		}
		if !bucket.Pause(ctx, attempts) {
			return b.bucket.Unavailable(ctx, "limits: close", began, err)
		}
	}
}
