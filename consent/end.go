package consent

import (
	"time"

	"ptyctl/term"
)

// How a question ends without an answer, for the record. Both deny the call.
const (
	saidExpired   = "expired"
	saidWithdrawn = "withdrawn"
)

// An ending is a question that has ended without an answer.
type ending struct {
	Question
	said string
}

// sweep removes expired questions: a late answer must not count, even if the timer is late. Requires b.mu.
func (b *Book) sweep() {
	now := time.Now()
	for key, e := range b.entries {
		if !now.Before(e.Expires) {
			b.end(key, e, saidExpired)
		}
	}
}

// end removes an entry that has expired or is withdrawn. Requires b.mu.
func (b *Book) end(key fingerprint, e *entry, said string) {
	delete(b.entries, key)
	clear(e.value)
	e.value = nil
	if e.outcome == Waiting {
		e.outcome = Expired
		close(e.done)
		b.ended = append(b.ended, ending{e.Question, said})
	}
}

// expire ends the questions that have expired, even if no call looks for an answer any more.
func (b *Book) expire() {
	b.mu.Lock()
	b.sweep()
	b.mu.Unlock()
	b.report()
}

// Withdraw removes the questions and answers about a session that has ended.
func (b *Book) Withdraw(session string) {
	b.withdraw(func(q Question) bool { return q.Session == session })
}

// Leave removes those of a client that is gone.
func (b *Book) Leave(p term.Principal) {
	b.withdraw(func(q Question) bool { return q.Actor.Principal().Client() == p.Client() })
}

// Close removes all remaining questions. When it returns, the end of each question is on record, and no question is
// asked any more.
func (b *Book) Close() {
	b.mu.Lock()
	b.closed = true
	b.mu.Unlock()
	b.withdraw(func(Question) bool { return true })
}

func (b *Book) withdraw(of func(Question) bool) {
	b.mu.Lock()
	b.sweep()
	some := false
	for key, e := range b.entries {
		if of(e.Question) {
			some = true
			e.expiry.Stop()
			b.end(key, e, saidWithdrawn)
		}
	}
	b.mu.Unlock()
	b.report()
	if some {
		b.changed()
	}
}

// report passes the questions that have ended to the observer, without an actor.
func (b *Book) report() {
	b.telling.Lock()
	defer b.telling.Unlock()
	b.mu.Lock()
	ended := b.ended
	b.ended = nil
	b.mu.Unlock()
	for _, e := range ended {
		b.observe(e.Question, term.Actor{}, e.said)
	}
	if len(ended) > 0 {
		b.changed()
	}
}
