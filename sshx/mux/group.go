package mux

import (
	"fmt"
	"runtime/debug"
	"sync"
)

// A group is the goroutines of a link. Unlike a sync.WaitGroup it may grow during
// Wait: a call may begin on a link while another one closes it.
type group struct {
	fault func(cause error) // called with a panic of a goroutine; nil: the panic continues

	mu    sync.Mutex // guards the following
	n     int
	empty chan struct{} // closed when n falls to zero; nil without a waiting caller
}

// Go runs f in a goroutine that Wait waits for.
func (c *group) Go(f func()) {
	c.join()
	go func() {
		defer c.leave()
		if c.fault != nil {
			defer c.rescue()
		}
		f()
	}()
}

// rescue limits a panic to the link that it belongs to.
func (c *group) rescue() {
	if p := recover(); p != nil {
		c.fault(fmt.Errorf("panic: %v\n%s", p, debug.Stack()))
	}
}

// join adds the calling goroutine until it calls leave.
func (c *group) join() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.n++
}

// leave undoes join.
func (c *group) leave() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.n--; c.n == 0 && c.empty != nil {
		close(c.empty)
		c.empty = nil
	}
}

// Wait waits until no goroutine is left.
func (c *group) Wait() {
	c.mu.Lock()
	if c.n == 0 {
		c.mu.Unlock()
		return
	}
	if c.empty == nil {
		c.empty = make(chan struct{})
	}
	empty := c.empty
	c.mu.Unlock()
	<-empty
}
