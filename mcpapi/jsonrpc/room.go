package jsonrpc

import (
	"fmt"
	"sync"
)

// smallMessage is the size, in bytes, up to which a message needs no room: a message that ends or cancels something
// must always be served.
const smallMessage = 64 << 10

// A Room limits the memory of the requests in flight, of all transports together: an argument is copied several times
// until a call is answered. A nil Room has no limit.
type Room struct {
	Whose string // owner of the memory, as refusals name it; empty: the control group

	most int64 // bytes of all large messages

	mu    sync.Mutex
	taken int64 // guarded by mu
}

// NewRoom returns a Room for the given number of bytes of messages.
func NewRoom(most int64) *Room { return &Room{most: most} }

// Full says why a message has no room, for its sender.
func (r *Room) Full() string {
	whose, part := r.Whose, ""
	if whose == "" {
		whose, part = "the control group", " (a 32nd of memory.max)"
	}
	return fmt.Sprintf("%s has memory for %d bytes of large requests in flight%s; "+
		"wait for an answer or cancel one, then send this again, or send less in one message", whose, r.most, part)
}

// Take reports whether there is room for a message of size bytes, and keeps that room until leave is called. A message
// that is too large for the whole room has room while no other large one is in flight.
func (r *Room) Take(size int64) (leave func(), ok bool) {
	if r == nil || size <= smallMessage {
		return func() {}, true
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.taken > 0 && r.taken+size > r.most {
		return nil, false
	}
	r.taken += size
	return sync.OnceFunc(func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.taken -= size
	}), true
}
