package buffer

import "bytes"

const (
	minAlloc  = 4 << 10  // first allocation
	maxDouble = 16 << 10 // sizes double up to here and then grow by half, to limit the unused memory
	scanBlock = 4 << 10  // bytes counted at a time in the search for a line
)

var newline = []byte{'\n'}

// ring is a byte queue that grows up to a limit and counts its newlines. It has no lock and no stream offsets:
// positions count from its oldest byte.
type ring struct {
	limit    int   // most bytes held; set once
	pool     *Pool // nil: no pool; set once
	counted  int   // bytes this ring has taken from the pool; at least len(buf) if there is one
	capped   bool  // the last request to the pool failed
	buf      []byte
	head     int // index in buf of the oldest byte
	held     int // bytes held, at most len(buf)
	newlines int // newlines in these bytes
}

// push appends p, which must not be longer than the limit, and returns how many of the oldest bytes were dropped.
// When the pool has no room, the dropped bytes may include some of p.
func (r *ring) push(p []byte) (dropped int) {
	r.grow(len(p))
	dropped = max(len(p)-(len(r.buf)-r.held), 0)
	if cut := len(p) - len(r.buf); cut > 0 {
		p = p[cut:]
		r.discard(r.held)
	} else {
		r.discard(dropped)
	}
	older, newer := r.view(r.held, r.held+len(p))
	copy(newer, p[copy(older, p):])
	r.held += len(p)
	r.newlines += bytes.Count(p, newline)
	return dropped
}

// grow makes room for n more bytes, as far as the limit and the pool allow.
func (r *ring) grow(n int) {
	if n <= len(r.buf)-r.held || len(r.buf) == r.limit {
		return
	}
	size := len(r.buf)
	if size == 0 {
		size = r.first()
	}
	for size-r.held < n && size < r.limit && r.take(r.next(size)) {
		size = r.next(size)
	}
	if size == len(r.buf) {
		return
	}
	buf := make([]byte, size)
	older, newer := r.view(0, r.held)
	copy(buf[copy(buf, older):], newer)
	r.buf, r.head = buf, 0
}

// next returns the block size after size: twice as much, and from maxDouble on half as much again.
func (r *ring) next(size int) int {
	more := size
	if size >= maxDouble {
		more = (size/2 + minAlloc - 1) / minAlloc * minAlloc
	}
	if size > r.limit-more { // adding first could overflow
		return r.limit
	}
	return size + more
}

// least returns the size of the first block.
func (r *ring) least() int { return min(minAlloc, r.limit) }

// first counts the first block, even beyond the pool's limit, and returns its size.
func (r *ring) first() int {
	size := r.least()
	if !r.take(size) {
		r.pool.held.Add(int64(size - r.counted))
		r.counted = size
	}
	return size
}

// take raises this ring's count in the pool to size bytes. It reports whether the pool had room.
func (r *ring) take(size int) bool {
	more := max(size-r.counted, 0)
	r.capped = !r.pool.Take(more)
	if !r.capped {
		r.counted += more
	}
	return !r.capped
}

// free gives up all memory.
func (r *ring) free() {
	r.pool.Give(r.counted)
	r.buf, r.head, r.held, r.newlines, r.counted = nil, 0, 0, 0, 0
}

// discard drops the n oldest bytes; n is at most r.held.
func (r *ring) discard(n int) {
	if n == r.held {
		r.head, r.held, r.newlines = 0, 0, 0
		return
	}
	r.newlines -= r.count(0, n)
	r.head += n
	if r.head >= len(r.buf) {
		r.head -= len(r.buf)
	}
	r.held -= n
}

// view returns the positions from (included) to to (excluded) without copying, in two pieces because the end of buf
// may split them. Positions beyond r.held are free room.
func (r *ring) view(from, to int) (older, newer []byte) {
	i, j, size := r.head+from, r.head+to, len(r.buf)
	switch {
	case j <= size:
		return r.buf[i:j], nil
	case i >= size:
		return r.buf[i-size : j-size], nil
	default:
		return r.buf[i:], r.buf[:j-size]
	}
}

// lines returns the number of lines held; a trailing partial line counts.
func (r *ring) lines() int {
	if r.held == 0 {
		return 0
	}
	if last, _ := r.view(r.held-1, r.held); last[0] != '\n' {
		return r.newlines + 1
	}
	return r.newlines
}

// beforeLast returns the position where the last n lines begin; n is at least 1. It counts block by block from the
// end, which is much faster than a search for each newline, and looks for newlines only in the block with the
// answer.
func (r *ring) beforeLast(n int) int {
	skip := r.lines() - n
	if skip <= 0 {
		return 0
	}
	to, before := r.held, r.newlines // before: newlines in [0, to)
	for {
		from := max(to-scanBlock, 0)
		before -= r.count(from, to)
		if before < skip {
			return r.pastNewline(from, to, skip-before)
		}
		to = from
	}
}

// lineStart returns the position of the line that follows n lines, or the end if there are no more than n. It
// counts block by block from the nearer end.
func (r *ring) lineStart(n int) int {
	switch lines := r.lines(); {
	case n >= lines:
		return r.held
	case n > lines/2:
		return r.beforeLast(lines - n)
	}
	for from := 0; ; from += scanBlock {
		to := min(from+scanBlock, r.held)
		in := r.count(from, to)
		if in >= n {
			return r.pastNewline(from, to, n)
		}
		n -= in
	}
}

// count returns the number of newlines in [from, to).
func (r *ring) count(from, to int) int {
	older, newer := r.view(from, to)
	return bytes.Count(older, newline) + bytes.Count(newer, newline)
}

// pastNewline returns the position just after the nth newline in [from, to), or to if there are fewer.
func (r *ring) pastNewline(from, to, n int) int {
	older, newer := r.view(from, to)
	pos, missing := skipNewlines(older, n)
	more, _ := skipNewlines(newer, missing)
	return from + pos + more
}

// skipNewlines returns the index just after the nth newline of p. If p has fewer, it returns len(p) and the number
// missing.
func skipNewlines(p []byte, n int) (pos, missing int) {
	for ; n > 0; n-- {
		i := bytes.IndexByte(p[pos:], '\n')
		if i < 0 {
			return len(p), n
		}
		pos += i + 1
	}
	return pos, 0
}
