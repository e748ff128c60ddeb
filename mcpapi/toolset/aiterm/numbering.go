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

	// joinFor is how long a chunk grows that nobody has been given yet: what comes in many small writes is one chunk, and
	// its time is true to that.
	joinFor = 50 * time.Millisecond

	// manyChunks is how many chunks there are when those that nobody has been given yet are joined, whenever they came, and
	// of the others the oldest are forgotten.
	manyChunks = 2048
)

// A numbering says which bytes of a terminal's output are which chunk. Chunks lie one behind the other.
type numbering struct {
	mu     sync.Mutex // guards the following
	chunks []chunk
	first  uint64 // number of chunks[0], or of the next one
	start  int64  // offset of its first byte
	given  uint64 // the highest number that a reader was given: up to it nothing changes
	seen   int64  // bytes that the observer was told of
	held   int64  // bytes that the session's buffer can hold; 0: not known yet
	tidyAt int    // how many chunks are too many
}

type chunk struct {
	end int64 // offset behind its last byte
	at  int64 // when its first byte came, in Unix nanoseconds
}

func newNumbering() *numbering { return &numbering{first: 1, tidyAt: manyChunks} }

// holds says how much the session's buffer can hold.
func (n *numbering) holds(bytes int64) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.held = bytes
}

// came says that bytes were appended to the output.
func (n *numbering) came(size int, at time.Time) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.seen += int64(size)
	n.reach(n.seen, at)
}

// end is the offset behind the last chunk. Requires n.mu.
func (n *numbering) end() int64 { return n.startOf(len(n.chunks)) }

// startOf is the offset of the first byte of chunks[i]. Requires n.mu.
func (n *numbering) startOf(i int) int64 {
	if i == 0 {
		return n.start
	}
	return n.chunks[i-1].end
}

// was reports whether chunks[i] was given to a reader. Requires n.mu.
func (n *numbering) was(i int) bool { return n.first+uint64(i) <= n.given }

// reach makes chunks of what lies before end and is in none yet. Requires n.mu.
func (n *numbering) reach(end int64, at time.Time) {
	for n.end() < end {
		i, now := len(n.chunks)-1, at.UnixNano()
		if i >= 0 {
			now = max(now, n.chunks[i].at) // a reader may be told of bytes before the observer is, whose clock was earlier
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

// tidy makes the list shorter. No output is lost by it that a reader who goes on from the last chunk would still get.
// Requires n.mu.
func (n *numbering) tidy() {
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
	for len(n.chunks) >= manyChunks/2 && n.was(0) {
		n.drop()
	}
	n.tidyAt = max(manyChunks, 2*len(n.chunks))
}

// drop forgets the first chunk. Requires n.mu.
func (n *numbering) drop() {
	n.start, n.chunks = n.chunks[0].end, n.chunks[1:]
	n.first++
}

// lose says that the buffer no longer holds what lies before offset. Each chunk that has lost a part of itself takes its
// number with it: of one that nobody has been given, what is left becomes another. Requires n.mu.
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

// after returns the offset of the first byte after the chunk with that number, as far as it is known, and the highest
// number that was given. It is not ok to ask for what comes after one that never was.
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

// A part is a chunk that is given to a reader.
type part struct {
	seq      uint64
	from, to int64 // offsets
	at       int64
}

// give returns the chunks after seq of which k has the bytes. lost says that there were others before them. If the first one
// was given before and does not fit into k, needs is how many bytes k would have to have.
func (n *numbering) give(seq uint64, k session.Chunk) (parts []part, lost bool, needs int64) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.reach(k.Next, time.Now()) // the observer may not have been told yet
	if k.Dropped > 0 {
		n.lose(k.Start)
	}
	seq++
	if lost = seq < n.first; lost {
		seq = n.first
	}
	for i := int(seq - n.first); i < len(n.chunks) && n.startOf(i) < k.Next; i++ {
		from := n.startOf(i)
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

// fit gives a chunk that nobody has been given yet its final extent: it ends with k, and otherwise not inside a rune.
// Requires n.mu.
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

// partialRune returns how many bytes at the end of p begin a rune that p does not finish.
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
