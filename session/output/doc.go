// Package output keeps the output of a command, and knows the question that a reader waits for.
//
//	st := output.NewStream(1<<20, nil, nil)
//	go io.Copy(st, channel)
//	...
//	e := st.Excerpt(16 << 10) // the start and the end of all that was written
//
// A [Stream] never makes its writer wait: bytes that do not fit are dropped from its middle, and counted. [Waits]
// looks for a question in the unfinished last line. Neither ends inside a rune that may still be completed; see
// [vt.PartialRune].
//
// The package starts no goroutine and knows no session.
package output
