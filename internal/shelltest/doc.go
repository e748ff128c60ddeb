// Package shelltest runs lines in real shells and records their effects: the programs that ran, with their
// exact arguments, and the files that were created or changed. For example:
//
//	w := shelltest.NewWorld(tb)
//	r := w.Run(tb.Context(), shell, "show 'a b' >out")
//	// r.Ran is [["show" "a b"]], r.Files is ["out"]
//
// The only programs on PATH are recorders, which write their arguments to a log and do nothing else. One of
// them, Canary, must never run. The lines are hostile on purpose, so under root they run as a user without rights,
// and a test must not run a line for which Harmful returns true.
//
// The package also generates such lines (Lines), and reduces a failing line to its essential parts
// (Minimize).
package shelltest
