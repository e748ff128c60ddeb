// Package vt reads the output of a terminal as a stream: it cuts it into text
// and control sequences, makes clean text of it, and knows the last line as a
// person sees it.
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
//	bytes -> Filter  -> bytes            for a person's terminal: what draws, and nothing else
//	bytes -> Tracker -> Modes, Queries   what the far side has switched on or asked
//
// # What clean text is
//
// The lines that the output drew, in the order in which it finished them, each
// as it stood then:
//
//   - Escape sequences are gone. A line ends with LF alone, whether it came as LF
//     or CR LF. HT stays. All other control characters are gone.
//   - What a line does to itself is applied: BS, a CR without LF, moves within the
//     line (CUF, CUB, CHA, HPA, HPR, CHT, CBT, save and restore), erasing (EL, ED,
//     ECH), inserting and deleting characters (ICH, DCH, IRM) and repeating (REP).
//     So of a progress bar the last state is left.
//   - A move to another line ends the line once something is drawn there, so that
//     words from different places never run together. The same holds for clearing
//     the whole screen, scrolling by IL and DL, and switching to or from the
//     alternate screen: text that was drawn is never lost by them.
//   - It is valid UTF-8. Each bad byte becomes U+FFFD. Characters that cannot be seen
//     and can deceive are gone: bidirectional controls, zero-width characters,
//     tags, most variation selectors, and C1 controls.
//   - It is not longer than four times what was read, plus 4 KiB, whatever the
//     sequences demand: where that is used up, a jump to the right leaves one
//     blank and REP repeats nothing.
//   - It does not depend on how the stream was cut into pieces.
//
// Sanitized counts what was taken out or changed.
//
// Memory is bounded. At most 4 KiB of a line is kept back to be changed (8192
// columns of one that is being changed); what is longer is passed on, and nothing
// can change it any more. A control string of any length is swallowed, as a
// terminal does.
//
// Lines longer than the terminal is wide wrap there, and CR then goes back to the
// start of the row, not of the line. Shells rely on that when they echo a long
// command, and readline also moves down within it by LF, which then ends nothing.
// Set Cleaner.Cols to have it right; without it a line never wraps, and what zsh and
// fish draw over output that did not end with LF is taken for an overwriting of it.
//
// # What it is not
//
// There is no screen here: nothing remembers the lines above, and a full-screen
// program comes out as the pieces that it drew. Package screen has the grid.
// Columns of characters are those of a UTF-8 terminal without ambiguous-width
// settings. Character sets (ESC ( 0 and so on) are not translated.
//
// Nothing in this package may be used by two goroutines at a time.
package vt
