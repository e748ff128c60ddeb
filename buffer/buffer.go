package buffer

import (
	"io"
	"sync"
)

const defaultMaxBytes = 2 << 20

// Options bound a Buffer. The zero value keeps the last 2 MiB.
type Options struct {
	MaxBytes int // most bytes kept; 0 or less: 2 MiB

	// MaxLines is the most lines kept, counted as in Stat.Lines; 0 or less means no limit. The limit is best effort:
	// whole lines are dropped from the old end after a Write that exceeds it, and MaxBytes may have cut the oldest
	// line before that.
	MaxLines int

	// Pool bounds the memory of this and other Buffers together; nil means no common bound. When the Pool is full the
	// Buffer keeps its present size and drops its oldest bytes before it has reached MaxBytes.
	Pool *Pool
}

// Buffer holds the newest part of one byte stream. Make it with New.
type Buffer struct {
	maxLines int // set once; 0: no limit

	mu      sync.Mutex // guards the following
	ring    ring
	start   int64 // offset of the oldest byte held; start+ring.held is the end
	closed  bool
	breaks  []int64       // where Reopen was called, oldest first; at most maxBreaks
	changed chan struct{} // nil until Changed or At asks for it; stays closed after Close, until Reopen
}

// New returns an empty Buffer. It allocates no room for bytes yet.
func New(o Options) *Buffer {
	if o.MaxBytes <= 0 {
		o.MaxBytes = defaultMaxBytes
	}
	return &Buffer{
		maxLines: max(o.MaxLines, 0),
		ring:     ring{limit: o.MaxBytes, pool: o.Pool},
	}
}

// Write appends p, drops the oldest bytes beyond the limits and wakes all waiting readers. It accepts all of p,
// keeps a copy of at most its last MaxBytes bytes and returns len(p). An empty p changes nothing and wakes no
// reader. After Close it returns 0 and io.ErrClosedPipe.
//
// There should be one writer at a time: concurrent calls are safe, but their order is undefined.
func (b *Buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	if b.closed {
		b.mu.Unlock()
		return 0, io.ErrClosedPipe
	}
	if len(p) == 0 {
		b.mu.Unlock()
		return 0, nil
	}
	b.append(p)
	wake := b.changed
	b.changed = nil
	b.mu.Unlock()

	// Closing after the unlock lets the woken readers take the lock at once.
	if wake != nil {
		close(wake)
	}
	return len(p), nil
}

// append adds p and applies both limits. The caller must hold b.mu.
func (b *Buffer) append(p []byte) {
	if cut := len(p) - b.ring.limit; cut > 0 {
		b.start += int64(cut)
		p = p[cut:]
	}
	b.start += int64(b.ring.push(p))
	if b.maxLines > 0 {
		if over := b.ring.lines() - b.maxLines; over > 0 {
			n := b.ring.pastNewline(0, b.ring.held, over)
			b.ring.discard(n)
			b.start += int64(n)
		}
	}
}

// Close marks the end of the stream and wakes all waiting readers. The bytes held stay readable. It returns nil and
// may be called more than once.
func (b *Buffer) Close() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return nil
	}
	b.closed = true
	if b.changed == nil {
		b.changed = make(chan struct{})
	}
	close(b.changed)
	return nil
}

// maxBreaks is how many breaks a Buffer remembers: the last ones.
const maxBreaks = 64

// Reopen lets a closed Buffer take bytes again, which are of another stream: there is a break before them. Offsets go
// on. It has no effect on a Buffer that is not closed.
func (b *Buffer) Reopen() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.closed {
		return
	}
	b.closed, b.changed = false, nil
	end := b.start + int64(b.ring.held)
	if n := len(b.breaks); n > 0 && b.breaks[n-1] == end { // nothing has come since the last one
		return
	}
	b.breaks = append(b.breaks, end)
	b.breaks = b.breaks[max(0, len(b.breaks)-maxBreaks):]
}

// Breaks returns the breaks from the offset from on and before the offset to, oldest first.
func (b *Buffer) Breaks(from, to int64) (at []int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, one := range b.breaks {
		if from <= one && one < to {
			at = append(at, one)
		}
	}
	return at
}

// Begin returns where the stream begins that a byte at the offset is of: the last break up to there, or 0. Earlier
// bytes have nothing to do with that byte.
func (b *Buffer) Begin(offset int64) (begin int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, one := range b.breaks {
		if one <= offset {
			begin = one
		}
	}
	return begin
}

// Changed returns a channel that is closed at the next Write or Close; after Close it is already closed. To read
// first and then wait, use Slice.Changed instead: a Write between At and a call of Changed would be missed.
func (b *Buffer) Changed() <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.changedLocked()
}

// changedLocked creates the channel on the first request since the last Write, so that a Write without waiting
// readers allocates nothing. The caller must hold b.mu.
func (b *Buffer) changedLocked() <-chan struct{} {
	if b.changed == nil {
		b.changed = make(chan struct{})
	}
	return b.changed
}

// Stat describes a Buffer at one moment.
type Stat struct {
	Start     int64 // offset of the oldest byte held
	End       int64 // offset of the next byte to be written: the length of the stream
	Lines     int   // lines held, split by '\n'; a trailing partial line counts
	Limit     int   // most bytes ever held, Options.MaxBytes or its default
	Closed    bool  // the stream has ended
	Allocated int   // bytes of memory taken for the data, never more than Limit
	Capped    bool  // the Pool had no room when more memory was last wanted
}

// Stat returns the present state.
func (b *Buffer) Stat() Stat {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.statLocked()
}

// statLocked is Stat for a caller that holds b.mu.
func (b *Buffer) statLocked() Stat {
	return Stat{
		Start:     b.start,
		End:       b.start + int64(b.ring.held),
		Lines:     b.ring.lines(),
		Limit:     b.ring.limit,
		Closed:    b.closed,
		Allocated: len(b.ring.buf),
		Capped:    b.ring.capped,
	}
}
