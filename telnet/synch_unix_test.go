//go:build unix

package telnet

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"runtime"
	"sync"
	"testing"
	"time"

	"ptyctl/telnet/urgent"
	"ptyctl/term"
)

// A BSD server answers an interrupt with IAC DM and marks DM as urgent. The user must see
// neither.
func TestUrgentDataMark(t *testing.T) {
	host, port := listen(t, nil, func(c net.Conn) {
		io.WriteString(c, "\xff\xfb\x01demo$ ")
		for b := make([]byte, 1); ; {
			if _, err := c.Read(b); err != nil {
				return
			}
			if b[0] == 3 {
				urgent.Send(c.(*net.TCPConn), []byte("\xff\xf2"))
				io.WriteString(c, "^C\r\ndemo$ ")
			}
		}
	})
	hooked := func(d *Dialer) { // a connection made by the caller must be prepared, too
		d.Dial = func(ctx context.Context, network, address string, _ term.Approve) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, network, address)
		}
	}
	for name, prepare := range map[string]func(*Dialer){"dialed": func(*Dialer) {}, "given": hooked} {
		t.Run(name, func(t *testing.T) {
			var d Dialer
			prepare(&d)
			tr := openTerminal(t, d, term.Target{Host: host, Port: port})
			expect(t, tr.conn, "demo$ ")
			tr.Write([]byte{3})
			if got := expect(t, tr.conn, "demo$ "); got != "^C\r\ndemo$ " {
				t.Errorf("output after ctrl_c = %q, want %q", got, "^C\r\ndemo$ ")
			}
		})
	}
}

// IP must be followed by a data mark that a server finds by its urgent pointer.
func TestSynch(t *testing.T) {
	got := make(chan []byte, 1)
	host, port := listen(t, nil, func(c net.Conn) {
		urgent.Inline(c.(*net.TCPConn))
		io.WriteString(c, "\xff\xfb\x01demo$ ")
		c.SetReadDeadline(time.Now().Add(10 * time.Second))
		var all []byte
		for b := make([]byte, 100); !bytes.HasSuffix(all, []byte("\xff\xf2")); {
			n, err := c.Read(b)
			if all = append(all, b[:n]...); err != nil {
				break
			}
		}
		got <- all
	})
	tr := openTerminal(t, Dialer{Config: Config{SynchInterrupt: true}}, term.Target{Host: host, Port: port})
	if err := tr.SendKey(t.Context(), term.KeyInterruptProcess); err != nil {
		t.Fatal(err)
	}
	if all := <-got; !bytes.HasSuffix(all, []byte("\xff\xf4\xff\xf2")) {
		t.Errorf("the server got %x", all)
	}
}

// An interrupt to a server that reads nothing must end with its context.
func TestSynchToADeafServer(t *testing.T) {
	deaf := make(chan struct{})
	host, port := listen(t, nil, func(c net.Conn) {
		io.WriteString(c, "\xff\xfb\x01demo$ ")
		<-deaf
	})
	defer close(deaf)
	tr := openTerminal(t, Dialer{Config: Config{SynchInterrupt: true}}, term.Target{Host: host, Port: port})
	var wg sync.WaitGroup
	wg.Go(func() { tr.Write(make([]byte, 64<<20)) })
	for len(tr.conn.write) == 0 { // until the write has started
		runtime.Gosched()
	}
	for err := error(nil); err == nil; { // the system takes some megabytes first
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		if err = tr.SendKey(ctx, term.KeyInterruptProcess); err != nil && !errors.Is(err, term.ExecTimeout) {
			t.Errorf("an interrupt to a deaf server: %v, want that its time is over", err)
		}
		cancel()
	}
	tr.Close()
	wg.Wait()
}
