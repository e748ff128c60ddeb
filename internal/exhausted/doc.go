// Package exhausted tells the transports of this module which resource of this machine has run out: file descriptors,
// local ports, name servers that answer. Its errors are of package term and have the next step.
//
//	if exhausted.Descriptors(err) {
//		return exhausted.NoDescriptors("open a terminal", err)
//	}
package exhausted
