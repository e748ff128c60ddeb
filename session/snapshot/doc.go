// Package snapshot keeps texts of a session by name, to compare them with later ones.
//
//	kept := snapshot.New(pool)
//	err := kept.Keep(snapshot.Snapshot{Name: "before", Command: "show running-config", Text: text})
//	before, ok := kept.Get("before")
//
// Promises:
//   - A Set holds at most Most texts of at most MaxBytes each. The pool counts their memory.
//   - No text is dropped for another: a new one is refused when there is no room. A text with a known name replaces
//     the old one.
package snapshot
