package route

import (
	"sync"
	"time"
)

// takenAfter is when an owner says that it took a call. The answer to most calls comes before, and says so, too.
const takenAfter = 50 * time.Millisecond

// A beat tells an entry node that a call was taken, and then that it goes on. It is a timer and no goroutine, because most
// calls end before it is due.
type beat struct {
	o     *owner
	reply string

	mu    sync.Mutex // guards the following
	timer *time.Timer
	kind  string // of the next message
	over  bool
}

// beat begins the beat of a call.
func (o *owner) beat(reply string) *beat {
	b := &beat{o: o, reply: reply, kind: kindTaken}
	b.mu.Lock() // next may run at once
	defer b.mu.Unlock()
	b.timer = time.AfterFunc(takenAfter, b.next)
	return b
}

// next sends a message.
func (b *beat) next() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.over {
		return
	}
	b.o.say(b.reply, b.kind, nil)
	b.kind = kindAlive
	b.timer.Reset(b.o.r.o.alive())
}

// stop ends the beat. No message follows it.
func (b *beat) stop() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.over = true
	b.timer.Stop()
}
