package sshx

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"fmt"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"

	"ptyctl/sshx/mux"
	"ptyctl/sshx/plan"
	"ptyctl/term"
)

// maxHandshakes is the most unauthenticated connections to one host at a time.
// OpenSSH drops some at random beyond ten (sshd_config(5) MaxStartups 10:30:100).
const maxHandshakes = 8

// A pool has the state shared by the connections of one Network: the connections
// to jump hosts with their number of users, and the turns for handshakes.
type pool struct {
	mu    sync.Mutex // guards the following
	jumps map[string]*jump
	turns map[string]chan struct{} // by address: one token per handshake in progress

	waiting atomic.Int64 // number of handshakes waiting for their turn
}

func newPool() *pool {
	return &pool{jumps: make(map[string]*jump), turns: make(map[string]chan struct{})}
}

// A jump is a connection to a jump host that any number of Clients share.
type jump struct {
	key   string
	ready chan struct{} // closed when link or err is set
	link  *mux.Link
	err   error
	users int // Clients and Tunnels that use it
}

// turn waits until a handshake with address may begin; done ends the turn.
func (p *pool) turn(ctx context.Context, address string) (done func(), err error) {
	p.mu.Lock()
	turns := p.turns[address]
	if turns == nil {
		turns = make(chan struct{}, maxHandshakes)
		p.turns[address] = turns
	}
	p.mu.Unlock()
	// The channel's capacity is the number of turns; a token in it is a running
	// handshake.
	p.waiting.Add(1)
	defer p.waiting.Add(-1)
	select {
	case turns <- struct{}{}:
		return func() { <-turns }, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// use returns the shared connection for key, and dials the first time. Concurrent
// callers wait for the one that dials; if that fails, the next of them dials
// itself.
func (p *pool) use(ctx context.Context, key string, dial func() (*mux.Link, error)) (*jump, error) {
	for {
		p.mu.Lock()
		j := p.jumps[key]
		if j == nil {
			j = &jump{key: key, ready: make(chan struct{}), users: 1}
			p.jumps[key] = j
			p.mu.Unlock()
			// Dialing without the lock: a slow jump host must not block the
			// others.
			p.fill(j, dial)
			return j, j.err
		}
		j.users++
		p.mu.Unlock()
		select {
		case <-j.ready:
			if j.err == nil && j.link.Lost() == nil {
				return j, nil
			}
			p.release(j)
		case <-ctx.Done():
			p.release(j)
			return nil, context.Cause(ctx)
		}
	}
}

// fill connects j, and removes it from the pool when it fails, now or later.
func (p *pool) fill(j *jump, dial func() (*mux.Link, error)) {
	j.link, j.err = dial()
	if j.err != nil {
		p.forget(j)
	} else {
		context.AfterFunc(j.link.Context(), func() { p.forget(j) })
	}
	close(j.ready)
}

// forget removes j, so that the next caller dials again.
func (p *pool) forget(j *jump) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.jumps[j.key] == j {
		delete(p.jumps, j.key)
	}
}

// release ends one use; the last one closes the connection.
func (p *pool) release(j *jump) {
	p.mu.Lock()
	j.users--
	// A later caller must not get a connection that is about to close.
	last := j.users == 0
	if last && p.jumps[j.key] == j {
		delete(p.jumps, j.key)
	}
	p.mu.Unlock()
	if last && j.link != nil {
		j.link.Close()
	}
}

// connectJumps connects to the jump hosts of a route, each through the one
// before. The caller must release the returned jumps by releaseAll, also after an
// error.
func (p *pool) connectJumps(
	w *watchdog, hops []*plan.Hop, l *steps, asker term.Prompter,
) (jumps []*jump, via *mux.Link, err error) {
	own := ""
	if term.HoldFrom(w.ctx) != nil { // the connection may be shut down, which must not end the sessions of others
		own = "held " + rand.Text()
	}
	for i, h := range hops {
		l.hop(h.Host, h.Port, h.User)
		before := via
		j, err := p.use(
			w.ctx,
			shareKey(hops[:i+1])+own,
			func() (*mux.Link, error) { return p.login(w, before, h, l, asker) },
		)
		if err != nil {
			return jumps, nil, err
		}
		l.reached()
		jumps = append(jumps, j)
		via = j.link
	}
	return jumps, via, nil
}

// releaseAll releases the jumps of a route, the last first.
func (p *pool) releaseAll(jumps []*jump) {
	for _, j := range slices.Backward(jumps) {
		p.release(j)
	}
}

// jumpWarnings returns the warnings about the connections to jump hosts; own are those about the connection to the
// target.
func jumpWarnings(jumps []*jump, own []string) []string {
	said := slices.Clone(own)
	var all []string
	for _, j := range jumps {
		all = append(all, j.link.JumpWarnings(said)...)
		said = append(said, j.link.Warnings...)
	}
	return all
}

// shareKey returns the same key for routes that may share a connection: the same
// hosts, settings and credentials. A jump host uses nothing from the call itself,
// so different callers may share it. A jump host has no
// term.Secret, which would be hidden here.
func shareKey(hops []*plan.Hop) string {
	h := sha256.New()
	for _, hop := range hops {
		anonymous := *hop
		anonymous.Index, anonymous.Proxy, anonymous.Vouched, anonymous.LookUpErr = 0, nil, nil, nil
		anonymous.Answerer = nil         // all have the same
		anonymous.Within = plan.Within{} // of one attempt
		anonymous.Addrs, anonymous.ProxyAddrs = inOrder(hop.Addrs), inOrder(hop.ProxyAddrs)
		_, _ = fmt.Fprintf(h, "%+v %s\n", anonymous, hop.Proxy) // the proxy by value, not by pointer
	}
	return string(h.Sum(nil))
}

// inOrder returns the addresses sorted, because name servers return them in any
// order.
func inOrder(addrs []netip.Addr) []netip.Addr {
	return slices.SortedFunc(slices.Values(addrs), netip.Addr.Compare)
}
