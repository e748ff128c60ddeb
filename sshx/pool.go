package sshx

import (
	"context"
	"crypto/sha256"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"ptyctl/term"
)

// maxHandshakes is how many connections to one host may be unauthenticated at a time. OpenSSH drops some at
// random beyond ten (sshd_config(5) MaxStartups 10:30:100).
const maxHandshakes = 8

// A pool is what the connections of one Dialer share: the connections to jump hosts, counted, and the turns for
// handshakes.
type pool struct {
	mu    sync.Mutex // guards the following
	jumps map[string]*jump
	turns map[string]chan struct{} // by address: a token for each handshake under way

	waiting atomic.Int64 // handshakes that wait for their turn
}

func newPool() *pool {
	return &pool{jumps: make(map[string]*jump), turns: make(map[string]chan struct{})}
}

// A jump is a connection to a jump host that any number of Clients run through.
type jump struct {
	key   string
	ready chan struct{} // closed when link or err is set
	link  *link
	err   error
	users int
}

// turn waits until a handshake with address may begin; done ends it.
func (p *pool) turn(ctx context.Context, address string) (done func(), err error) {
	p.mu.Lock()
	turns := p.turns[address]
	if turns == nil {
		turns = make(chan struct{}, maxHandshakes)
		p.turns[address] = turns
	}
	p.mu.Unlock()
	p.waiting.Add(1)
	defer p.waiting.Add(-1)
	select {
	case turns <- struct{}{}:
		return func() { <-turns }, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// use returns the shared connection with that key, made by dial if there is none. Callers at the same time wait
// for the one who dials; if that fails, the next of them dials for itself.
func (p *pool) use(ctx context.Context, key string, dial func() (*link, error)) (*jump, error) {
	for {
		p.mu.Lock()
		j := p.jumps[key]
		if j == nil {
			j = &jump{key: key, ready: make(chan struct{}), users: 1}
			p.jumps[key] = j
			p.mu.Unlock()
			p.fill(j, dial)
			return j, j.err
		}
		j.users++
		p.mu.Unlock()
		select {
		case <-j.ready:
			if j.err == nil && j.link.lost() == nil {
				return j, nil
			}
			p.release(j)
		case <-ctx.Done():
			p.release(j)
			return nil, context.Cause(ctx)
		}
	}
}

// fill connects j, and takes it out of the pool when it fails, then or later.
func (p *pool) fill(j *jump, dial func() (*link, error)) {
	j.link, j.err = dial()
	if j.err != nil {
		p.forget(j)
	} else {
		context.AfterFunc(j.link.ctx, func() { p.forget(j) })
	}
	close(j.ready)
}

// forget lets the next caller dial anew.
func (p *pool) forget(j *jump) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.jumps[j.key] == j {
		delete(p.jumps, j.key)
	}
}

// release gives up one use; the last one closes the connection.
func (p *pool) release(j *jump) {
	p.mu.Lock()
	j.users--
	last := j.users == 0
	if last && p.jumps[j.key] == j {
		delete(p.jumps, j.key)
	}
	p.mu.Unlock()
	if last && j.link != nil {
		j.link.close()
	}
}

// climb connects to the jump hosts of a way, one over the other. The caller gives up what it returns by releaseAll,
// also with an error.
func (p *pool) climb(w *watchdog, way []*hop, l *ladder, asker term.Prompter) (jumps []*jump, via *link, err error) {
	for i, h := range way {
		l.hop(h.host, h.port, h.user)
		before := via
		j, err := p.use(w.ctx, shareKey(way[:i+1]), func() (*link, error) { return p.login(w, before, h, l, asker) })
		if err != nil {
			return jumps, nil, err
		}
		l.reached(j.link)
		jumps = append(jumps, j)
		via = j.link
	}
	return jumps, via, nil
}

// releaseAll gives up the jumps of a way, the last first.
func (p *pool) releaseAll(jumps []*jump) {
	for _, j := range slices.Backward(jumps) {
		p.release(j)
	}
}

// jumpWarnings returns what there is to say about the connections to jump hosts.
func jumpWarnings(jumps []*jump) []string {
	var all []string
	for _, j := range jumps {
		all = append(all, j.link.allWarnings(true)...)
	}
	return all
}

// shareKey tells apart the ways that lead to different connections: the same hosts reached in the same manner
// with the same credentials. Nothing that came with a call is part of a jump, so callers may share it.
func shareKey(way []*hop) string {
	h := sha256.New()
	for _, hop := range way {
		anonymous := *hop
		anonymous.index, anonymous.proxy, anonymous.vouched, anonymous.lookUpErr = 0, nil, nil, nil
		anonymous.addrs, anonymous.proxyAddrs = inOrder(hop.addrs), inOrder(hop.proxyAddrs)
		_, _ = fmt.Fprintf(h, "%+v %s\n", anonymous, hop.proxy) // of the proxy, what it is and not where it lies
	}
	return string(h.Sum(nil))
}
