// Package snapshot keeps texts of a session by name, to compare them with later ones.
//
//	kept := snapshot.New(pool)
//	err := kept.Keep(snapshot.Snapshot{Name: "before", Command: "show running-config", Text: text})
//	before, ok := kept.Get("before")
//
// Promises:
//   - A Set holds at most Most texts of at most MaxBytes each, whose memory the pool counts.
//   - No text is dropped for another: a new one is refused when there is no room. One of a name that is known takes the
//     place of the old one.
package snapshot
