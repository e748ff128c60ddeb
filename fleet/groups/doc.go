// Package groups makes one answer of many: hosts with the same exit code and the same output are one group.
//
//	set := groups.New(groups.Options{})
//	for _, host := range hosts { // also concurrently
//		a := set.Answer(host)
//		run(host, a.Stdout, a.Stderr)
//		a.Exit(0) // or a.Fail("connect_timeout", "no answer within 10 s")
//	}
//	set.NotRun("3 hosts have failed", "web14", "web15")
//	fmt.Print(set.Report(groups.Limits{}).Text())
//
//	web[01-11] (11): exit 0
//	  listen 80;
//	  server_tokens on;
//	  root /var/www;
//	web12: exit 0, stdout differs
//	  @@ 2
//	  -server_tokens on;
//	  +server_tokens off;
//	failed: connect_timeout: web13: no answer within 10 s
//	not run: web[14-15] (2): 3 hosts have failed
//
// The largest group is shown first, with its output. Other groups are shown by their difference from it, where that
// is shorter: the changed lines, and one line around each change if the first output is long or cut.
//
// Promises:
//   - Two hosts are in one group exactly if their exit codes and all bytes of both streams are equal; with Volatile,
//     the bytes after the replacements of package mask. Streams are compared by their SHA-256, so a stream of any
//     length needs little memory, and bytes that are not kept count as well.
//   - The same answers give the same report, in whatever order they arrive.
//   - Each host is in the report, in exactly one place, also those without an answer.
//   - No output can look like a part of the report, or of another host's output: its lines are indented, and its
//     control characters are written as escapes.
package groups
