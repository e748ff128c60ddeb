package aiterm

import (
	"slices"
	"sync"
	"time"
	"unicode/utf8"

	"ptyctl/session"
)

const (
	// maxChunk is the most bytes of a chunk.
	maxChunk = 32 << 10

	// joinFor is how long an unread chunk grows. Many small writes become one chunk, and its
	// time is still exact to 50 ms.
	joinFor = 50 * time.Millisecond

	// manyChunks is the length of the list at which tidy joins unread chunks, however far
	// apart they came, and drops the oldest of the others.
	manyChunks = 2048
)

// A numbering maps the output of a terminal to numbered chunks. The chunks are
// contiguous.
type numbering struct {
	mu     sync.Mutex // guards the following
	chunks []chunk
	first  uint64 // number of chunks[0], or of the next chunk if chunks is empty
	start  int64  // offset of the first byte of chunks[0]
	given  uint64 // the highest number that a reader has received; chunks up to it are final
	seen   int64  // bytes that the observer has reported
	held   int64  // capacity of the session's buffer in bytes; 0: not known yet
	tidyAt int    // number of chunks at which tidy runs next
}

// A chunk starts at the end of the chunk before it.
type chunk struct {
	end int64 // offset after its last byte
	at  int64 // arrival of its first byte, in Unix nanoseconds
}

// newNumbering returns an empty numbering. The first chunk has the number 1, because
// since_seq 0 means the start.
func newNumbering() *numbering { return &numbering{first: 1, tidyAt: manyChunks} }

// holds sets the capacity of the session's buffer.
func (n *numbering) holds(bytes int64) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.held = bytes
}

// came records that size bytes were appended to the output.
func (n *numbering) came(size int, at time.Time) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.seen += int64(size)
	n.reach(n.seen, at)
}

// end returns the offset after the last chunk. Requires n.mu.
func (n *numbering) end() int64 { return n.startOf(len(n.chunks)) }

// startOf returns the offset of the first byte of chunks[i]. Requires n.mu.
func (n *numbering) startOf(i int) int64 {
	if i == 0 {
		return n.start
	}
	return n.chunks[i-1].end
}

// was reports whether a reader has received chunks[i]. Requires n.mu.
func (n *numbering) was(i int) bool { return n.first+uint64(i) <= n.given }

// reach adds the bytes before end to chunks. It extends the last chunk if no reader has
// received it, it is young and it has room; otherwise it starts a new one. Requires n.mu.
func (n *numbering) reach(end int64, at time.Time) {
	for n.end() < end {
		i, now := len(n.chunks)-1, at.UnixNano()
		if i >= 0 {
			// A reader may see bytes before the observer reports them with an earlier time.
			now = max(now, n.chunks[i].at)
		}
		if i >= 0 && !n.was(i) && now-n.chunks[i].at < int64(joinFor) && n.chunks[i].end-n.startOf(i) < maxChunk {
			n.chunks[i].end = min(end, n.startOf(i)+maxChunk)
			continue
		}
		n.chunks = append(n.chunks, chunk{min(end, n.end()+maxChunk), now})
		if len(n.chunks) >= n.tidyAt {
			n.tidy()
		}
	}
}

// tidy shortens the list. It keeps all output that a reader could still get by reading on
// from the last chunk. Requires n.mu.
func (n *numbering) tidy() {
	// Chunks of output that the buffer has dropped cannot be read any more.
	if n.held > 0 {
		n.lose(n.end() - n.held)
	}
	kept := n.chunks[:0]
	start := n.start
	for i, c := range n.chunks {
		last := len(kept) - 1
		if last >= 0 && !n.was(i-1) && c.end-start <= maxChunk {
			kept[last].end = c.end
			continue
		}
		start = n.startOf(i)
		kept = append(kept, c)
	}
	n.chunks = kept
	// A reader goes on from a recent chunk. It must not depend on the oldest half, for
	// example after a flood of small writes.
	for len(n.chunks) >= manyChunks/2 && n.was(0) {
		n.drop()
	}
	n.tidyAt = max(manyChunks, 2*len(n.chunks))
}

// drop removes the first chunk. Requires n.mu.
func (n *numbering) drop() {
	n.start, n.chunks = n.chunks[0].end, n.chunks[1:]
	n.first++
}

// lose records that the buffer has dropped the output before offset. A chunk that has
// lost some of its bytes gives up its number; the rest of an unread chunk gets the next
// one. Requires n.mu.
func (n *numbering) lose(offset int64) {
	for len(n.chunks) > 0 && n.start < offset {
		if n.chunks[0].end > offset && !n.was(0) {
			n.start = offset
			n.first++
			return
		}
		n.drop()
	}
}

// after returns the offset after the chunk seq, or the oldest known offset if that chunk
// is gone, and the highest number that was given. ok is false if no reader has received
// the chunk seq yet.
func (n *numbering) after(seq uint64) (offset int64, given uint64, ok bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if seq > n.given {
		return 0, n.given, false
	}
	if seq < n.first {
		return n.start, n.given, true
	}
	return n.startOf(int(seq - n.first + 1)), n.given, true
}

// A part is a chunk as a reader receives it.
type part struct {
	seq      uint64
	from, to int64 // offsets
	at       int64
}

// give returns the chunks after seq that are within k. lost reports that chunks before
// them are missing. If the first chunk is final and does not fit into k, needs is the
// number of bytes that k must have.
func (n *numbering) give(seq uint64, k session.Chunk) (parts []part, lost bool, needs int64) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.reach(k.Next, time.Now()) // the observer may not have reported these bytes yet
	if k.Dropped > 0 {
		n.lose(k.Start)
	}
	seq++
	if lost = seq < n.first; lost {
		seq = n.first
	}
	for i := int(seq - n.first); i < len(n.chunks) && n.startOf(i) < k.Next; i++ {
		from := n.startOf(i)
		// Only an unread chunk may be cut. A final one must be returned whole.
		if n.chunks[i].end > k.Next && n.was(i) {
			if len(parts) == 0 {
				needs = n.chunks[i].end - k.Start
			}
			break
		}
		n.fit(i, k)
		parts = append(parts, part{n.first + uint64(i), from, n.chunks[i].end, n.chunks[i].at})
		n.given = max(n.given, n.first+uint64(i))
	}
	return parts, lost, needs
}

// fit makes the extent of an unread chunk final: it ends at the end of k, or else at the
// end of a rune. Requires n.mu.
func (n *numbering) fit(i int, k session.Chunk) {
	switch c := n.chunks[i]; {
	case n.was(i):
	case c.end > k.Next:
		n.chunks = slices.Insert(n.chunks, i, chunk{k.Next, c.at})
	case c.end < k.Next:
		c.end -= int64(partialRune(k.Data[n.startOf(i)-k.Start : c.end-k.Start]))
		if c.end > n.startOf(i) {
			n.chunks[i] = c
			return
		}
		n.chunks = slices.Delete(n.chunks, i, i+1)
		n.fit(i, k)
	}
}

// partialRune returns the number of bytes of an incomplete rune at the end of p.
func partialRune(p []byte) int {
	for size := 1; size < utf8.UTFMax && size <= len(p); size++ {
		if last := p[len(p)-size:]; utf8.RuneStart(last[0]) {
			if utf8.FullRune(last) {
				return 0
			}
			return size
		}
	}
	return 0
}
