// Package screen renders the output of a terminal: it returns the picture that a person would see.
//
//	s := screen.New(80, 24)
//	for chunk := range output { // cut anywhere, even inside a sequence or a character
//		s.Write(chunk)
//	}
//	fmt.Print(s.Snapshot().Text())
//
// The parts:
//
//	bytes -> Screen.Write
//	         Screen.Snapshot   -> rows, cells with styles, cursor, title, modes
//	         Screen.Diff(since)-> a snapshot, and the rows that changed or moved
//	         Screen.Scrollback -> the last rows that left the top
//	         Screen.Replies    -> the answers of a terminal
//	Snapshot -> Render         -> numbered rows in which a selected entry is marked
//	         -> Highlights     -> the parts that stand out
//	         -> Mask           -> the same without text that must not be read
//
// # Emulation
//
// The terminal is xterm in a UTF-8 locale, as far as programs of today use it: the main and
// the alternate screen; scroll regions with margins on four sides; insert, origin and wrap
// modes; tab stops; the DEC line drawing set; colours and attributes in all spellings; wide
// characters and combining marks; links, titles, the marks of shells; synchronized output.
//
// A character has the columns that wcwidth gives it, because programs count so. A program that
// sets mode 2027 gets grapheme clusters instead.
//
// Not emulated are sixels and other images, the printer, national character sets, 8-bit
// C1 controls, palettes, rectangles (DECCRA and its kin), and 132 columns: DECCOLM clears the
// screen, and the width stays. A row of double width (DECDWL, DECDHL) has half the columns, with
// one character in each.
//
// # Promises
//
//   - The screen does not depend on how the output is cut into pieces.
//   - Write never blocks and never fails. It starts nothing and answers nothing. The time that
//     it takes is proportional to the input, times at most the size of the screen.
//   - Memory does not depend on the input: 16 bytes per cell, the alternate screen only while
//     it is shown, at most 200 rows and 64 KiB of scrollback, and bounded stores for marks,
//     links and titles.
//   - While a program draws a frame between DECSET 2026 and DECRST 2026, readers see the frame
//     before it, for at most a second.
//   - The size is between 1 x 1 and 1000 x 1000.
//
// A Screen must not be used by two goroutines at a time. A Snapshot may be, except for calls of Mask.
package screen
