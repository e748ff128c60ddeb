package buffer

import "sync/atomic"

// A Pool bounds the memory that many Buffers use together. Other users of memory may count theirs in it with Take
// and Give. A nil *Pool bounds nothing. Its methods may be called from any goroutine.
type Pool struct {
	limit int64
	held  atomic.Int64
}

// NewPool returns a Pool with room for limit bytes.
func NewPool(limit int64) *Pool { return &Pool{limit: limit} }

// Take adds n bytes to the count unless that would exceed the limit. It reports whether it did.
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

// Give subtracts n bytes that an earlier Take has added.
func (p *Pool) Give(n int) {
	if p != nil {
		p.held.Add(-int64(n))
	}
}

// Held returns the number of bytes counted.
func (p *Pool) Held() int64 {
	if p == nil {
		return 0
	}
	return p.held.Load()
}

// Limit returns the most bytes that Take allows; 0 for a nil Pool.
func (p *Pool) Limit() int64 {
	if p == nil {
		return 0
	}
	return p.limit
}

// Reserve takes the Buffer's first block from its Pool: 4 KiB, or Options.MaxBytes if that is less. It returns
// false if the Pool has no room for it. Without Reserve the Buffer takes this block with its first byte even from a
// full Pool, because every Buffer must be able to hold something.
func (b *Buffer) Reserve() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.ring.counted >= b.ring.least() || b.ring.take(b.ring.least())
}

// Free closes the Buffer, drops its bytes and returns the memory to the Pool. Readers see the dropped bytes in
// Slice.Dropped.
func (b *Buffer) Free() {
	_ = b.Close()
	b.mu.Lock()
	defer b.mu.Unlock()
	b.start += int64(b.ring.held)
	b.ring.free()
}
