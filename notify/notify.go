package notify

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"ptyctl/term"
)

// Options configure a Notifier. Each of Command and Webhook may be empty.
type Options struct {
	Events []string // EventQuestion, EventEnded; empty: both

	Command        []string      // the program and its arguments
	CommandTimeout time.Duration // 0: 10 s
	AtOnce         int           // programs at a time; 0: 4

	Webhook        string        // URL
	WebhookTimeout time.Duration // of one request; 0: 10 s
	Tries          int           // of one notice; 0: 5
	TokenFile      string        // file with a bearer token; empty: none
	AllowHTTP      bool          // the URL may be http to another machine

	Queue   int // notices that wait, for each of the two ways; 0: 256
	Version string
	Logger  *slog.Logger // nil: silent
}

// grace is how long Close lets notices go out that wait, and those under way.
const grace = 2 * time.Second

// A Notifier is a term.Observer. Make it with New, end it with Close.
type Notifier struct {
	o       Options
	machine string
	ways    []*way
	dropped atomic.Int64

	end     context.CancelFunc // ends what is under way
	running sync.WaitGroup     // the workers

	mu     sync.RWMutex // held for reading to add to a queue; guards the following
	closed bool
}

// A way is one way in which notices go out.
type way struct {
	name  string
	queue chan []byte
	send  func(ctx context.Context, notice []byte) error
	close func() // nil: nothing is left open
}

// New starts a Notifier. It fails if the options can have no effect.
func New(o Options) (*Notifier, error) {
	o.CommandTimeout = cmp.Or(o.CommandTimeout, 10*time.Second)
	o.AtOnce = cmp.Or(o.AtOnce, 4)
	o.WebhookTimeout = cmp.Or(o.WebhookTimeout, 10*time.Second)
	o.Tries = cmp.Or(o.Tries, 5)
	o.Queue = cmp.Or(o.Queue, 256)
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	for _, e := range o.Events {
		if e != EventQuestion && e != EventEnded {
			return nil, fmt.Errorf("%q is no event; give %s or %s", e, EventQuestion, EventEnded)
		}
	}
	n := &Notifier{o: o}
	n.machine, _ = os.Hostname() // a notice without it is of use, too
	var ctx context.Context
	ctx, n.end = context.WithCancel(context.Background())
	if len(o.Command) > 0 {
		p, err := newProgram(o)
		if err != nil {
			n.end()
			return nil, err
		}
		n.start(ctx, "command", o.AtOnce, p.run, nil)
	}
	if o.Webhook != "" {
		h, err := newHook(o)
		if err != nil {
			n.Close()
			return nil, err
		}
		n.start(ctx, "webhook", 1, h.post, h.client.CloseIdleConnections) // one after the other, as they have happened
	}
	return n, nil
}

// start adds a way with its workers.
func (n *Notifier) start(
	ctx context.Context, name string, workers int, send func(context.Context, []byte) error, closes func(),
) {
	w := &way{name: name, queue: make(chan []byte, n.o.Queue), send: send, close: closes}
	n.ways = append(n.ways, w)
	for range workers {
		n.running.Go(func() {
			for notice := range w.queue {
				if err := w.send(ctx, notice); err != nil && !errors.Is(err, context.Canceled) {
					n.o.Logger.Warn("a person was not notified", "way", w.name, "error", err)
				}
			}
		})
	}
}

// Observe implements term.Observer.
func (n *Notifier) Observe(e term.Event) {
	notice, ok := noticeOf(e)
	if !ok || len(n.o.Events) > 0 && !slices.Contains(n.o.Events, notice.Event) {
		return
	}
	notice.Machine, notice.Version = n.machine, n.o.Version
	text, err := json.Marshal(notice)
	if err != nil {
		return // strings and numbers always have a form
	}
	n.mu.RLock()
	defer n.mu.RUnlock()
	for _, w := range n.ways {
		if n.closed {
			n.dropped.Add(1)
			continue
		}
		select {
		case w.queue <- text:
		default:
			if n.dropped.Add(1) == 1 {
				n.o.Logger.Warn("notices are dropped: too many wait; ptyctl_notices_dropped_total counts them", "way", w.name)
			}
		}
	}
}

// Dropped returns how many notices were dropped.
func (n *Notifier) Dropped() int64 { return n.dropped.Load() }

// Close lets the notices that wait go out, for a short time, and ends all that is under way then.
func (n *Notifier) Close() {
	n.mu.Lock()
	if n.closed {
		n.mu.Unlock()
		return
	}
	n.closed = true
	for _, w := range n.ways {
		close(w.queue)
	}
	n.mu.Unlock()
	late := time.AfterFunc(grace, n.end)
	n.running.Wait()
	late.Stop()
	n.end()
	for _, w := range n.ways {
		if w.close != nil {
			w.close()
		}
	}
}
