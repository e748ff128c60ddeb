package mux

import (
	"fmt"
	"sync"
	"time"

	"ptyctl/term"
)

// A keepalive asks the server at intervals for an answer, and ends the link after
// several questions in a row without one (ssh_config(5) ServerAliveInterval,
// ServerAliveCountMax). Between questions it costs a timer and no goroutine.
type keepalive struct {
	k        *Link
	interval time.Duration
	max      int // <= 0: never give up

	mu      sync.Mutex // guards the following
	timer   *alarm     // nil: no questions
	stopped bool
	asking  bool // a question is waiting for its answer
	missed  int  // ticks since that question
}

// watchAlive starts the questions. An interval of zero or less turns them off.
func watchAlive(k *Link, interval time.Duration, limit int) *keepalive {
	a := &keepalive{k: k, interval: interval, max: limit}
	if interval > 0 {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.timer = newAlarm(a.next(), a.tick)
	}
	return a
}

// next returns the time to the next tick. Long intervals end at common instants,
// at most a sixth late, so that a thousand connections wake the process together
// and not a thousand times.
func (a *keepalive) next() time.Duration {
	step := a.interval / 6
	if step < time.Second {
		return a.interval
	}
	now := time.Now()
	return now.Add(a.interval + step - 1).Truncate(step).Sub(now)
}

// stop ends the questions.
func (a *keepalive) stop() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.stopped = true
	a.timer.stop()
}

// tick runs once per interval, in a goroutine of its own. While one tick waits
// for its answer, the next ones count the missed intervals.
func (a *keepalive) tick() {
	a.mu.Lock()
	if a.stopped {
		a.mu.Unlock()
		return
	}
	// The last question has no answer yet: count, and do not send another one.
	if a.asking {
		a.missed++
		if a.max > 0 && a.missed >= a.max {
			a.stopped = true
			a.mu.Unlock()
			a.k.end(
				&term.Error{
					Kind: term.RemoteClosed,
					Msg: fmt.Sprintf(
						"%s has not answered for %s (%d keepalives); the connection counts as lost",
						a.k.Name,
						time.Duration(a.max)*a.interval,
						a.max,
					),
				},
			)
			return
		}
		a.timer.reset(a.next())
		a.mu.Unlock()
		return
	}
	a.asking = true
	a.k.wg.join()
	a.timer.reset(a.next())
	a.mu.Unlock()

	defer a.k.wg.leave()
	err := a.k.question()
	a.mu.Lock()
	defer a.mu.Unlock()
	if err == nil {
		a.asking, a.missed = false, 0
	}
}

// question asks the server for an answer, and waits for it. Any counts: OpenSSH and dropbear both refuse the request,
// which shows that they work.
func (k *Link) question() error {
	_, _, err := k.Conn.SendRequest("keepalive@openssh.com", true, nil)
	return err
}

// ask is question in a goroutine. The channel is closed when the answer comes.
func (k *Link) ask() <-chan struct{} {
	answered := make(chan struct{})
	k.wg.Go(func() { // ends with the answer, or the connection
		if k.question() == nil {
			close(answered)
		}
	})
	return answered
}
