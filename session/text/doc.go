// Package text turns the output in a buffer into text for reading: as a whole, line by line, and the lines that match
// a pattern.
//
//	v := text.View{Buffer: buf, Cols: 80}
//	for n, line := range v.Lines(0, 100).All {
//		fmt.Printf("%d %s\n", n, line)
//	}
//
// Clean text is that of package vt: without escape sequences, with overwritten text in its last state, and safe to
// show. A [View] reads, and changes nothing; cursors count the bytes of the stream.
package text
