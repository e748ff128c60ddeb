// Package record keeps recordings of sessions: asciicast v3 files that players show, that can be searched, and that
// reveal changes.
//
//	f, err := os.OpenFile("web1.cast", os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
//	...
//	r := record.New(f, record.Options{})
//	s := session.New(transport, session.Options{Observers: []term.Observer{r}})
//	...
//	err = r.Close() // after the session has ended
//
// [New] records one session. A [Dir] records all sessions of a program into a folder, and calls without a session
// into one more recording, within limits of size, number and age. [Encrypted] makes a writer that encrypts. [Open]
// reads a recording; [Verify], [Search], [Text], [V2] and [SVG] use it.
//
// # The contents of a recording
//
//   - The output of the terminal as it came, with an asterisk for each column of a secret that was echoed.
//   - The size of the terminal, and its changes.
//   - A marker for each action: the action, the caller and the outcome. Typed text is never in it, only its length.
//   - Commands beside the terminal: the line, the start and the end of their output, and their status. They are drawn
//     on a screen of their own, which a player shows while there is something new on it; then the terminal's comes back.
//   - A marker where anything is missing, and how much.
//
// Bytes that are not UTF-8 become U+FFFD, because asciicast is JSON; the last seal says how many.
//
// # Seals
//
// A seal is a comment line with the SHA-256 of everything since the seal before, and of that seal. It is written
// every 128 KiB (256 KiB if it is encrypted) or 5 seconds, and at the end. [Verify] checks the chain. A user who can
// write the file can also write a new chain, so [Options.Sealed] is there to keep the newest seal elsewhere, for
// example in the audit log.
//
// A process that is killed leaves a file that is whole up to its last seal; players show the rest, too. An encrypted
// recording ends there.
//
// # Cost
//
// A Recorder never makes a session wait: it has a bounded queue and a goroutine that writes. The file is forced to disk
// at seals only, at most once a second.
package record
