package telnet

import (
	"errors"
	"io"
	"net"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"ptyctl/internal/bufpipe"
	"ptyctl/term"
)

// A faulty connection panics on Write.
type faulty struct{ net.Conn }

func (faulty) Write([]byte) (int, error) { panic("secret") }

// A panic in a goroutine of the connection must end it, and Read must return the reason.
func TestFaultEndsTheConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		near, far := bufpipe.New(0)
		c, err := NewConn(faulty{near}, Config{})
		if err != nil {
			t.Fatal(err)
		}
		go far.Write([]byte{cmdIAC, cmdDO, byte(NAWS)}) // needs an answer
		_, err = c.Read(make([]byte, 100))
		if e, ok := errors.AsType[*term.Error](err); !ok || e.Kind != term.Internal || e.Err == nil {
			t.Errorf("Read: %v", err)
		}
		begin := time.Now()
		c.Close()
		if took := time.Since(begin); took > time.Second {
			t.Errorf("Close took %v", took)
		}
	})
}

// After a panic of the engine in the goroutine of Read, the connection must still be closed.
func TestFaultOfTheEngine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		near, far := bufpipe.New(0)
		c, err := NewConn(near, Config{})
		if err != nil {
			t.Fatal(err)
		}
		c.mu.Lock()
		engine := c.e
		c.e = nil
		c.mu.Unlock()
		go far.Write([]byte("x"))
		func() {
			defer func() {
				if recover() == nil {
					t.Error("no fault")
				}
			}()
			c.Read(make([]byte, 1000))
		}()
		c.mu.Lock()
		c.e = engine
		c.mu.Unlock()
		c.Close()
	})
}

// The socket of a connection is held before the first byte is sent, also that of a TLS handshake, and none is sent if that
// fails.
func TestHold(t *testing.T) {
	for name, tls := range map[string]*TLS{"plain": nil, "TLS": {}} {
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
		_, err = Dialer{TLS: tls}.Open(ctx, term.Target{Host: "127.0.0.1", Port: l.Addr().(*net.TCPAddr).Port}, nil, nil)
		if !errors.Is(err, refused) || !errors.Is(err, term.ConnectFailed) || held != 1 {
			t.Errorf("%s: Open = %v after %d Holds", name, err, held)
		}
		if text := <-got; len(text) > 0 {
			t.Errorf("%s: the server has got %q", name, text)
		}
	}
}
