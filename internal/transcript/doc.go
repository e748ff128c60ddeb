// Package transcript records the data of a connection to a Telnet server, and reads such
// recordings, so that a test can play the server without access to it. For example:
//
//	rec := transcript.Record(conn)           // a net.Conn that records
//	client := telnet.NewConn(rec, config)
//	rec.Did("write", "show version\r")       // before client.Write: the user's next action
//	...
//	err := os.WriteFile(name, rec.Bytes(), 0o644)
//
// The file is text with one event per line, in the order of time:
//
//	# the server, its version, how it was started
//	: term xterm-256color
//	: size 120 40
//	< fffb01 fffb03
//	! write "show version\r"
//	> fffd01fffd03
//	= "r1> "
//
//	#  a comment
//	:  a setting of the client: term NAME, size COLS ROWS, nowindow, binary auto|always|never,
//	   enter auto|cr|crlf|crnul|lf, mode auto|telnet|raw, env NAME VALUE
//	<  bytes from the server in hex, with optional spaces. A line is the result of one read, so that cuts are kept
//	>  bytes from the client in hex
//	!  the user's action: write "TEXT" (as a Go string), resize COLS ROWS, key NAME, eof (the server closed)
//	=  data for the user, as a Go string
//
// Settings must come before the first event. A test that plays a recording should compare the joined data of all >
// lines, and of all = lines, because answers and reads may be cut differently.
package transcript
