package integration

import (
	"io"
	"net"
	"testing"

	"ptyctl/internal/leaktest"
	"ptyctl/internal/sshserver"
)

// listen answers each connection to a port of the loopback address with behave, and closes it when behave has returned
// and the client has gone, or the test is over.
func listen(tb testing.TB, behave func(net.Conn)) (port int) {
	tb.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			behave(conn)
			conn.Close()
		}
	}()
	tb.Cleanup(func() {
		l.Close()
		<-done
	})
	return portOf(tb, l.Addr().String())
}

// The ways in which a port can be no SSH server. Each returns when the client has gone.
func silent(c net.Conn)     { io.Copy(io.Discard, c) }
func halfBanner(c net.Conn) { io.WriteString(c, "SSH-2.0-Open"); io.Copy(io.Discard, c) }
func closing(net.Conn)      {}
func speaksHTTP(c net.Conn) {
	c.Read(make([]byte, 256)) // a web server answers when it has got a line
	io.WriteString(c, "HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain\r\nConnection: close\r\n\r\nbad request\n")
}

// serve starts an SSH server within the test.
func serve(tb testing.TB, c sshserver.Config) *sshserver.Server {
	tb.Helper()
	for _, password := range c.Passwords {
		leaktest.Secret(tb, password)
	}
	c.Shell = "/bin/sh"
	s, err := sshserver.Listen(c)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { s.Close() })
	return s
}
