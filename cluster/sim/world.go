package sim

import (
	"math/rand/v2"
	"time"
)

// A world has the true time and the events to come.
type world struct {
	c      Config
	now    time.Duration // true time, since the begin
	random *rand.Rand
	queue  []event
	todo   []func()
	unused []int32 // places in todo
	count  uint64

	servers []*server
	nodes   []*node
	names   []string // of the consoles
	judge   *judge
	result  *Result
}

// An event is something that happens at a true time. Events of the same time happen in the order of their making. Their
// functions are in a table, so that the queue has no pointers, which would cost the collector half of the time.
type event struct {
	at     time.Duration
	number uint64
	do     int32 // in world.todo
}

func (e event) before(o event) bool { return e.at < o.at || e.at == o.at && e.number < o.number }

// at has do happen at a true time.
func (w *world) at(at time.Duration, do func()) {
	w.count++
	e := event{at: max(at, w.now), number: w.count}
	if last := len(w.unused) - 1; last >= 0 {
		e.do, w.unused = w.unused[last], w.unused[:last]
		w.todo[e.do] = do
	} else {
		e.do = int32(len(w.todo))
		w.todo = append(w.todo, do)
	}
	// A binary heap, as in container/heap, without its interface.
	q := append(w.queue, e)
	i := len(q) - 1
	for i > 0 && e.before(q[(i-1)/2]) {
		q[i] = q[(i-1)/2]
		i = (i - 1) / 2
	}
	q[i] = e
	w.queue = q
}

// next takes the first event from the queue.
func (w *world) next() event {
	q := w.queue
	first, e := q[0], q[len(q)-1]
	q = q[:len(q)-1]
	w.queue = q
	if len(q) == 0 {
		return first
	}
	i := 0
	for {
		child := 2*i + 1
		if child+1 < len(q) && q[child+1].before(q[child]) {
			child++
		}
		if child >= len(q) || !q[child].before(e) {
			break
		}
		q[i] = q[child]
		i = child
	}
	q[i] = e
	return first
}

// run lets everything happen until a true time.
func (w *world) run(until time.Duration) {
	for len(w.queue) > 0 && w.queue[0].at <= until {
		e := w.next()
		do := w.todo[e.do]
		w.todo[e.do], w.unused = nil, append(w.unused, e.do)
		w.now = e.at
		w.result.Events++
		do()
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
	delay := to.lag + w.between(50*time.Microsecond, 2*time.Millisecond)
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
