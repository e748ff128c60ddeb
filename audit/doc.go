// Package audit keeps a log of all actions and their callers: one line of JSON for each action, chained by hashes.
//
//	log, err := audit.Open(audit.Options{Path: "/var/log/ptyctl/audit.jsonl"})
//	...
//	sessions := session.NewManager(session.Config{
//		Observers: []term.Observer{log}, // the outcome of each action
//		Journal:   log.Journal,          // fail closed: no action without an entry
//	})
//	...
//	err = log.Close()
//
// The field "prev" of each line holds the SHA-256 of the line before it, without its line
// end. The first line of a file (event "file") continues the file before it, so the chain
// survives rotation. Verify checks the chain. It detects changed, added and removed
// lines. It cannot detect a cut at the end, or a log that was rewritten from its start by
// a user who may write the file; to detect those, keep the hash of a line elsewhere and
// pass it to Verify.
//
// Typed text must never be in the log, only its length. The text of commands is in the log, after secrets are removed
// as well as patterns can recognize them; see Commands.
//
// Several processes on one machine may write the same file: on Unix systems each takes an
// flock(2) on it for every batch of lines. One goroutine of a Log owns the file. All
// others send it lines through a bounded queue; lines that do not fit are counted, and
// the count is written to the log.
package audit
