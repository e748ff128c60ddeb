// Package gotelnet runs a Caller of github.com/reiver/go-telnet over a connection of package telnet.
//
//	conn, err := telnet.Dialer{}.DialContext(ctx, "tcp", "switch1:23")
//	if err != nil {
//		return err
//	}
//	defer conn.Close()
//	gotelnet.Call(conn, reiver.StandardCaller, nil)
//
// A program written for go-telnet gets negotiation, TLS and any net.Conn that way. It is a package of its own, so that
// importers of telnet do not get go-telnet.
package gotelnet
