// Package audit keeps a log of who did what: one line of JSON for each action, chained by hashes.
//
//	log, err := audit.Open(audit.Options{Path: "/var/log/ptyctl/audit.jsonl"})
//	...
//	sessions := session.NewManager(session.Config{
//		Observers: []term.Observer{log}, // what became of each action
//		Journal:   log.Journal,          // fail-closed: only if it could be written down before
//	})
//	...
//	err = log.Close()
//
// Each line holds in "prev" the SHA-256 of the line before it, without its line end. The first line of a file (event
// "file") continues the file before it, so that the chain goes on over rotation. Verify checks it. A chain shows that
// something was changed or removed inside it. It cannot show that its end was cut off, or that somebody who may write
// the file made all of it anew: for that, keep the hash of a line elsewhere, and give it to Verify.
//
// What is typed is never in the log, only how many bytes it was. The text of commands is, with what looks like a secret
// taken out as well as patterns can tell; see Commands.
//
// Several processes of one machine may write the same file: on Unix systems each takes an flock(2) on it for every batch
// of lines. One goroutine of a Log owns the file; everything else hands it lines through a bounded queue, and what does
// not fit there is counted, and the count written down.
package audit
