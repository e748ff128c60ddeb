// Package frame gives a screen the form in which the watch page gets it: rows of text and styles as JSON, and of a
// later screen only the rows that differ.
//
//	f := frame.Of(now, partial)
//	line, changed := f.AppendPatch(nil, before) // before nil: all of it
//
// Promises:
//
//   - A frame is immutable, so any number of watchers may share one. The last frame of a watcher is one pointer.
//   - Rows hold text and numbers of colours. Nothing of them is markup or a sequence of a terminal.
package frame
