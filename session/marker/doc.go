// Package marker makes the line that is typed for a command, and finds the command's output and exit status in the
// terminal's output.
//
//	m := marker.New("", "")
//	line := m.Line(sh, "make test") // type it, with a CR
//	sc := marker.NewScanner(m)
//	out = sc.Feed(out, received)    // the command's output, and nothing else
//	status, ok := sc.Status()       // ok: the command has ended
//
// The line prints a marker with a random nonce before and after the command. The typed line spells it in octal, so
// that the terminal's echo never looks like the marker. A far side that takes no marker, such as a network device,
// gets the line as it is; [Echo] then takes the echo out of the output.
//
// The package does no I/O.
package marker
