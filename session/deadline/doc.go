// Package deadline holds the time at which a command is stopped. Callers of the command move it.
//
//	d := deadline.New(time.Minute, 10*time.Minute, stop)
//	defer d.End()
//	...
//	d.Attend() // a call waits for the command
//	d.Leave(true) // the call ends, and its caller knows that the command still runs
//
// Its only goroutine is that of its timer, which calls stop once at most.
package deadline
