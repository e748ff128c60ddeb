package lease

import (
	"container/heap"
	"context"
	"errors"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"

	"ptyctl/cluster/internal/bucket"
	"ptyctl/cluster/lease/rules"
	"ptyctl/devlock"
)

// errClosed is the error of a call that comes after Close.
var errClosed = errors.New("lease: the store is closed")

// A held is a lease of this node. Once the renewer has it, only the renewer's goroutine uses it.
type held struct {
	lease *devlock.Lease
	key   string
	value value
	fence *time.Timer // ends the lease when its time is over, whatever the renewer waits for

	rules.Lease[devlock.Moment]
	due     time.Time // of the next attempt; changed by schedule
	place   int       // in the queue
	waiters []waiter

	failed atomic.Pointer[error] // of the last attempt; nil: it was confirmed
}

// A waiter is a call of Renew.
type waiter struct {
	from uint64     // the first attempt that counts
	done chan error // buffered
}

// A renewer renews all leases of a Store, in one goroutine. Attempts overlap: one subscription gets all answers, and
// their subjects name the lease and the attempt.
type renewer struct {
	s       *Store
	inbox   string
	answers chan *nats.Msg
	sub     *nats.Subscription
	calls   chan func() // carried out by the goroutine
	over    chan struct{}

	held map[*devlock.Lease]*held
	byID map[string]*held
	next queue
}

// maxAnswers is how many answers may wait. One that finds no room is lost, and its attempt is repeated.
const maxAnswers = 64 << 10

func startRenewer(s *Store) (*renewer, error) {
	r := &renewer{
		s: s, inbox: s.nc.NewInbox(), answers: make(chan *nats.Msg, maxAnswers), calls: make(chan func()),
		over: make(chan struct{}), held: make(map[*devlock.Lease]*held), byID: make(map[string]*held),
	}
	var err error
	if r.sub, err = s.nc.ChanSubscribe(r.inbox+".*.*.*", r.answers); err != nil {
		return nil, err
	}
	go r.run()
	return r, nil
}

// do has the goroutine carry out f, and waits for that. If it does not begin before ctx ends, because it waits for the
// network, or once the Store is closed, f is not carried out, and the error says so.
func (r *renewer) do(ctx context.Context, f func()) error {
	done := make(chan struct{})
	select {
	case r.calls <- func() { f(); close(done) }:
		<-done
		return nil
	case <-ctx.Done():
		if r.s.ctx.Err() != nil {
			return errClosed
		}
		return context.Cause(ctx)
	case <-r.over:
		return errClosed
	}
}

// wait waits for the end of the goroutine.
func (r *renewer) wait() { <-r.over }

// run is the goroutine. It ends with the Store.
func (r *renewer) run() {
	defer close(r.over)
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		if next := r.attempts(time.Now()); next.IsZero() {
			timer.Stop()
		} else {
			timer.Reset(time.Until(next))
		}
		select {
		case f := <-r.calls:
			f()
		case m := <-r.answers:
			r.answered(m)
		case <-timer.C:
		case <-r.s.ctx.Done():
			_ = r.sub.Unsubscribe()
			for l, h := range r.held { // Close has failed to release it
				h.end(&devlock.LostError{Device: l.Device(), Why: "the store was closed"})
			}
			return
		}
	}
}

// attempts makes the attempts that are due, and returns when the next one will be; zero: there is no lease.
func (r *renewer) attempts(now time.Time) (next time.Time) {
	for len(r.next) > 0 {
		h := r.next[0]
		if now.Before(h.due) {
			return h.due
		}
		if err := h.lease.Check(); err != nil { // its timer has ended it, or is about to
			h.tell(err)
			r.drop(h)
			continue
		}
		r.attempt(h, now)
	}
	return time.Time{}
}

// schedule sets the time of the next attempt.
func (r *renewer) schedule(h *held, due time.Time) {
	h.due = due
	heap.Fix(&r.next, h.place)
}

// attempt sends a renewal, or repeats the read that it waits for.
func (r *renewer) attempt(h *held, now time.Time) {
	every := r.s.o.times().Every()
	// A little early, by chance: renewals that an election has gathered would stay together for good.
	r.schedule(h, now.Add(every-rand.N(every/10+1)))
	if h.Attempt(devlock.Now()) {
		r.read(h)
		return
	}
	m := r.s.bucket.Write(h.key, h.value.encode(h.Token), h.Revision)
	m.Reply = r.reply("w", h)
	r.send(h, m)
}

// read asks the leader of the stream for the key.
func (r *renewer) read(h *held) {
	m := r.s.bucket.ReadRequest(h.key)
	m.Reply = r.reply("r", h)
	r.send(h, m)
}

func (r *renewer) reply(kind string, h *held) string {
	return r.inbox + "." + kind + "." + h.value.ID + "." + strconv.FormatUint(h.Number, 10)
}

// send sends a message. If that fails, it is tried again soon.
func (r *renewer) send(h *held, m *nats.Msg) {
	if err := r.s.nc.PublishMsg(m); err != nil {
		r.fail(h, err)
	}
}

// fail notes that an attempt has failed, and when it is repeated.
func (r *renewer) fail(h *held, err error) {
	h.failed.Store(&err)
	r.schedule(h, r.s.o.times().Retry(time.Now(), h.due))
}

// answered takes an answer.
func (r *renewer) answered(m *nats.Msg) {
	part := strings.Split(strings.TrimPrefix(m.Subject, r.inbox+"."), ".")
	if len(part) != 3 {
		return
	}
	h := r.byID[part[1]]
	number, err := strconv.ParseUint(part[2], 10, 64)
	if h == nil || err != nil { // it was released or lost meanwhile
		return
	}
	if len(m.Data) == 0 && m.Header.Get("Status") == "503" {
		r.fail(h, nats.ErrNoResponders)
		return
	}
	if part[0] == "w" {
		r.written(h, number, m.Data)
	} else {
		r.seen(h, m.Data)
	}
}

// written takes the answer to a renewal.
func (r *renewer) written(h *held, number uint64, data []byte) {
	revision, err := bucket.Confirmed(data)
	switch {
	case err == nil:
		r.renewed(h, number, revision)
	case bucket.Refused(err):
		h.failed.Store(&err)
		h.Refuse(int(bucket.CodeOf(err)))
		r.read(h)
	default:
		r.fail(h, err)
	}
}

// renewed takes the confirmation of an attempt. The lease lasts longer from the time when that was sent.
func (r *renewer) renewed(h *held, number, revision uint64) {
	sent, ok := h.Confirmed(number, revision)
	if !ok {
		return
	}
	h.failed.Store(nil)
	if err := h.lease.ExtendFrom(sent, r.s.o.times().Lasts()); err != nil { // it came too late
		h.tell(err)
		return
	}
	h.fence.Reset(time.Until(h.lease.Until()))
	h.waiters = tell(h.waiters, func(w waiter) bool { return w.from <= number }, nil)
}

// seen takes the answer to a read of the key, which decides about the lease.
func (r *renewer) seen(h *held, data []byte) {
	if !h.Reading {
		return
	}
	var e entry
	answer, err := bucket.Answered(data)
	if err == nil && answer.Revision != 0 {
		e = newEntry(answer.Data, answer.Marker, answer.Revision)
	}
	if err != nil {
		r.fail(h, err)
		return
	}
	if h.Read(e.seenBy(h.value.ID)) {
		why := &devlock.LostError{Device: h.lease.Device(), Why: "its key was deleted or has expired on the servers"}
		if e.held {
			why.Why, why.Owner = "another owner has the device", e.Owner
		}
		h.end(why)
		r.drop(h)
		return
	}
	r.schedule(h, time.Now().Add(r.s.o.times().Settle()))
}

// end ends the lease, and ends all waits for a renewal.
func (h *held) end(why *devlock.LostError) {
	h.lease.End(why)
	h.tell(h.lease.Check())
}

// tell ends all waits for a renewal.
func (h *held) tell(err error) { h.waiters = tell(h.waiters, func(waiter) bool { return true }, err) }

// tell ends the waits that concerns selects, and returns the others.
func tell(waiters []waiter, concerns func(waiter) bool, err error) (others []waiter) {
	for _, w := range waiters {
		if concerns(w) {
			w.done <- err
		} else {
			others = append(others, w)
		}
	}
	return others
}
