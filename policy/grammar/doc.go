// Package grammar reads a line for a shell and prints it again.
//
//	list, err := grammar.Parse(text)                    // the closed grammar
//	line, err := grammar.Dialect{Class: "fish"}.List(list)
//
// [Parse] accepts only constructs that mean the same in every shell once they are printed, and denies all others by
// name, with advice. The text that [Dialect] prints runs, so the parser need not agree with any shell.
//
// [ParseShell] accepts any line, as a POSIX shell or bash would. Its words
// become a [Word] each: text with a [Hole] for each part that is unknown before
// the line runs. A [Wildcard] is matched against such text, for some value of
// the holes or for every one.
//
// Errors are of type *[Refusal]. The package knows no rule, runs nothing and
// keeps no state.
package grammar
