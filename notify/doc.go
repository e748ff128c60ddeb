// Package notify calls people: it runs a program and posts to a webhook when a session asks for a person, or ends.
//
//	n, err := notify.New(notify.Options{Command: []string{"/usr/local/bin/call-me"}})
//	defer n.Close()
//	// n is one of the observers of a session.Config
//
// A Notice says which session asks and for what, and where to answer. It has no output, no text of a question, no
// command and no secret: those stay on this machine.
//
// Guarantees:
//
//   - Observe never blocks. Each of the two ways has a bounded queue; what does not fit is counted and dropped.
//   - The program gets the notice as JSON on its standard input. Its arguments and environment have nothing of a caller
//     or a host. At most Options.AtOnce run at a time, and one that takes too long is ended with its children.
//   - The webhook is https, or http to this machine. A redirect leads to no other host. A failure is tried again with
//     growing pauses, a few times.
//   - Close waits for all programs and requests, for a short time.
package notify
