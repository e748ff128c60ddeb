package fleet

import (
	"sync"
	"time"

	"ptyctl/term"
)

// How long a connection that no run uses is kept for the next one, and the most of them.
const (
	idleTime = 30 * time.Second
	maxIdle  = 100
)

// A way is how a caller reaches a host: runs of one way may share a connection, one after the other.
type way struct {
	by   term.Principal
	plan string // hops with their addresses, host key policies and credentials
}

// An idling is a connection that no run uses.
type idling struct {
	conn   term.Transport
	way    way
	forget func()      // called when it is closed, or used again
	over   *time.Timer // closes it
}

// An idleSet keeps connections between runs. The zero value is ready to use.
type idleSet struct {
	closing sync.WaitGroup // the connections that close

	mu     sync.Mutex // guards the following
	kept   []*idling  // the oldest first
	closed bool
}

// take returns a connection of that way that still works, or nil, and the function that put got with it.
func (s *idleSet) take(w way) (conn term.Transport, forget func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := 0; i < len(s.kept); {
		one := s.kept[i]
		if one.way != w || !one.over.Stop() { // or it is about to be closed
			i++
			continue
		}
		s.kept = append(s.kept[:i:i], s.kept[i+1:]...)
		if !lost(one.conn) {
			return one.conn, one.forget
		}
		s.closing.Go(one.close)
	}
	return nil, nil
}

// close closes the connection.
func (i *idling) close() {
	_ = i.conn.Close()
	i.forget()
}

// put keeps a connection for a while, or closes it. forget is called when it is closed, or by the one who takes it.
func (s *idleSet) put(w way, conn term.Transport, forget func()) {
	one := &idling{conn: conn, way: w, forget: forget}
	if lost(conn) || !s.keep(one) {
		one.close()
	}
}

// keep reports whether there is room for the connection.
func (s *idleSet) keep(one *idling) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || len(s.kept) >= maxIdle {
		return false
	}
	one.over = time.AfterFunc(idleTime, func() { s.expire(one) })
	s.kept = append(s.kept, one)
	return true
}

// expire closes a connection at the end of its idle time.
func (s *idleSet) expire(one *idling) {
	s.mu.Lock()
	found := false
	for i := range s.kept {
		if s.kept[i] == one {
			s.kept = append(s.kept[:i:i], s.kept[i+1:]...)
			found = true
			break
		}
	}
	if found {
		s.closing.Add(1) // before close may wait
	}
	s.mu.Unlock()
	if found {
		defer s.closing.Done()
		one.close()
	}
}

// close closes all connections, and waits for that.
func (s *idleSet) close() {
	s.mu.Lock()
	s.closed = true
	kept := s.kept
	s.kept = nil
	for _, one := range kept {
		one.over.Stop()
		s.closing.Go(one.close)
	}
	s.mu.Unlock()
	s.closing.Wait()
}

// lost reports whether a connection has ended.
func lost(conn term.Transport) bool {
	o, ok := conn.(term.Outliver)
	return ok && o.Lost() != nil
}
