// Package telnet is a Telnet client: RFC 854 with the options that terminals, network devices and console servers
// use, over any net.Conn.
//
//	conn, err := telnet.Dialer{}.DialContext(ctx, "tcp", "router1:23")
//	defer conn.Close()
//	conn.Write([]byte("show version\r")) // "\r" is the enter key
//	n, err := conn.Read(p)               // data only: commands are answered and taken out
//
// From the wire to the terminal:
//
//	Decoder    bytes to data and Events, in place, whatever the reads cut in two
//	engine     what is agreed (RFC 1143) and what is answered; knows no connection and no clock but time.Now
//	Conn       a net.Conn: Read decodes, Write encodes; break, window size, serial line (RFC 2217), probes
//	Dialer     dns, tcp or the caller's own way, tls, and the wait until negotiation has settled
//	Terminal   a Conn as a term.Transport
//
// A Conn begins as if the far side were no Telnet server: bytes go as they are, and Enter is CR. The first Telnet
// command changes that. We offer nothing unasked, so that a raw TCP port stays undisturbed, and never send a command
// that is not asked for: some devices take the byte after it as part of it.
//
// What it promises:
//
//   - Read keeps every data byte, except NUL from a server that speaks Telnet and has not agreed to send BINARY. Nothing
//     that the far side sends makes it fail, but negotiation without end (term.NegotiationLoop).
//   - What the far side can make us send is bounded in rate and in size, and Read never waits for it to be taken.
//   - A command is never written into the middle of a Write, and a Write is one write of the connection below.
//   - No environment variable is sent that the Config does not name.
package telnet
