package telnet_test

import (
	"errors"
	"io"
	"net"
	"syscall"
	"testing"

	"ptyctl/telnet"
	"ptyctl/term"
)

// The socket of a connection is held before the first byte is sent, also that of a TLS handshake, and none is sent if that
// fails.
func TestHold(t *testing.T) {
	for name, tls := range map[string]*telnet.TLS{"plain": nil, "TLS": {}} {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		refused, held := errors.New("no fence"), 0
		got := make(chan []byte)
		go func() {
			c, err := l.Accept()
			if err != nil {
				close(got)
				return
			}
			defer c.Close()
			text, _ := io.ReadAll(c)
			got <- text
		}()
		ctx := term.WithHold(t.Context(), func(socket syscall.Conn) (func(), error) {
			if _, ok := socket.(*net.TCPConn); !ok {
				t.Errorf("%s: a %T is held", name, socket)
			}
			held++
			return nil, refused
		})
		_, err = telnet.Dialer{TLS: tls}.Open(ctx, term.Target{Host: "127.0.0.1", Port: l.Addr().(*net.TCPAddr).Port}, nil, nil)
		if !errors.Is(err, refused) || !errors.Is(err, term.ConnectFailed) || held != 1 {
			t.Errorf("%s: Open = %v after %d Holds", name, err, held)
		}
		if text := <-got; len(text) > 0 {
			t.Errorf("%s: the server has got %q", name, text)
		}
	}
}
