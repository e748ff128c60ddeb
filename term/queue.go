package term

import (
	"context"
	"fmt"
	"log/slog"
	"runtime/debug"
	"slices"
	"sync"
)

// A Queue is an Observer that never makes a session wait: another Observer gets the events one after another, in a
// goroutine of the Queue.
type Queue struct {
	to   Observer
	room int
	wake chan struct{} // something waits, or the queue is closed
	gone chan struct{}

	mu     sync.Mutex // guards the following
	events []Event
	lost   int64
	closed bool
}

// NewQueue returns a Queue to an Observer, which has room for n events; 0: 1,024. Events beyond that are dropped and
// counted. An event's Data is copied. Close must be called.
//
// Unlike an Observer of a session, this Observer may wait, and call the session.
func NewQueue(n int, to Observer) *Queue {
	if n <= 0 {
		n = 1024
	}
	q := &Queue{to: to, room: n, wake: make(chan struct{}, 1), gone: make(chan struct{})}
	go q.run()
	return q
}

// Observe implements Observer.
func (q *Queue) Observe(e Event) {
	q.mu.Lock()
	defer q.mu.Unlock()
	switch {
	case q.closed:
		return
	case len(q.events) >= q.room:
		q.lost++
		return
	}
	e.Data = slices.Clone(e.Data)
	q.events = append(q.events, e)
	q.signal()
}

// Dropped returns how many events had no room.
func (q *Queue) Dropped() int64 {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.lost
}

// Close waits until the Observer has had all events. Later ones are dropped. If ctx ends before, Close returns its error,
// and the Observer still gets the event that it is busy with, but no other.
func (q *Queue) Close(ctx context.Context) error {
	q.mu.Lock()
	q.closed = true
	q.signal()
	q.mu.Unlock()
	select {
	case <-q.gone:
		return nil
	case <-ctx.Done():
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.lost += int64(len(q.events))
	q.events = nil
	return context.Cause(ctx)
}

// signal wakes the goroutine. The caller must hold q.mu.
func (q *Queue) signal() {
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

func (q *Queue) run() {
	defer close(q.gone)
	for {
		e, ok, closed := q.next()
		switch {
		case ok:
			q.tell(e)
		case closed:
			return
		default:
			<-q.wake
		}
	}
}

// tell contains a panic of the Observer, as a session does.
func (q *Queue) tell(e Event) {
	defer func() {
		if p := recover(); p != nil {
			slog.Error("panic in an observer", "session", e.Session, "verb", string(e.Verb), "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
		}
	}()
	q.to.Observe(e)
}

// next takes the oldest event.
func (q *Queue) next() (e Event, ok, closed bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.events) == 0 {
		q.events = nil // so that the memory of a flood is freed
		return e, false, q.closed
	}
	e = q.events[0]
	q.events[0] = Event{}
	q.events = q.events[1:]
	return e, true, false
}
