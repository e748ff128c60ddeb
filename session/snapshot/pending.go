package snapshot

import "slices"

// mostPending is how many commands of snapshots a Set remembers while they run.
const mostPending = 32

// A pending is a command that prints the text of a snapshot, and goes on.
type pending struct{ exec, command string }

// Await remembers the command of an exec that goes on after its call.
func (s *Set) Await(exec, command string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.freed || slices.ContainsFunc(s.running, func(p pending) bool { return p.exec == exec }) {
		return
	}
	s.running = append(s.running, pending{exec, command})
	s.running = s.running[max(len(s.running)-mostPending, 0):]
}

// Awaited returns the command of an exec that Await was called for; "": of none.
func (s *Set) Awaited(exec string) (command string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range s.running {
		if p.exec == exec {
			return p.command
		}
	}
	return ""
}
