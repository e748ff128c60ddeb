// Package telnet is a Telnet client: RFC 854 with the options that terminals, network devices and console servers
// use, over any net.Conn.
//
//	conn, err := telnet.Dialer{}.DialContext(ctx, "tcp", "router1:23")
//	defer conn.Close()
//	conn.Write([]byte("show version\r")) // "\r" is the Enter key
//	n, err := conn.Read(p)               // data only: commands are answered and removed
//
// From the wire to the terminal:
//
//	Decoder    splits bytes into data and Events, in place, for reads cut anywhere
//	engine     option states (RFC 1143) and answers; no connection, no clock but time.Now
//	Conn       a net.Conn: Read decodes, Write encodes; break, window size, serial line (RFC 2217), probes
//	Dialer     dns, tcp or the caller's Dial, tls, and the wait until negotiation has settled
//	Terminal   a Conn as a term.Transport
//
// A Conn begins as if the peer did not speak Telnet: bytes are sent unchanged, and Enter is CR. The
// peer's first Telnet command changes that. The package offers no option unasked, so that a raw
// TCP port is not disturbed, and sends no command unless the caller or the server asks for it: some
// devices take the byte after a command as part of it.
//
// The package guarantees:
//
//   - Read keeps every data byte, except NUL from a server that speaks Telnet and has not
//     agreed to send BINARY. No input from the peer makes Read fail, except endless
//     negotiation (term.NegotiationLoop).
//   - The answers to the peer are limited in rate and size, and Read never waits for the peer
//     to read them.
//   - A command is never written inside a Write, and a Write is one write of the underlying
//     connection.
//   - No environment variable is sent that the Config does not name.
package telnet
