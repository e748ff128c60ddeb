package route

import (
	"sync"
	"sync/atomic"

	"github.com/nats-io/nats.go"

	"ptyctl/internal/workers"
)

const (
	// maxWaiting is how many messages may wait for a receiver. One is always on its way to them, so that few do.
	maxWaiting = 8 << 10

	// maxIdle is how many receivers wait for messages. More of them cost more: the messages go round among all (with 8 of
	// them a small call took as long as without receivers).
	maxIdle = 2
)

// receivers take messages as they come, each in a goroutine of its own while it is taken. The client library gives them
// the messages directly. A goroutine of its subscription between both, and another one for each message, cost a
// processor 26 us of the 284 of a small call of one of eight clients: each that is woken may wake a thread. Messages that
// have to be taken in their order are not for them. Make them with newReceivers.
type receivers struct {
	messages chan *nats.Msg // for nats.Conn.ChanSubscribe
	take     func(m *nats.Msg)
	pool     *workers.Pool // has the goroutines of the receivers, and ends after them

	idle    atomic.Int32 // that wait, or are about to
	stop    chan struct{}
	running sync.WaitGroup
}

func newReceivers(pool *workers.Pool, take func(m *nats.Msg)) *receivers {
	return &receivers{messages: make(chan *nats.Msg, maxWaiting), take: take, pool: pool, stop: make(chan struct{})}
}

// start starts the first one.
func (r *receivers) start() { r.another() }

// end ends each, once it has taken its message, and waits for that. Messages that have not been received are not taken.
func (r *receivers) end() {
	close(r.stop)
	r.running.Wait()
}

func (r *receivers) another() {
	r.idle.Add(1)
	r.running.Add(1)
	r.pool.Go(func() {
		defer r.running.Done()
		r.receive()
	})
}

// receive takes messages until there are enough others that wait for them. There is always one.
func (r *receivers) receive() {
	for {
		select {
		case <-r.stop:
			return
		case m := <-r.messages:
			if r.idle.Add(-1) == 0 {
				r.another()
			}
			r.take(m)
		}
		if r.idle.Add(1) > maxIdle {
			if r.idle.Add(-1) > 0 {
				return
			}
			r.idle.Add(1) // the others have all begun to take messages meanwhile
		}
	}
}
