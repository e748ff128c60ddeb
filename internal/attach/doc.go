// Package attach has a person watch a session that an agent works in, and take its terminal for a while.
//
//	o := attach.Options{Out: os.Stdout}
//	err := attach.Watch(ctx, s, o)        // ctrl-] leaves
//	person := attach.NewPerson(os.Stdin, os.Stderr)
//	err := attach.Take(ctx, s, person, o) // ctrl-] gives it back
//
// An Attachment is the person at one session. A viewer shows the session in the person's terminal: a frame of its
// present screen first, then new output. A typist sends the person's keys.
//
// Promises:
//   - Watching changes nothing for the agent: not the output, not the size, not the lock.
//   - A taken terminal returns to the agent, also when this process is killed: the lock has a short life that only a
//     living process renews. With that lock ends the size that it got here; the server sees to that.
//   - Without Raw the output does nothing to the person's terminal except draw, and the terminal is left as it was.
package attach
