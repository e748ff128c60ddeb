package sshx

import (
	"fmt"
	"sync"
	"time"

	"ptyctl/term"
)

// A keepalive asks the server now and then whether it is still there, and ends the connection when it has not
// answered several times in a row (ssh_config(5) ServerAliveInterval, ServerAliveCountMax). Between questions
// it costs a timer, no goroutine.
type keepalive struct {
	c        *Client
	interval time.Duration
	max      int

	mu      sync.Mutex // guards the following
	timer   *time.Timer
	stopped bool
	asking  bool // a question is unanswered
	missed  int
}

// watchAlive starts asking. An interval of zero or less never does.
func watchAlive(c *Client, interval time.Duration, limit int) *keepalive {
	k := &keepalive{c: c, interval: interval, max: limit}
	if interval > 0 {
		k.timer = time.AfterFunc(interval, k.tick)
	}
	return k
}

func (k *keepalive) stop() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.stopped = true
	if k.timer != nil {
		k.timer.Stop()
	}
}

// tick runs once per interval, in a goroutine of its own. While one tick waits for its answer, the following
// ones count.
func (k *keepalive) tick() {
	k.mu.Lock()
	if k.stopped {
		k.mu.Unlock()
		return
	}
	if k.asking {
		k.missed++
		if k.missed >= k.max {
			k.stopped = true
			k.mu.Unlock()
			k.c.fail(&term.Error{Kind: term.RemoteClosed, Msg: fmt.Sprintf("%s has not answered for %s (%d keepalives); the connection counts as lost", k.c.last().hop, time.Duration(k.max)*k.interval, k.max)})
			k.c.closeLinks()
			return
		}
		k.timer.Reset(k.interval)
		k.mu.Unlock()
		return
	}
	k.asking = true
	k.c.wg.Add(1)
	k.timer.Reset(k.interval)
	k.mu.Unlock()

	defer k.c.wg.Done()
	// Any answer will do: OpenSSH and dropbear both refuse the request, and thereby show that they live.
	_, _, err := k.c.conn.SendRequest("keepalive@openssh.com", true, nil)
	k.mu.Lock()
	defer k.mu.Unlock()
	if err == nil {
		k.asking, k.missed = false, 0
	}
}
