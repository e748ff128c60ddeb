// Package saved keeps the answers of many hosts to a command, in memory or in a file, and compares two of them host by
// host: before and after a change.
//
//	err := saved.Write(f, run.Answers())
//	...
//	before, err := saved.Read("before.json")
//	set, n := saved.Changes(before, run.Answers(), groups.None)
//	fmt.Print(set.Report(groups.Limits{}).Text())
//
// A file is JSON. An output that several hosts have given is in it once, under its SHA-256; of a long one it has the
// start and the end, as a run keeps them. It may hold whatever the hosts have printed: its creator gives it a mode.
//
// Promises:
//   - A file has at most MaxFile bytes. Outputs for which there is no room have their length and hash alone.
//   - Read believes no file: its result keeps the rules of Answers, or it returns an error.
package saved
