// Package output keeps what a command writes, and finds in the output of a command or terminal what a reader waits for.
//
//	st := output.NewStream(1<<20, nil, nil)
//	go io.Copy(st, channel)
//	...
//	e := st.Excerpt(16 << 10) // the start and the end of all that was written
//
// A [Stream] never makes its writer wait: what does not fit is dropped from its middle, and counted. A [Finder] finds a
// regular expression in a buffer that is still written to. It finds the same match however the output was cut into
// writes, and its cost is proportional to what arrives. Neither ends inside a rune whose rest may follow; see
// [PartialRune].
//
// The package starts no goroutine and knows no session.
package output
