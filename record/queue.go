package record

import (
	"sync"
	"time"

	"ptyctl/term"
)

// maxItems bounds the events that wait, whatever their size.
const maxItems = 8 << 10

// keptItems is how many of them an idle queue keeps room for.
const keptItems = 64

// muchBytes is how much waits until the writer is to take it at once. The writer and the terminal take turns at the
// processor: with an eighth of it, a flood took a tenth longer.
const muchBytes = 1 << 20

const (
	// smallBytes is how much memory an idle queue keeps, twice. It has room for the answers to a person who types.
	smallBytes = 4 << 10
	// chunkBytes is the size of the memory for more than that, which all queues share. With a queue that grows in one
	// piece, and is copied each time, the recording of a flood took a quarter more of a processor's time.
	chunkBytes = 64 << 10
)

// chunks are those that no queue uses.
var chunks = sync.Pool{New: func() any { return new([chunkBytes]byte) }}

// An item is an event that waits to be written.
type item struct {
	at    time.Duration // since the start of the recording
	event *term.Event   // without Data; nil for output of the terminal
	data  int           // bytes of Data, which are in one part of the batch
}

// A batch is items with their data.
type batch struct {
	items []item
	small []byte   // the first part of the data
	parts [][]byte // the others
	bytes int      // of all of them
}

// add appends an event.
func (b *batch) add(at time.Duration, e *term.Event, data []byte) {
	room := &b.small
	switch n := len(b.parts); {
	case n > 0:
		room = &b.parts[n-1]
	case cap(b.small) == 0 && 0 < len(data) && len(data) <= smallBytes:
		b.small = make([]byte, 0, smallBytes)
	}
	if len(data) > cap(*room)-len(*room) {
		b.parts = append(b.parts, newPart(len(data)))
		room = &b.parts[len(b.parts)-1]
	}
	*room = append(*room, data...)
	b.bytes += len(data)
	b.items = append(b.items, item{at, e, len(data)})
}

// newPart returns room for n bytes, and usually more.
func newPart(n int) []byte {
	if n > chunkBytes {
		return make([]byte, 0, n)
	}
	return chunks.Get().(*[chunkBytes]byte)[:0]
}

// each calls f with each event and its data, and gives the memory back as soon as it is done with a part.
func (b *batch) each(f func(it item, data []byte)) {
	part, next := b.small, 0
	for _, it := range b.items {
		for len(part) == 0 && it.data > 0 {
			part = b.parts[next]
			next++
		}
		f(it, part[:it.data])
		if part = part[it.data:]; len(part) == 0 && next > 0 {
			b.giveBack(next - 1)
		}
	}
}

// giveBack lets other queues have the memory of a part.
func (b *batch) giveBack(n int) {
	if p := b.parts[n]; cap(p) == chunkBytes {
		chunks.Put((*[chunkBytes]byte)(p[:chunkBytes]))
	}
	b.parts[n] = nil
}

// reset makes b empty.
func (b *batch) reset() {
	clear(b.items)
	clear(b.parts)
	b.items, b.small, b.parts, b.bytes = b.items[:0], b.small[:0], b.parts[:0], 0
}

// lost counts the events that had no room.
type lost struct {
	at     time.Duration // of the first
	bytes  int64         // of output
	events int64
}

func (l lost) any() bool { return l.bytes > 0 || l.events > 0 }

// A queue holds the events of the session until the writer takes it. It never makes the session wait: beyond its limit it
// counts.
type queue struct {
	limit int           // bytes
	ready chan struct{} // something waits
	much  chan struct{} // so much that it should not wait longer

	mu    sync.Mutex // guards the following, for moments
	batch batch
	spare batch
	lost  lost  // after all that is in the batch
	quiet bool  // output is not wanted any more
	left  int64 // bytes of it that still came
	over  bool  // nor is anything else
}

func newQueue(limit int) *queue {
	return &queue{limit: limit, ready: make(chan struct{}, 1), much: make(chan struct{}, 1)}
}

// put adds an event. e is nil for output of the terminal.
func (q *queue) put(at time.Duration, e *term.Event, data []byte) {
	q.mu.Lock()
	first := len(q.batch.items) == 0 && !q.lost.any()
	before := q.batch.bytes
	switch {
	case q.over, q.quiet && (e == nil || e.Verb == term.VerbExecOutput):
		q.left += int64(len(data))
		q.mu.Unlock()
		return
	case q.lost.any(), q.batch.bytes+len(data) > q.limit, len(q.batch.items) >= maxItems:
		if !q.lost.any() {
			q.lost.at = at
		}
		if e == nil || e.Verb == term.VerbExecOutput {
			q.lost.bytes += int64(len(data))
		} else {
			q.lost.events++
		}
	default:
		q.batch.add(at, e, data)
	}
	much := before < muchBytes && q.batch.bytes >= muchBytes
	q.mu.Unlock()
	if first {
		signal(q.ready)
	}
	if much {
		signal(q.much)
	}
}

func signal(to chan struct{}) {
	select {
	case to <- struct{}{}:
	default:
	}
}

// take returns the waiting events, and those lost after them. The batch is valid until the next call.
func (q *queue) take() (*batch, lost) {
	q.mu.Lock()
	defer q.mu.Unlock()
	select {
	case <-q.ready: // it is of these events
	default:
	}
	l := q.lost
	q.lost = lost{}
	q.spare.reset()
	q.batch, q.spare = q.spare, q.batch
	return &q.spare, l
}

// shed frees the memory that a flood has left behind.
func (q *queue) shed() {
	q.mu.Lock()
	defer q.mu.Unlock()
	if cap(q.spare.items) > keptItems {
		q.spare = batch{small: q.spare.small}
	}
}

// hush stops output, but no other events, from being queued.
func (q *queue) hush() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.quiet = true
}

// leftOut returns how many bytes came after hush.
func (q *queue) leftOut() int64 {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.left
}

// close stops all events from being queued.
func (q *queue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.over = true
}
