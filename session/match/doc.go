// Package match finds a regular expression in the output of a terminal while it arrives.
//
//	s := match.New(buf, match.Options{Pattern: match.Compile(re), From: cursor})
//	for {
//		changed := buf.Changed()
//		if start, stop, ok := s.Look(); ok {
//			return buf.At(cursor, int(stop-cursor))
//		}
//		<-changed
//	}
//
// Every byte is looked at once, wherever the stream is cut: a [Stream] keeps the state of an automaton, not a window
// that it searches again. The automaton is built of the expression while it runs (a lazy DFA), so its time is linear
// in the output for any expression. Package regexp then says where the match begins.
//
// The stream is searched as bytes or as clean text (see package vt). Offsets always count the bytes.
//
// # Anchors
//
// The start of a search is not the start of the stream, so ^ and \A mean the start of a line, with or without (?m).
// Without (?m), $ and \z mean the end of the output so far, as in a pattern for a prompt. Where no prompt can be meant
// they mean the end of any line: behind a letter or a digit (DONE$), and in a pattern for a whole line, from ^ to $
// without a wildcard such as . or \S (^=====$).
//
// # Echoes
//
// A terminal shows typed text. With Options.Echo, the lines that show it do not match: neither the echo of the
// terminal driver nor the one of a line editor, even if both come.
//
// # Dropped output
//
// The buffer drops its oldest bytes when it is full. [Stream.Unsearched] counts the bytes dropped before the search
// got to them.
package match
