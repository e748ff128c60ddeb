package buffer

import "sync/atomic"

// A Pool bounds the memory that many Buffers, and whatever else is counted in it, take together. A nil *Pool bounds
// nothing. Its methods may be called from any goroutine.
type Pool struct {
	limit int64
	held  atomic.Int64
}

// NewPool returns a Pool with room for limit bytes.
func NewPool(limit int64) *Pool { return &Pool{limit: limit} }

// Take counts n more bytes as held, unless that would be more than the limit. It reports whether it did.
func (p *Pool) Take(n int) bool {
	if p == nil {
		return true
	}
	for {
		held := p.held.Load()
		if held+int64(n) > p.limit {
			return false
		}
		if p.held.CompareAndSwap(held, held+int64(n)) {
			return true
		}
	}
}

// Give takes back what Take has counted.
func (p *Pool) Give(n int) {
	if p != nil {
		p.held.Add(-int64(n))
	}
}

// Held returns how many bytes are held.
func (p *Pool) Held() int64 {
	if p == nil {
		return 0
	}
	return p.held.Load()
}

// Limit returns how many bytes may be held; 0 for a nil Pool.
func (p *Pool) Limit() int64 {
	if p == nil {
		return 0
	}
	return p.limit
}

// Reserve takes the Buffer's first block, of 4 KiB or Options.MaxBytes if that is less, out of its Pool. It reports
// false if the Pool has no room for it. A Buffer without Reserve takes that block with the first byte, room or not: no
// Buffer is without one.
func (b *Buffer) Reserve() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.ring.counted >= b.ring.least() || b.ring.take(b.ring.least())
}

// Free closes the Buffer, drops what it holds and gives the memory back to its Pool. Readers are told that the bytes
// are gone.
func (b *Buffer) Free() {
	_ = b.Close()
	b.mu.Lock()
	defer b.mu.Unlock()
	b.start += int64(b.ring.held)
	b.ring.free()
}
