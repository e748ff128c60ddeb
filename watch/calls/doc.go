// Package calls keeps the last calls of each session in memory, as the watch page shows them.
//
//	log := calls.New(calls.Options{})
//	manager := session.NewManager(session.Config{Observers: []term.Observer{log}})
//	log.Answered(serial, result, failed) // by the server, with each result
//	list := log.Since(id, 0)
//
// Promises:
//
//   - Typed text is in no entry: of an input there is the number of bytes, and the names of keys.
//   - The line of a command has the form that it has in the audit log.
//   - Of a session at most 200 entries and 256 KiB of results are kept, and nothing once it is forgotten. Nothing is
//     written to a file.
//   - Reads of a person are not entries: watching leaves no trace here.
package calls
