package session

import (
	"os"
	"sync"

	"ptyctl/term"
)

// reservedDescriptors is how many file descriptors must be free before a session opens: those of the connection
// itself, and of the files that are read meanwhile to decide about it (ssh_config, known_hosts, keys).
const reservedDescriptors = 12

// descriptors keeps a Manager's sessions from using up the file descriptors of the process. What runs out of them
// half way fails in places that are hard to understand; a call that is refused before it begins changes nothing.
//
// The zero value is ready to use.
type descriptors struct {
	mu sync.Mutex // held while the reserve is probed, so that two probes do not take it from each other
}

// check refuses what needs descriptors unless the reserve is free. The only way to know that on all systems is to
// open as many files, which are closed at once: it costs some microseconds.
func (d *descriptors) check() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	for range reservedDescriptors {
		f, err := os.Open(os.DevNull)
		if term.OutOfDescriptors(err) {
			e := term.NoDescriptors("there is no room for another session", err)
			e.Op = "open"
			return e
		}
		if err != nil {
			return nil // a system without the device, for example a container: no fault of the call
		}
		defer func() { _ = f.Close() }()
	}
	return nil
}
