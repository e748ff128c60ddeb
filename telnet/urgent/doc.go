// Package urgent has the TCP urgent data of a Telnet client, which marks an interrupt
// (RFC 854, "SYNCH"). For example:
//
//	dialer := net.Dialer{Control: urgent.Keep} // leave urgent bytes in the stream
//	err := urgent.Send(conn, []byte{iac, dm})  // the last byte is urgent
//
// A StrayDataMark removes the byte that is left of a server's data mark where a host in between has
// lost the urgent byte. The package knows sockets and one byte, and no Telnet option.
package urgent
