// Package transcript records what passes over a connection to a Telnet server, and reads such recordings, so that
// a test can play the server without having it.
//
//	rec := transcript.Record(conn)           // a net.Conn that remembers
//	client := telnet.NewConn(rec, config)
//	rec.Did("write", "show version\r")       // before client.Write: what the user does next
//	...
//	err := os.WriteFile(name, rec.Bytes(), 0o644)
//
// The file is text, one event a line, in the order in which they happened:
//
//	# what server this is, its version, how it was started
//	: term xterm-256color
//	: size 120 40
//	< fffb01 fffb03
//	! write "show version\r"
//	> fffd01fffd03
//	= "r1> "
//
//	#  a comment
//	:  a setting of the client: term NAME, size COLS ROWS, nowindow, binary auto|always|never, enter auto|cr|crlf|crnul|lf,
//	   mode auto|telnet|raw, env NAME VALUE
//	<  bytes from the server, in hex; spaces do not count. A line is what one read returned, so that cuts are kept
//	>  bytes from the client, likewise
//	!  what the user did: write "TEXT" (as Go writes it), resize COLS ROWS, key NAME, eof (the server closed)
//	=  data that the user got, as Go writes it
//
// Settings come before the first event. Whoever plays a recording compares what all > lines, and all = lines, amount
// to: answers and reads may fall together or apart.
package transcript
