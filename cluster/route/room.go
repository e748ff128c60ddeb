package route

import "sync"

// A room bounds the bytes that wait here: those of each node, so that none takes the room from the others, and all.
type room struct {
	most, each int

	mu  sync.Mutex // guards the following
	all int
	of  map[string]int
}

func newRoom(most, each int) *room { return &room{most: most, each: each, of: make(map[string]int)} }

// take reports whether there is room for n more bytes of a node, which it then has until give.
func (r *room) take(node string, n int) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.all+n > r.most || r.of[node]+n > r.each {
		return false
	}
	r.all += n
	r.of[node] += n
	return true
}

// give gives n bytes of a node back.
func (r *room) give(node string, n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.all -= n
	if r.of[node] -= n; r.of[node] <= 0 {
		delete(r.of, node)
	}
}
