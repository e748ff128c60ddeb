// Package exhausted says what this machine has none left of, to the transports of this module: file descriptors, local
// ports, name servers that answer. Its errors are of package term and have the next step.
//
//	if exhausted.Descriptors(err) {
//		return exhausted.NoDescriptors("open a terminal", err)
//	}
package exhausted
