package lab

import (
	"io"
	"net"
	"testing"

	"ptyctl/internal/leaktest"
	"ptyctl/internal/sshserver"
)

// Listen answers each connection to a port of the loopback address with behave, and closes it when behave has returned
// and the client has gone, or the test is over.
func Listen(tb testing.TB, behave func(net.Conn)) (port int) {
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

// Silent sends nothing. Like the functions below, it plays a port without an SSH server, and returns when the client
// has closed the connection.
func Silent(c net.Conn) { _, _ = io.Copy(io.Discard, c) }

// HalfBanner sends half an SSH banner and then waits.
func HalfBanner(c net.Conn) {
	_, _ = io.WriteString(c, "SSH-2.0-Open")
	Silent(c)
}

// CloseAtOnce closes the connection at once.
func CloseAtOnce(net.Conn) {}

// SpeaksHTTP answers as a web server does.
func SpeaksHTTP(c net.Conn) {
	_, _ = c.Read(make([]byte, 256)) // a web server answers when it has got a line
	_, _ = io.WriteString(c, "HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain\r\n"+
		"Connection: close\r\n\r\nbad request\n")
}

// ServeSSH starts an SSH server within the test.
func ServeSSH(tb testing.TB, c sshserver.Config) *sshserver.Server {
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
