// Package await waits at several sessions at once: for the first that has something to say, or for all of them.
//
//	results, err := await.Any(ctx, []await.Entry{
//		{Session: build, Exec: id, Ends: true},
//		{Session: log, Read: session.ReadRequest{Cursor: session.Latest, Until: regexp.MustCompile("ERROR")}},
//	})
//
// Guarantees:
//
//   - Each entry is a waiting read, and counts as one among those that may wait at a time.
//   - An entry that is not met changes nothing: its output stays to be read, from the same cursor.
//   - Nothing polls, and every goroutine has ended when Any or All returns.
package await
