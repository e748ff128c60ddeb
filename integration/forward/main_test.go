package forward

import (
	"encoding/json"
	"io"
	"net"
	"os"
	"strconv"
	"sync"
	"testing"

	"ptyctl/internal/lab"
)

func TestMain(m *testing.M) {
	lab.Record = true
	os.Exit(lab.Main(m, nil))
}

// A service is a TCP server of this machine that the far side reaches.
type service struct {
	port  int
	mu    sync.Mutex
	conns []net.Conn
}

// serve starts a service that ends with the test.
func serve(tb testing.TB, handle func(net.Conn)) *service {
	tb.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	s := &service{port: l.Addr().(*net.TCPAddr).Port}
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			s.mu.Lock()
			s.conns = append(s.conns, c)
			s.mu.Unlock()
			wg.Go(func() {
				defer c.Close()
				handle(c)
			})
		}
	})
	tb.Cleanup(func() {
		_ = l.Close()
		s.mu.Lock()
		for _, c := range s.conns {
			_ = c.Close()
		}
		s.mu.Unlock()
		wg.Wait()
	})
	return s
}

// echo sends its input back, and the end of it.
func echo(c net.Conn) { _, _ = io.Copy(c, c) }

// to is the address of the service, on a host.
func (s *service) to(host string) string { return net.JoinHostPort(host, strconv.Itoa(s.port)) }

// A forwarded is the result of the action forward.
type forwarded struct {
	Socket, Address string
	AlreadyClosed   bool `json:"already_closed"`
	Warnings        []string
	Forwards        []struct {
		To, Socket, Address string
		Connections         int
		Total               int64  `json:"total_connections"`
		Refused             int64  `json:"refused_connections"`
		Failed              int64  `json:"failed_connections"`
		Sent                int64  `json:"bytes_sent"`
		Received            int64  `json:"bytes_received"`
		LastError           string `json:"last_error"`
	}
}

// forward calls the action.
func forward(tb testing.TB, c lab.Tools, arguments string, values ...any) (f forwarded) {
	tb.Helper()
	decode(tb, c.Call(tb, lab.ToolSession, `{"action":"forward",`+arguments+`}`, values...).Text, &f)
	return f
}

// status returns the forwards of a session.
func status(tb testing.TB, c lab.Tools, id string) forwarded {
	tb.Helper()
	var s struct{ Session forwarded }
	decode(tb, c.Call(tb, lab.ToolSession, `{"action":"status","session_id":%s}`, id).Text, &s)
	return s.Session
}

// itoa is a port as an argument.
func itoa(n int) string { return strconv.Itoa(n) }

func decode(tb testing.TB, text string, into any) {
	tb.Helper()
	if err := json.Unmarshal([]byte(text), into); err != nil {
		tb.Fatalf("%v: %s", err, text)
	}
}

// dial connects to the socket or the port of a forward.
func dial(tb testing.TB, f forwarded) net.Conn {
	tb.Helper()
	network, at := "unix", f.Socket
	if at == "" {
		network, at = "tcp", f.Address
	}
	c, err := net.Dial(network, at)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = c.Close() })
	return c
}

// closeWrite ends the data of the client.
func closeWrite(tb testing.TB, c net.Conn) {
	tb.Helper()
	if err := c.(interface{ CloseWrite() error }).CloseWrite(); err != nil {
		tb.Error(err)
	}
}
