package limits

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"ptyctl/cluster/internal/bucket"
)

// A Book has the counts of this process, and writes them. Make it with Open. All methods may be called at the same time.
type Book struct {
	o      Options
	bucket *bucket.Bucket
	ctx    context.Context // ends with Close
	stop   context.CancelFunc
	work   sync.WaitGroup // the renewals
	steps  sync.WaitGroup // the workers of counters

	mu       sync.Mutex // guards the following
	process  process
	former   []string // names that this process had before its key was lost
	epoch    uint64   // of process: how many there were
	counters map[string]*counter
	seen     map[string]time.Time // when the keys of other processes were last found
	closed   bool
}

// maxIdle is how many counters are kept to save a read at the next Take.
const maxIdle = 1024

// Open begins to count for a process. It makes the bucket unless it is there. ctx limits only the opening. If the servers
// do not answer, the error is an *UnavailableError.
func Open(ctx context.Context, o Options) (*Book, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	began := time.Now()
	name, config := o.bucket()
	b := &Book{
		o: o, bucket: bucket.New(o.Conn, name, o.attempt()),
		counters: make(map[string]*counter), seen: make(map[string]time.Time),
	}
	if _, err := b.bucket.Open(ctx, config); err != nil {
		if errors.As(err, new(*bucket.MismatchError)) {
			return nil, fmt.Errorf("limits: %w", err)
		}
		return nil, b.bucket.Unavailable(ctx, "limits: open", began, err)
	}
	b.ctx, b.stop = context.WithCancel(context.Background())
	for attempts := 0; ; attempts++ {
		err := b.begin(ctx)
		if err == nil {
			break
		}
		if !bucket.Pause(ctx, attempts) {
			b.stop()
			return nil, b.bucket.Unavailable(ctx, "limits: open", began, err)
		}
	}
	b.work.Go(b.renewals)
	return b, nil
}

// Take counts one more session towards each of the uses, in their order, and returns the function that counts it no
// longer, which does not block and may be called again without effect. After an error nothing is counted: a *FullError
// says which limit is reached; an *UnavailableError says that the servers did not answer within Options.Timeout.
func (b *Book) Take(ctx context.Context, uses ...Use) (release func(), err error) {
	keys := make([]string, len(uses))
	for i, u := range uses {
		if keys[i], err = u.key(); err != nil {
			return nil, err
		}
	}
	if err := context.Cause(ctx); err != nil {
		return nil, fmt.Errorf("limits: nothing was taken: %w", err)
	}
	whole, cancel := context.WithTimeout(ctx, b.o.Timeout)
	defer cancel()
	end, _ := whole.Deadline()
	work, done := context.WithDeadline(whole, end.Add(-time.Until(end)/4)) // the rest is for the explanation of a failure
	defer done()
	var taken []*counter
	release = sync.OnceFunc(func() {
		for _, c := range taken {
			b.release(c)
		}
	})
	for i, u := range uses {
		if u.Most <= 0 {
			continue
		}
		c, err := b.take(whole, work, keys[i], u)
		if err != nil {
			release()
			return nil, err
		}
		taken = append(taken, c)
	}
	return release, nil
}

// take counts one session towards one use.
func (b *Book) take(whole, work context.Context, key string, u Use) (*counter, error) {
	began := time.Now()
	t := &taker{use: u, done: make(chan error, 1)}
	b.mu.Lock()
	if b.closed {
		b.mu.Unlock()
		return nil, errClosed
	}
	c := b.counters[key]
	if c == nil {
		c = &counter{key: key, epoch: b.epoch}
		b.counters[key] = c
	}
	c.waiting = append(c.waiting, t)
	b.start(c)
	b.mu.Unlock()
	select {
	case err := <-t.done:
		return c, err
	case <-work.Done():
	}
	b.mu.Lock()
	i := slices.Index(c.waiting, t)
	if i >= 0 {
		c.waiting = slices.Delete(c.waiting, i, i+1)
	}
	failed := c.failed
	b.mu.Unlock()
	if i < 0 { // it was decided at this very moment
		return c, <-t.done
	}
	if failed == nil {
		failed = context.Cause(work)
	}
	return nil, b.bucket.Unavailable(whole, fmt.Sprintf("limits: take of %s %q", u.What, u.Name), began, failed)
}

// release counts one session less.
func (b *Book) release(c *counter) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed { // and has given back everything
		return
	}
	c.held--
	b.start(c)
}

// Used returns how many sessions of a limit each node has. A node that has just died is counted, too.
func (b *Book) Used(ctx context.Context, what, name string) (map[string]int, error) {
	key, err := Use{What: what, Name: name}.key()
	if err != nil {
		return nil, err
	}
	began := time.Now()
	e, err := b.bucket.Read(ctx, key)
	if err != nil {
		return nil, b.bucket.Unavailable(ctx, fmt.Sprintf("limits: use of %s %q", what, name), began, err)
	}
	s, err := sharesOf(e)
	return s.nodes(), err
}

// Alive reports whether sessions can be taken: the key of this process was renewed in time.
func (b *Book) Alive() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return !b.closed && b.valid()
}

// Close gives back all sessions that are still taken, and ends the work of the book. Calls of Take that wait fail.
// After an error, the sessions are given back when the TTL is over.
func (b *Book) Close(ctx context.Context) error {
	began := time.Now()
	b.mu.Lock()
	if b.closed {
		b.mu.Unlock()
		return nil
	}
	for _, c := range b.counters {
		for _, t := range c.waiting {
			t.done <- errClosed
		}
		c.waiting, c.held = nil, 0
		b.start(c)
	}
	b.closed = true
	b.mu.Unlock()
	unhook := context.AfterFunc(ctx, b.stop)
	b.steps.Wait()
	unhook()
	b.stop()
	b.work.Wait()
	return b.end(ctx, began)
}
