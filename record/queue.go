package record

import (
	"sync"
	"time"

	"ptyctl/term"
)

// maxItems bounds the events that wait, whatever their size.
const maxItems = 8 << 10

// keptBytes is how much memory an idle queue keeps.
const keptBytes = 64 << 10

// muchBytes is how much waits until the writer is to take it at once. The writer and the terminal take turns at the
// processor: with an eighth of it, a flood took a tenth longer.
const muchBytes = 1 << 20

// An item is an event that waits to be written.
type item struct {
	at    time.Duration // since the start of the recording
	event *term.Event   // without Data; nil for output of the terminal
	data  int           // bytes of Data, which are in the batch
}

// A batch is items with their data, one after the other.
type batch struct {
	items []item
	bytes []byte
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
	left  int64 // bytes of it that came all the same
	over  bool  // nor is anything else
}

func newQueue(limit int) *queue {
	return &queue{limit: limit, ready: make(chan struct{}, 1), much: make(chan struct{}, 1)}
}

// put adds an event. e is nil for output of the terminal.
func (q *queue) put(at time.Duration, e *term.Event, data []byte) {
	q.mu.Lock()
	first := len(q.batch.items) == 0 && !q.lost.any()
	before := len(q.batch.bytes)
	switch {
	case q.over, q.quiet && (e == nil || e.Verb == term.VerbExecOutput):
		q.left += int64(len(data))
		q.mu.Unlock()
		return
	case q.lost.any(), len(q.batch.bytes)+len(data) > q.limit, len(q.batch.items) >= maxItems:
		if !q.lost.any() {
			q.lost.at = at
		}
		if e == nil || e.Verb == term.VerbExecOutput {
			q.lost.bytes += int64(len(data))
		} else {
			q.lost.events++
		}
	default:
		q.batch.items = append(q.batch.items, item{at, e, len(data)})
		q.batch.bytes = append(q.batch.bytes, data...)
	}
	much := before < muchBytes && len(q.batch.bytes) >= muchBytes
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
func (q *queue) take() (batch, lost) {
	q.mu.Lock()
	defer q.mu.Unlock()
	b, l := q.batch, q.lost
	clear(q.spare.items)
	q.batch = batch{q.spare.items[:0], q.spare.bytes[:0]}
	q.spare, q.lost = b, lost{}
	return b, l
}

// shed frees the memory that a flood has left behind.
func (q *queue) shed() {
	q.mu.Lock()
	defer q.mu.Unlock()
	if cap(q.spare.bytes) > keptBytes {
		q.spare.bytes = nil
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
