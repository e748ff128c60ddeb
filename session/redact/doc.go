// Package redact takes the echo of secrets out of a terminal's output.
//
//	out := redact.New(accept, spawn)
//	e, err := out.Expect(password) // before it is typed
//	e.Sending()
//	...                            // type it
//	e.Sent()
//	out.Write(received)            // accept gets the output, with Mask in place of the echo
//
// A terminal may cut an echo anywhere, wrap it at its right edge, or send it late; the output is cut anywhere, too.
// So bytes that may begin an echo wait up to 200 ms for the rest. A secret is a line of the input; a line of control
// characters only is keys, and no secret.
//
// Any number of goroutines may call a Stream's methods. Its mutexes are locked in the order in which the struct lists
// them. While no echo is expected, Write costs one atomic load.
package redact
