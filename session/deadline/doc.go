// Package deadline holds the time at which a command is stopped, which its callers move.
//
//	d := deadline.New(time.Minute, 10*time.Minute, stop)
//	defer d.End()
//	...
//	d.Attend() // a call waits for the command
//	d.Leave(true) // it does not any more, and its caller knows that the command goes on
//
// It starts no goroutine but that of its timer, in which stop is called once at most.
package deadline
