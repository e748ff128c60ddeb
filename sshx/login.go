package sshx

import (
	"context"
	"errors"
	"net"
	"strconv"
	"sync"
	"time"

	"ptyctl/sshx/mux"
	"ptyctl/sshx/plan"
	"ptyctl/sshx/reach"
	"ptyctl/term"
)

// The attempts, and the first pause between them, for a server that closes the
// connection before it has identified itself. An sshd does that to connections
// beyond MaxStartups.
const (
	startupRetries = 4
	startupPause   = 100 * time.Millisecond
)

// login connects to h, through via if there is a hop before, and authenticates.
// It tries again if the server had no room for the connection, and once if the
// server hung up after several of our keys.
func (p *pool) login(w *watchdog, via *mux.Link, h *plan.Hop, l *steps, asker term.Prompter) (*mux.Link, error) {
	done, err := p.turn(w.ctx, h.Address())
	if err != nil {
		return nil, err
	}
	done = sync.OnceFunc(done)
	defer done()
	// A login that waits for a person has no turn: it may wait for minutes, and none of the others for it.
	if asker != nil {
		asker = patient{asker, done}
	}
	pause := startupPause
	for try := 1; ; try++ {
		k, err := attempt(w, via, h, l, asker)
		if err == nil {
			return k, nil
		}
		var again *retry
		if errors.As(err, &again) {
			l.end(false, again.step())
		}
		switch {
		case again == nil:
			return nil, err
		// The server counts failed keys (MaxAuthTries): the next attempt starts
		// after them.
		case again.refusedKeys != nil && h.Cred.Refused == nil:
			skipping := *h
			skipping.Cred.Refused, skipping.Cred.Offered = again.refusedKeys, again.offered
			h = &skipping
		case again.noRoom && try <= startupRetries:
			select {
			case <-time.After(pause):
				pause *= 2
			case <-w.ctx.Done():
				if w.expired() {
					return nil, again.err // more useful than a timeout
				}
				return nil, context.Cause(w.ctx)
			}
		default:
			return nil, again.err
		}
	}
}

// A patient Prompter ends the turn of its login before it asks.
type patient struct {
	term.Prompter
	done func()
}

// Prompt implements term.Prompter.
func (p patient) Prompt(ctx context.Context, q term.Prompt) (string, error) {
	p.done()
	return p.Prompter.Prompt(ctx, q)
}

// A retry is an error after which another attempt may succeed.
type retry struct {
	err         error
	noRoom      bool
	refusedKeys []string // fingerprints the server has seen and refused
	offered     []string // their names
}

// step is the detail of the failed step. The words of the server are in the error of the last attempt.
func (r *retry) step() string {
	if r.noRoom {
		return "the server closed the connection"
	}
	return "the server ended the login after " + strconv.Itoa(len(r.refusedKeys)) + " keys"
}

func (r *retry) Error() string { return r.err.Error() }
func (r *retry) Unwrap() error { return r.err }

// attempt makes one connection to h and logs in.
func attempt(w *watchdog, via *mux.Link, h *plan.Hop, l *steps, asker term.Prompter) (*mux.Link, error) {
	there := w.within(h.Within)
	defer there()
	raw, err := connectTo(w, via, h, l)
	if err != nil {
		return nil, err
	}
	k, err := handshake(w, raw, h, l, asker, there)
	if program, ok := raw.(interface{ Said() string }); ok {
		l.note(reach.StepProxy, program.Said())
	}
	return k, err
}

// connectTo connects to h, through via if there is a hop before.
func connectTo(w *watchdog, via *mux.Link, h *plan.Hop, l *steps) (net.Conn, error) {
	if via != nil {
		return dialThrough(w, via, h, l)
	}
	return h.Reach(w.ctx, l)
}

// dialThrough connects to the next hop through the link before it.
func dialThrough(w *watchdog, via *mux.Link, h *plan.Hop, l *steps) (net.Conn, error) {
	l.Begin(reach.StepTCP)
	conn, err := via.Dial(w.ctx, h.Host, h.Port)
	if err != nil {
		return nil, err
	}
	l.Address("via " + via.Name)
	return conn, nil
}
