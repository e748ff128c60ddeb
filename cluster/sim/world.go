package sim

import (
	"container/heap"
	"math/rand/v2"
	"time"
)

// A world has the true time and what will happen.
type world struct {
	c      Config
	now    time.Duration // true time, since the begin
	random *rand.Rand
	queue  events
	count  uint64

	servers []*server
	nodes   []*node
	names   []string // of the consoles
	judge   *judge
	result  *Result
}

// An event is something that happens at a true time. Events of the same time happen in the order of their making.
type event struct {
	at     time.Duration
	number uint64
	do     func()
}

type events []event

func (q events) Len() int { return len(q) }
func (q events) Less(i, j int) bool {
	return q[i].at < q[j].at || q[i].at == q[j].at && q[i].number < q[j].number
}
func (q events) Swap(i, j int) { q[i], q[j] = q[j], q[i] }

// Push implements heap.Interface.
func (q *events) Push(x any) { *q = append(*q, x.(event)) } //nolint:errcheck // nothing else is pushed

// Pop implements heap.Interface.
func (q *events) Pop() any {
	last := len(*q) - 1
	e := (*q)[last]
	(*q)[last] = event{}
	*q = (*q)[:last]
	return e
}

// at has do happen at a true time.
func (w *world) at(at time.Duration, do func()) {
	w.count++
	heap.Push(&w.queue, event{max(at, w.now), w.count, do})
}

// run lets everything happen until a true time.
func (w *world) run(until time.Duration) {
	for len(w.queue) > 0 && w.queue[0].at <= until {
		e := heap.Pop(&w.queue).(event) //nolint:errcheck // nothing else is in it
		w.now = e.at
		w.result.Events++
		e.do()
	}
	w.now = until
}

// between returns a random duration.
func (w *world) between(least, most time.Duration) time.Duration {
	return least + time.Duration(w.random.Int64N(int64(most-least)+1))
}

// chance reports true once in n times.
func (w *world) chance(n int) bool { return w.random.IntN(n) == 0 }

// send has do happen at another machine, after the time that a message takes. One that finds its way cut is lost, or is
// held back until the cut has healed.
func (w *world) send(from, to *machine, do func()) {
	delay := w.between(50*time.Microsecond, 2*time.Millisecond)
	switch {
	case w.chance(200): // a packet was lost, and TCP sends it again
		delay += w.between(0, 3*time.Second)
	case w.chance(1000): // a connection has broken
		return
	}
	life, kept := to.life, false
	var arrive func()
	arrive = func() {
		switch {
		case to.dead || to.life != life:
		case from.side == to.side:
			to.when(do)
		case kept || w.chance(2):
			kept = true
			w.at(w.now+time.Second, arrive)
		}
	}
	w.at(w.now+delay, arrive)
}
