package inorder

import (
	"slices"
	"sync"
)

// A FIFO has callers that wait for one resource, and lets the first try to get it. The zero value has none.
type FIFO struct {
	mu      sync.Mutex
	waiting []*Waiter
}

// A Waiter is one caller in a FIFO.
type Waiter struct {
	queue *FIFO
	first chan struct{} // closed when no caller is before it
}

// Join puts a caller at the end. Leave must follow.
func (q *FIFO) Join() *Waiter {
	w := &Waiter{queue: q, first: make(chan struct{})}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.waiting = append(q.waiting, w)
	if len(q.waiting) == 1 {
		close(w.first)
	}
	return w
}

// First returns a channel that is closed when no caller is before this one.
func (w *Waiter) First() <-chan struct{} { return w.first }

// Leave takes the caller out: it has the resource, or has given up.
func (w *Waiter) Leave() {
	q := w.queue
	q.mu.Lock()
	defer q.mu.Unlock()
	i := slices.Index(q.waiting, w)
	q.waiting = slices.Delete(q.waiting, i, i+1)
	if i == 0 && len(q.waiting) > 0 {
		close(q.waiting[0].first)
	}
}
