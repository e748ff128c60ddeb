package telnet

import (
	"errors"
	"net"
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
