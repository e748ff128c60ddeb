// Package vt reads the output of a terminal as a stream. It splits the output into text and
// control sequences, converts it to clean text, and returns the last line as a screen shows
// it.
//
//	var c vt.Cleaner
//	for chunk := range output { // cut anywhere, even inside a sequence or a rune
//		os.Stdout.Write(c.Append(nil, chunk))
//	}
//	os.Stdout.Write(c.Flush(nil))
//
// The parts, each usable alone:
//
//	bytes -> Parser  -> Token            text, controls, ESC, CSI, OSC, DCS ...
//	bytes -> Cleaner -> text, Sanitized  for reading; CleanFrom for one read of many
//	                 -> Line, LastLine   the unfinished line, for prompt patterns
//	bytes -> WithoutSGR -> text          output that was not made for a terminal, without its colours
//	bytes -> Filter  -> bytes            for a terminal: sequences that draw, and no others
//	bytes -> Tracker -> Modes, Queries   the modes switched on, the questions asked
//	                 -> Marks           where a shell shows prompts (OSC 133)
//
// # Clean text
//
// Clean text is the lines that the output drew, in the order in which it finished them, each
// in its last state:
//
//   - Escape sequences are removed. A line ends with LF alone, also after CR LF. HT stays.
//     All other control characters are removed.
//   - Changes within a line are applied: BS, a CR without LF, moves within the line (CUF,
//     CUB, CHA, HPA, HPR, CHT, CBT, save and restore), erasing (EL, ED, ECH), inserting and
//     deleting characters (ICH, DCH, IRM) and repeating (REP). For example, a progress bar
//     leaves its last state.
//   - A move to another line ends the line as soon as something is drawn there, so that words
//     from different places never run together. The same holds when the output clears the
//     whole screen, scrolls by IL and DL, or switches to or from the alternate screen. None
//     of these loses text that was drawn.
//   - It is valid UTF-8. Each bad byte becomes U+FFFD. Invisible characters that can deceive
//     a reader are removed: bidirectional controls, zero-width characters, tags, most
//     variation selectors, and C1 controls.
//   - Its length is at most four times the input plus 4 KiB, for any sequences. Beyond that,
//     a jump to the right leaves one blank and REP repeats nothing.
//   - It does not depend on how the stream is cut into pieces.
//
// Sanitized counts the removals and changes.
//
// Memory is bounded. At most 4 KiB of a line are kept back for changes (8192 columns of a
// line that is being changed). A longer line is passed on, and later output cannot change the
// part already passed. A control string of any length is consumed, as in a terminal.
//
// A line longer than the terminal's width wraps, and CR then returns to the start of the row,
// not of the line. Shells rely on that when they echo a long command, and readline also moves
// down within it by LF, which must not end the line there. Set Cleaner.Cols for this to work.
// Without it a line never wraps, and the prompt that zsh or fish draws after output without a
// final LF overwrites that output.
//
// # Limits
//
// The package has no screen: it does not remember earlier lines, and a full-screen program
// appears as the pieces that it drew. Package screen has the grid. Characters have the
// columns of a UTF-8 terminal without ambiguous-width settings. Character sets (for example
// ESC ( 0) are not translated.
//
// A value of this package must not be used by two goroutines at a time.
package vt
