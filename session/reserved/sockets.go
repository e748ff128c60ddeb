package reserved

import (
	"sync"
	"syscall"

	"ptyctl/term"
)

// Sockets are those of a session's connections that are held while it has its device: see term.Hold.
type Sockets struct {
	mu       sync.Mutex // guards the following
	releases []func()
}

// Hold is the term.Hold of the session's dials: each socket is also released when the connection has been closed.
func (k *Sockets) Hold(by term.Hold) term.Hold {
	return func(socket syscall.Conn) (func(), error) {
		release, err := by(socket)
		if err != nil {
			return nil, err
		}
		k.mu.Lock()
		defer k.mu.Unlock()
		k.releases = append(k.releases, release)
		return release, nil
	}
}

// None reports whether no socket is held.
func (k *Sockets) None() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return len(k.releases) == 0
}

// Release releases the sockets. Their connections must have been closed.
func (k *Sockets) Release() {
	k.mu.Lock()
	all := k.releases
	k.releases = nil
	k.mu.Unlock()
	for _, f := range all {
		f()
	}
}
