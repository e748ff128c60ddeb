package lab

import (
	"io"
	"net"
	"sync"
	"testing"

	gotelnet "github.com/reiver/go-telnet"
	"github.com/reiver/go-telnet/telsh"
)

// StartGoTelnet starts go-telnet's shell. It never negotiates, echoes nothing, wants a line to end with CR LF, and
// knows the command "exit" alone.
func StartGoTelnet(tb testing.TB) *TelnetServer {
	tb.Helper()
	shell := telsh.NewShellHandler()
	shell.Prompt = "go-telnet> "
	l := newOpenListener(tb)
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = gotelnet.Serve(l, shell) // ends with an error when the listener is closed
	}()
	tb.Cleanup(func() {
		l.Close()
		<-done
	})
	return &TelnetServer{Name: "go-telnet", Port: portOf(tb, l.Addr().String()), Prompt: `go-telnet> $`}
}

// StartRaw starts a port that never speaks Telnet: it sends each byte back as it came, after a greeting. received is
// all that its clients have sent.
func StartRaw(tb testing.TB) (s *TelnetServer, received *Capture) {
	tb.Helper()
	received = NewCapture()
	port := StartListener(tb, func(conn net.Conn) {
		if _, err := io.WriteString(conn, "echo ready\r\n"); err != nil {
			return
		}
		_, _ = io.Copy(io.MultiWriter(received, conn), conn)
	})
	return &TelnetServer{Name: "raw TCP", Port: port, Prompt: `echo ready\r\n$`}, received
}

// StartListener answers each connection to a port of the loopback address with serve, many at a time, and closes it
// when serve has returned or the test is over.
func StartListener(tb testing.TB, serve func(net.Conn)) (port int) {
	tb.Helper()
	l := newOpenListener(tb)
	var running sync.WaitGroup
	running.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			running.Go(func() {
				defer conn.Close()
				serve(conn)
			})
		}
	})
	tb.Cleanup(func() {
		l.Close()
		running.Wait()
	})
	return portOf(tb, l.Addr().String())
}

// An openListener closes the connections that it has accepted when it is closed itself.
type openListener struct {
	net.Listener

	mu     sync.Mutex // guards the following
	closed bool
	conns  []net.Conn
}

func newOpenListener(tb testing.TB) *openListener {
	tb.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	return &openListener{Listener: l}
}

// Accept implements net.Listener.
func (l *openListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		conn.Close()
		return nil, net.ErrClosed
	}
	l.conns = append(l.conns, conn)
	return conn, nil
}

// Close implements net.Listener.
func (l *openListener) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	for _, c := range l.conns {
		c.Close()
	}
	return l.Listener.Close()
}
