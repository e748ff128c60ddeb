package answer

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"
)

const (
	// settle is how long the answers to a query wait: by then the program that asked may be gone, and a shell has shown
	// its prompt.
	settle = 10 * time.Millisecond

	// echoes is how much longer the answers wait where a line was entered shortly before their query: its echo says that
	// the line was read after the query, perhaps by a program that it has ended.
	echoes = 150 * time.Millisecond

	// freshness is how old an answer may get that waits for its turn. A later one would be taken for typed keys.
	freshness = 2 * time.Second

	// tally is how often the answers are put on record.
	tally = time.Second

	// mostUnheeded is how many bytes of answers go out while no caller types. A terminal that takes no input must not be
	// filled up by them, or the next caller's key would not reach it.
	mostUnheeded = 16 << 10

	// mostShown is how much of the answers a record shows.
	mostShown = 200

	perSecond, burst = 50, 50 // answers
)

// A Terminal is a session as the answers to its queries see it.
type Terminal interface {
	Context() context.Context // ends with the session
	Touches() int             // how often a caller has typed

	// MayAnswer reports whether the present programs and prompt allow an answer to a query. entered is the argument of
	// Take for the query.
	MayAnswer(entered int) bool

	// Reply hands such an answer to the far side, in turn with all that is typed, unless ctx ends before its turn.
	Reply(ctx context.Context, p []byte, entered int) error

	// Record puts answers on record. It reports false if it cannot.
	Record(r Record) bool

	// Flooded says that the far side asks more than is answered. It is called once.
	Flooded()
}

// A Record sums up answers.
type Record struct {
	Data    []byte // of the first ones
	Answers int
	Size    int // in bytes
	Dropped int // queries that were not answered because there were too many
}

// String describes the record for the audit log.
func (r Record) String() string {
	text := fmt.Sprintf("%d answers to queries of the output", r.Answers)
	if len(r.Data) > 0 {
		text += ": " + strconv.QuoteToASCII(string(r.Data))
	}
	if r.Dropped > 0 {
		text += fmt.Sprintf("; %d queries dropped", r.Dropped)
	}
	return text
}

// A Sender sends the answers of one terminal. Make it with New.
type Sender struct {
	t     Terminal
	spawn func(f func()) bool // runs a goroutine, or reports false once none may start
	wake  chan struct{}       // holds a token when the queue is no longer empty

	mu       sync.Mutex // guards the following; not held while the terminal is called
	bucket   bucket
	queue    []reply
	running  bool
	sum      Record    // that is not on record yet
	recorded time.Time // when a record was last tried; zero: never
	failed   bool      // that record could not be made
	flooded  bool      // Terminal.Flooded was called

	// Of the goroutine that sends:
	unheeded int // bytes sent since a caller has typed
	touches  int // of the terminal then
}

// A reply is one answer that waits for its turn.
type reply struct {
	data    []byte
	at      time.Time // of its query, or when the echo of a line before it would have come
	entered int       // how many lines callers had entered then
}

// New makes a Sender.
func New(t Terminal, spawn func(f func()) bool) *Sender {
	return &Sender{t: t, spawn: spawn, wake: make(chan struct{}, 1)}
}

// Refuses reports whether so many queries have come lately that none of the present ones is answered, and counts them
// then. Their answers need not be made.
func (a *Sender) Refuses(queries int) bool {
	a.mu.Lock()
	refuses := !a.bucket.has(time.Now())
	if refuses {
		a.sum.Dropped += queries
	}
	a.mu.Unlock()
	if refuses {
		a.start()
	}
	return refuses
}

// Take takes the answers to the queries that have just come, one after another, how many queries came, and how many
// lines callers had entered by then: a negative number if the last of them may not have been read. It returns at once.
func (a *Sender) Take(answers []byte, queries, entered int) {
	now := time.Now()
	at := now
	if entered < 0 {
		at = at.Add(echoes)
	}
	a.mu.Lock()
	first := len(a.queue) == 0
	list := Split(answers)
	if n := queries - len(list); n > 0 && len(list) >= burst { // so many that the screen has not answered all
		a.sum.Dropped += n
	}
	for _, p := range list {
		if a.bucket.take(now) {
			a.queue = append(a.queue, reply{bytes.Clone(p), at, entered})
		} else {
			a.sum.Dropped++
		}
	}
	first = first && len(a.queue) > 0
	a.mu.Unlock()
	if first {
		select {
		case a.wake <- struct{}{}:
		default:
		}
	}
	a.start()
}

// start warns of the first query that was dropped, and starts the goroutine that sends and records, if it has to.
func (a *Sender) start() {
	a.mu.Lock()
	warn := a.sum.Dropped > 0 && !a.flooded
	a.flooded = a.flooded || warn
	begin := !a.running && a.busy()
	a.running = a.running || begin
	a.mu.Unlock()
	if warn {
		a.t.Flooded()
	}
	if begin && !a.spawn(a.run) {
		a.mu.Lock()
		a.running = false
		a.mu.Unlock()
	}
}

// busy reports whether something is queued, or not on record. Requires a.mu.
func (a *Sender) busy() bool { return len(a.queue) > 0 || a.sum.Answers > 0 || a.sum.Dropped > 0 }

// run sends the queued answers, and ends when all is sent and on record.
func (a *Sender) run() {
	ctx := a.t.Context()
	for {
		rest, more := a.rest()
		if !more {
			return
		}
		timer := time.NewTimer(rest)
		select {
		case <-timer.C:
			a.send(ctx)
		case <-a.wake:
			timer.Stop()
		case <-ctx.Done():
			timer.Stop()
			a.end()
			return
		}
	}
}

// rest returns how long run must wait before it sends or records. If it has nothing to do, it must end.
func (a *Sender) rest() (rest time.Duration, more bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case len(a.queue) > 0:
		return time.Until(a.queue[0].at.Add(settle)), true
	case a.busy():
		return time.Until(a.recorded.Add(tally)), true
	}
	a.running = false
	return 0, false
}

// send sends the queued answers that are due, and puts them on record first if a record is due.
func (a *Sender) send(ctx context.Context) {
	a.mu.Lock()
	n := slices.IndexFunc(a.queue, func(r reply) bool { return time.Until(r.at.Add(settle)) > 0 })
	if n < 0 {
		n = len(a.queue)
	}
	queue := a.queue[:n:n]
	a.queue = a.queue[n:]
	a.mu.Unlock()
	queue = slices.DeleteFunc(queue, func(r reply) bool { return !a.t.MayAnswer(r.entered) })
	queue, late := a.pick(queue)
	if !a.note(queue, late) {
		return
	}
	for _, r := range queue {
		turn, cancel := context.WithDeadline(ctx, r.at.Add(freshness))
		err := a.t.Reply(turn, r.data, r.entered)
		cancel()
		if err != nil {
			return
		}
	}
}

// pick returns the answers that may go out, and how many may not.
func (a *Sender) pick(queue []reply) (picked []reply, late int) {
	if n := a.t.Touches(); n != a.touches {
		a.touches, a.unheeded = n, 0
	}
	for _, r := range queue {
		if a.unheeded+len(r.data) > mostUnheeded || time.Since(r.at) > freshness {
			late++
			continue
		}
		a.unheeded += len(r.data)
		picked = append(picked, r)
	}
	return picked, late
}

// note counts answers that are about to go out, and puts all that were counted on record once that is due. It reports
// false if the record cannot be made: then nothing may go out before a later record could be made.
func (a *Sender) note(queue []reply, late int) bool {
	now := time.Now()
	a.mu.Lock()
	before := a.sum
	before.Data = slices.Clip(before.Data)
	for _, r := range queue {
		a.sum.Answers++
		a.sum.Size += len(r.data)
		if len(a.sum.Data) < mostShown {
			a.sum.Data = append(a.sum.Data, r.data...)
		}
	}
	a.sum.Dropped += late
	if !a.busy() || !a.failed && now.Sub(a.recorded) < tally {
		a.mu.Unlock()
		return true
	}
	sum := a.sum
	a.sum, a.recorded = Record{}, now
	a.mu.Unlock()
	ok := a.t.Record(sum)
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.failed = !ok; a.failed { // those that went out before are still to be recorded
		before.Dropped += a.sum.Dropped + late
		a.sum = before
	}
	return ok
}

// end puts the rest on record.
func (a *Sender) end() {
	a.mu.Lock()
	sum := a.sum
	open := sum.Answers > 0 || sum.Dropped > 0
	a.sum, a.queue, a.running = Record{}, nil, false
	a.mu.Unlock()
	if open {
		a.t.Record(sum)
	}
}

// Split cuts answers into single ones: each begins with an ESC that ends no string.
func Split(answers []byte) (list [][]byte) {
	for len(answers) > 0 {
		n := 1
		for n < len(answers) && (answers[n] != '\x1b' || n+1 < len(answers) && answers[n+1] == '\\') {
			n++
		}
		list = append(list, answers[:n])
		answers = answers[n:]
	}
	return list
}

// A bucket limits a rate: a burst of answers, then so many a second. The zero value is full.
type bucket struct {
	used float64
	last time.Time
}

// has reports whether one more is allowed.
func (b *bucket) has(now time.Time) bool {
	b.used = max(0, b.used-now.Sub(b.last).Seconds()*perSecond)
	b.last = now
	return b.used+1 <= burst
}

func (b *bucket) take(now time.Time) bool {
	if !b.has(now) {
		return false
	}
	b.used++
	return true
}
