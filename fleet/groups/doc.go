// Package groups tells many answers to one command as few: hosts with the same exit code and the same output are one
// group.
//
//	set := groups.New(groups.Options{})
//	for _, host := range hosts { // also concurrently
//		a := set.Answer(host, host) // a.Stdout and a.Stderr are writers
//		run(host, a.Stdout, a.Stderr)
//		a.Exit(0) // or a.Fail("connect_timeout", "…")
//	}
//	fmt.Print(set.Report().Text())
//
//	web[01-11] (11): exit 0
//	  nginx 1.24
//	web12: exit 0, stdout differs
//	  -nginx 1.24
//	  +nginx 1.18
//	failed: connection_refused: web13
//	not run: web[14-20]
//
// Promises:
//   - Two hosts are in one group exactly if their exit codes and all bytes of both streams are equal, masked ones with
//     Volatile. Streams are compared by their SHA-256, so that a stream of any length needs little memory.
//   - The same answers give the same report, in whatever order they arrived.
//   - Lines of output are indented and their control characters shown: no output looks like another host's.
package groups
