// Package shelltest runs lines in real shells and records what they did: the programs that ran with their exact
// arguments, and the files that appeared or changed.
//
//	w := shelltest.NewWorld(tb)
//	r := w.Run(tb.Context(), shell, "show 'a b' >out")
//	// r.Ran is [["show" "a b"]], r.Files is ["out"]
//
// A line finds no program but recorders on its PATH, each of which writes its arguments down and does nothing. One of
// them, Canary, is the program that nothing should ever run. The lines are hostile by purpose: as root they run as
// nobody, and Harmful says which ones a test must not run at all.
//
// The package also makes such lines (Lines), and cuts a line that fails to what is needed (Minimize).
package shelltest
