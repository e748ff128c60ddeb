package gotelnet_test

import (
	"io"
	"net"
	"strings"
	"testing"

	reiver "github.com/reiver/go-telnet"

	"ptyctl/telnet"
	"ptyctl/telnet/gotelnet"
)

// A go-telnet Caller, which reads byte by byte, must see the login prompt of a server that
// first waits for answers to its commands. On go-telnet's own connection it would wait
// without end.
func TestGoTelnetCaller(t *testing.T) {
	client, server := net.Pipe()
	defer server.Close()
	c, err := telnet.NewConn(client, telnet.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	failed := make(chan error, 1)
	go func() {
		failed <- func() error {
			if _, err := io.WriteString(server, "\xff\xfd\x18\xff\xf1"); err != nil {
				return err
			}
			if _, err := io.ReadFull(server, make([]byte, 3)); err != nil { // WILL TERMINAL-TYPE
				return err
			}
			if _, err := io.WriteString(server, "login: "); err != nil {
				return err
			}
			_, err := io.ReadFull(server, make([]byte, len("root\xff\xff\r\n")))
			return err
		}()
	}()
	var saw string
	gotelnet.Call(c, callerFunc(func(ctx reiver.Context, w reiver.Writer, r reiver.Reader) {
		ctx.Logger().Debugf("%d", 1)
		for b := make([]byte, 1); !strings.HasSuffix(saw, ": "); {
			if _, err := r.Read(b); err != nil {
				return
			}
			saw += string(b)
		}
		w.Write([]byte("root\xff\r\n"))
	}), nil)
	if err := <-failed; err != nil || saw != "login: " {
		t.Errorf("saw %q, server: %v", saw, err)
	}
}

type callerFunc func(reiver.Context, reiver.Writer, reiver.Reader)

func (f callerFunc) CallTELNET(ctx reiver.Context, w reiver.Writer, r reiver.Reader) {
	f(ctx, w, r)
}
