// Package await waits for several sessions at once: until one of them fulfils its condition, or all do.
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
