package telnet

import (
	"bytes"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	gotelnet "github.com/reiver/go-telnet"
	"github.com/reiver/go-telnet/telsh"
)

// oneConn is a listener that accepts one connection.
type oneConn struct {
	conn chan net.Conn
	once sync.Once
}

func (l *oneConn) Accept() (net.Conn, error) {
	c, ok := <-l.conn
	if !ok {
		return nil, io.EOF
	}
	return c, nil
}
func (l *oneConn) Close() error   { l.once.Do(func() { close(l.conn) }); return nil }
func (l *oneConn) Addr() net.Addr { return &net.TCPAddr{} }

// goTelnetServer starts a go-telnet server on loopback, which never negotiates, and returns
// its address.
func goTelnetServer(tb testing.TB, h gotelnet.Handler) string {
	tb.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	var served sync.WaitGroup
	served.Go(func() { (&gotelnet.Server{Handler: h}).Serve(l) })
	tb.Cleanup(func() { l.Close(); served.Wait() })
	return l.Addr().String()
}

// expect reads until the data ends with want. It reads byte by byte, so that later bytes stay
// unread.
func expect(tb testing.TB, c *Conn, want string) string {
	tb.Helper()
	if err := c.SetReadDeadline(time.Now().Add(10 * time.Second)); err != nil {
		tb.Fatal(err)
	}
	var got []byte
	for b := make([]byte, 1); !strings.HasSuffix(string(got), want); {
		n, err := c.Read(b)
		got = append(got, b[:n]...)
		if err != nil {
			tb.Fatalf("read %q, want %q at its end: %v", got, want, err)
		}
	}
	return string(got)
}

func dialTest(tb testing.TB, d Dialer, addr string) *Conn {
	tb.Helper()
	c, err := d.DialContext(tb.Context(), "tcp", addr)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { c.Close() })
	return c
}

// A server that never negotiates counts as a raw port; the caller must say that it
// understands IAC.
func TestGoTelnetEcho(t *testing.T) {
	addr := goTelnetServer(t, gotelnet.EchoHandler)
	c := dialTest(t, Dialer{}, addr)
	if s := c.State(); !s.Raw || s.Enter != string(EnterCR) {
		t.Errorf("State = %+v, want Raw and Enter %q", s, EnterCR)
	}
	const text = "héllo\x00\r\n"
	io.WriteString(c, text)
	if got := expect(t, c, "\r\n"); got != text {
		t.Errorf("%q came back", got)
	}
	c = dialTest(t, Dialer{Config: Config{Mode: ModeTelnet, Enter: EnterCR}}, addr)
	io.WriteString(c, "a\xff\xffb\r\n")
	if got := expect(t, c, "\n"); got != "a\xff\xffb\r\n" {
		t.Errorf("%q came back", got)
	}
}

func TestGoTelnetShell(t *testing.T) {
	shell := telsh.NewShellHandler()
	shell.Prompt, shell.WelcomeMessage = "demo> ", "welcome\r\n"
	greet := func(_ io.ReadCloser, out, _ io.WriteCloser, args ...string) error {
		_, err := io.WriteString(out, "hello "+strings.Join(args, "+")+"\r\n")
		return err
	}
	if err := shell.RegisterHandlerFunc("greet", greet); err != nil {
		t.Fatal(err)
	}
	c := dialTest(t, Dialer{}, goTelnetServer(t, shell))
	if got := expect(t, c, "demo> "); !strings.Contains(got, "welcome") {
		t.Errorf("greeting %q", got)
	}
	io.WriteString(c, "greet a b\n")
	// The shell copies output and prompt in two goroutines, so the line may end after the
	// prompt.
	expect(t, c, "hello a+b")
}

// goTelnetReads returns go-telnet's reading of a stream. Its reader has no exported
// constructor, so a server gets a connection that reads from memory.
func goTelnetReads(tb testing.TB, stream io.Reader, read func(gotelnet.Reader)) {
	tb.Helper()
	done := make(chan struct{})
	l := &oneConn{conn: make(chan net.Conn, 1)}
	l.conn <- memory{stream}
	server := &gotelnet.Server{Handler: handlerFunc(func(_ gotelnet.Context, _ gotelnet.Writer, r gotelnet.Reader) {
		defer close(done)
		read(r)
	})}
	var served sync.WaitGroup
	served.Go(func() { server.Serve(l) })
	<-done
	l.Close()
	served.Wait()
}

// memory is a connection that reads from memory.
type memory struct{ io.Reader }

func (memory) Write(p []byte) (int, error)      { return len(p), nil }
func (memory) Close() error                     { return nil }
func (memory) LocalAddr() net.Addr              { return &net.TCPAddr{} }
func (memory) RemoteAddr() net.Addr             { return &net.TCPAddr{} }
func (memory) SetDeadline(time.Time) error      { return nil }
func (memory) SetReadDeadline(time.Time) error  { return nil }
func (memory) SetWriteDeadline(time.Time) error { return nil }

type handlerFunc func(gotelnet.Context, gotelnet.Writer, gotelnet.Reader)

func (f handlerFunc) ServeTELNET(ctx gotelnet.Context, w gotelnet.Writer, r gotelnet.Reader) {
	f(ctx, w, r)
}

// FuzzVsGoTelnet compares the data of the Decoder with that of go-telnet's reader, for
// streams that both support: data, IAC IAC, options, and complete subnegotiations.
func FuzzVsGoTelnet(f *testing.F) {
	f.Add([]byte("text\xff\xff\x00\x01\x02\x03"), byte(3))
	f.Fuzz(func(t *testing.T, in []byte, cut byte) {
		var stream []byte
		for i := 0; i < len(in); i++ {
			switch b := in[i]; b & 7 {
			case 0:
				stream = append(stream, cmdIAC, cmdIAC)
			case 1:
				stream = append(stream, cmdIAC, cmdWILL+b>>3&3, b)
			case 2: // without IAC, because go-telnet misreads the byte after IAC IAC
				stream = append(stream, cmdIAC, cmdSB, b&^0x80)
				for n := min(int(b>>3), len(in)-i-1); n > 0; n-- {
					i++
					stream = append(stream, in[i]&^0x80)
				}
				stream = append(stream, cmdIAC, cmdSE)
			case 3:
				stream = append(stream, cmdIAC, cmdSE)
			default:
				if b != cmdIAC {
					stream = append(stream, b)
				}
			}
		}
		var want []byte
		goTelnetReads(t, bytes.NewReader(stream), func(r gotelnet.Reader) {
			for b := make([]byte, 1); ; {
				n, err := r.Read(b)
				want = append(want, b[:n]...)
				if err != nil {
					return
				}
			}
		})
		got, _ := decodeAll(t, stream, true, min(int(cut), len(stream)))
		if !bytes.Equal(got, want) {
			t.Errorf("%x: %q, go-telnet %q", stream, got, want)
		}
	})
}

// FuzzDecoderSplit decodes a stream whole and in two or three pieces: data, events and their
// offsets must be the same.
func FuzzDecoderSplit(f *testing.F) {
	f.Add([]byte("a\xff\xfb\x01b\xff\xfa\x18\x01\xff\xff\xff\xf0c\x00\xff"), uint16(3), uint16(9), false)
	f.Add([]byte("a\xff\xfa\x18\x01\xff\xfa\xff\xff\xf0\xff\xf0"), uint16(5), uint16(6), true)
	f.Fuzz(func(t *testing.T, in []byte, a, b uint16, binary bool) {
		want, events := decodeAll(t, in, binary)
		cut, next := int(a)%(len(in)+1), int(b)%(len(in)+1)
		got, other := decodeAll(t, in, binary, min(cut, next), max(cut, next))
		if !bytes.Equal(got, want) || strings.Join(other, "\n") != strings.Join(events, "\n") {
			t.Errorf("cut at %d and %d: %q %q, whole %q %q", cut, next, got, other, want, events)
		}
		if !binary && bytes.IndexByte(want, 0) >= 0 {
			t.Error("NUL in NVT")
		}
	})
}
