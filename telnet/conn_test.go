package telnet

import (
	"context"
	"encoding/hex"
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"ptyctl/internal/bufpipe"
	"ptyctl/term"
)

// A pair is a Conn and the server's end of its connection, which buffers at most limit bytes
// in each direction (0: no limit).
type pair struct {
	*Conn
	server net.Conn
}

func newPair(tb testing.TB, c Config, limit int) pair {
	tb.Helper()
	client, server := bufpipe.New(limit)
	conn, err := NewConn(client, c)
	if err != nil {
		tb.Fatal(err)
	}
	return pair{conn, server}
}

// says sends s from the server.
func (p pair) says(tb testing.TB, s string) {
	tb.Helper()
	if _, err := io.WriteString(p.server, s); err != nil {
		tb.Fatal(err)
	}
}

// written returns the bytes that the server has received so far. It must run in a synctest
// bubble.
func (p pair) written(tb testing.TB) string {
	tb.Helper()
	synctest.Wait()
	if err := p.server.SetReadDeadline(time.Now().Add(time.Millisecond)); err != nil {
		tb.Fatal(err)
	}
	got, err := io.ReadAll(p.server)
	if err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
		tb.Fatal(err)
	}
	return string(got)
}

// reads starts a goroutine that reads to the end of the stream, and returns a channel for its
// data.
func (p pair) reads() <-chan string {
	all := make(chan string, 1)
	go func() {
		got, _ := io.ReadAll(p.Conn)
		all <- string(got)
	}()
	return all
}

func TestConnAnswersWhileReading(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPair(t, Config{}, 0)
		data := p.reads()
		p.says(t, "hi \xff\xfd\x1f")
		p.says(t, "\xff")
		p.says(t, "\xfb\x01there\x00")
		if got := hex.EncodeToString([]byte(p.written(t))); got != "fffb1ffffa1f00780028fff0"+"fffd01" {
			t.Errorf("answered %s", got)
		}
		p.server.Close()
		if got := <-data; got != "hi there" {
			t.Errorf("data %q", got)
		}
		if p.Lost() != io.EOF {
			t.Errorf("lost %v", p.Lost())
		}
		p.Close()
	})
}

func TestConnEndInsideACommand(t *testing.T) {
	for _, end := range []string{"\xff", "\xff\xfb", "\xff\xfa\x18\x01", "\xff\xfa\x18\x01\xff"} {
		synctest.Test(t, func(t *testing.T) {
			var last EventKind
			p := newPair(t, Config{OnEvent: func(e Event) { last = e.Kind }}, 0)
			data := p.reads()
			p.says(t, "bye"+end)
			p.server.Close()
			if got := <-data; got != "bye" || last != TruncatedAtEOF {
				t.Errorf("%x: data %q, last event %d", end, got, last)
			}
			p.Close()
		})
	}
}

func TestConnSmallReads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPair(t, Config{}, 0)
		p.says(t, "ab\xff\xfb\x01c\xff\xff")
		for _, want := range []byte("abc\xff") {
			var b [1]byte
			if n, err := p.Read(b[:]); n != 1 || err != nil || b[0] != want {
				t.Fatalf("%d %v %q, want %q", n, err, b, want)
			}
		}
		if n, err := p.Read(nil); n != 0 || err != nil {
			t.Errorf("a read of nothing: %d %v", n, err)
		}
		p.server.Close()
		if n, err := p.Read(make([]byte, 1)); n != 0 || err != io.EOF {
			t.Errorf("at the end: %d %v", n, err)
		}
		p.Close()
	})
}

// writes records each write to a connection.
type writes struct {
	net.Conn
	all chan string
}

func (w *writes) Write(p []byte) (int, error) {
	w.all <- string(p)
	return w.Conn.Write(p)
}

func TestConnOneWriteBelow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, server := bufpipe.New(0)
		w := &writes{client, make(chan string, 100)}
		c, err := NewConn(w, Config{Mode: ModeTelnet})
		if err != nil {
			t.Fatal(err)
		}
		in := strings.Repeat("x\xff\r", 1000)
		if n, err := c.Write([]byte(in)); n != len(in) || err != nil {
			t.Errorf("wrote %d, %v", n, err)
		}
		if got := <-w.all; got != strings.Repeat("x\xff\xff\r\x00", 1000) || len(w.all) != 0 {
			t.Errorf("%d bytes in the first of %d writes", len(got), 1+len(w.all))
		}
		// A CR LF that spans two pieces of a long write must stay one line end.
		long := strings.Repeat("y", writeAtOnce-1) + "\r\nz"
		if n, err := c.Write([]byte(long)); n != len(long) || err != nil {
			t.Errorf("wrote %d, %v", n, err)
		}
		if got := <-w.all + <-w.all; got != long {
			t.Errorf("%q at the seam", got[writeAtOnce-2:])
		}
		if n, err := c.Write(nil); n != 0 || err != nil || len(w.all) != 0 {
			t.Errorf("a write of nothing: %d %v", n, err)
		}
		c.Close()
		server.Close()
	})
}

// Answers must be sent between writes, never within one, even if the server reads byte by
// byte.
func TestConnAnswersBetweenWrites(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPair(t, Config{Mode: ModeTelnet}, 1)
		data := p.reads()
		go func() {
			for range 20 {
				if _, err := p.Write([]byte("<text\xff>\r")); err != nil {
					t.Error(err)
				}
			}
		}()
		go func() {
			for range 10 {
				io.WriteString(p.server, "\xff\xfd\x06")
			}
		}()
		got := make([]byte, 20*len("<text\xff\xff>\r\x00")+10*len("\xff\xfb\x06"))
		if _, err := io.ReadFull(p.server, got); err != nil {
			t.Fatal(err)
		}
		rest := strings.ReplaceAll(strings.ReplaceAll(string(got), "<text\xff\xff>\r\x00", ""), "\xff\xfb\x06", "")
		if rest != "" {
			t.Errorf("%q is left of %q", rest, got)
		}
		p.server.Close()
		<-data
		p.Close()
	})
}

// A command cut by a deadline must be completed before any other byte is sent.
func TestConnCompletesWhatADeadlineCut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for limit := 1; limit < 8; limit++ {
			p := newPair(t, Config{Mode: ModeTelnet}, limit)
			p.SetWriteDeadline(time.Now().Add(time.Second))
			in := "a\xff\rb"
			n, err := p.Write([]byte(in))
			if wire := "a\xff\xff\r\x00b"; limit < len(wire) && !errors.Is(err, os.ErrDeadlineExceeded) ||
				limit >= len(wire) && err != nil {
				t.Fatalf("limit %d: %v", limit, err)
			}
			p.SetWriteDeadline(time.Time{})
			got := make(chan string)
			go func() {
				all, _ := io.ReadAll(p.server)
				got <- string(all)
			}()
			if _, err := p.Write([]byte(in[n:] + "!")); err != nil {
				t.Fatal(err)
			}
			p.Close()
			if s := <-got; s != "a\xff\xff\r\x00b!" {
				t.Errorf("limit %d, %d taken: %q", limit, n, s)
			}
		}
	})
}

// The Conn must keep reading from a server that reads nothing, with bounded memory for its
// answers.
func TestConnReadsFromAServerThatDoesNotRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPair(t, Config{}, 16)
		data := p.reads()
		for range 2000 {
			p.says(t, "x\xff\xfd\x06")
			time.Sleep(100 * time.Millisecond)
		}
		p.server.Close()
		if got := <-data; got != strings.Repeat("x", 2000) {
			t.Errorf("%d bytes of data", len(got))
		}
		if len(p.e.control) > maxControl {
			t.Errorf("%d bytes wait", len(p.e.control))
		}
		p.Close()
	})
}

func TestConnNegotiationLoop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPair(t, Config{}, 0)
		p.says(t, "hello"+strings.Repeat("\xff\xfd\x63", maxLoop+100))
		got, err := io.ReadAll(p.Conn)
		if string(got) != "hello" || !errors.Is(err, term.NegotiationLoop) {
			t.Errorf("%q, %v", got, err)
		}
		if _, err := p.server.Write([]byte("x")); err == nil {
			t.Error("the connection is not closed")
		}
		p.Close()
	})
}

func TestConnCloseWakesEverybody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPair(t, Config{Mode: ModeTelnet}, 4)
		p.says(t, "\xff\xfd\x2c")
		done := make(chan error, 4)
		go func() { _, err := p.Read(make([]byte, 4096)); done <- err }()
		synctest.Wait()
		go func() { _, err := p.Write([]byte("more than the server takes")); done <- err }()
		synctest.Wait()
		go func() { _, err := p.Write([]byte("x")); done <- err }()
		go func() { _, err := p.SetSerial(t.Context(), SerialLine{}); done <- err }()
		synctest.Wait()
		begun := time.Now()
		p.Close()
		p.Close()
		for range 4 {
			if err := <-done; err == nil {
				t.Error("a call that waited has succeeded")
			}
		}
		if d := time.Since(begun); d > time.Second {
			t.Errorf("closing took %v", d)
		}
		if _, err := p.Write([]byte("x")); !errors.Is(err, net.ErrClosed) {
			t.Errorf("a write after closing: %v", err)
		}
		if err := p.Send(AYT); !errors.Is(err, term.AlreadyClosed) {
			t.Errorf("a command after closing: %v", err)
		}
		if err := p.Settle(t.Context()); err == nil {
			t.Error("a closed connection settles")
		}
	})
}

func TestSettle(t *testing.T) {
	ms := func(n int) time.Duration { return time.Duration(n) * time.Millisecond }
	type first struct {
		after time.Duration
		what  string
	}
	tests := []struct {
		name string
		mode Mode
		says []first
		want time.Duration
		data string
		err  error
	}{
		{name: "silence", want: ms(1000)},
		{name: "raw by will", mode: ModeRaw, want: 0},
		{name: "text alone", says: []first{{ms(20), "hello"}}, want: ms(170), data: "hello"},
		{name: "text goes on", says: []first{{ms(20), "a"}, {ms(100), "b"}}, want: ms(170), data: "ab"},
		{name: "text after commands", says: []first{{ms(5), "\xff\xfb\x01"}, {ms(40), "login: "}}, want: ms(45), data: "login: "},
		{name: "text and commands at once", says: []first{{ms(5), "\xff\xfd\x1f\r\nlogin: "}}, want: ms(5), data: "\r\nlogin: "},
		{name: "commands in the banner", says: []first{{ms(5), "Hello\xff\xfb\x01Password: "}}, want: ms(5), data: "HelloPassword: "},
		{name: "text, then commands", says: []first{{ms(5), "Hello"}, {ms(100), "\xff\xfb\x01"}}, want: ms(255), data: "Hello"},
		{name: "commands alone", says: []first{{ms(5), "\xff\xfb\x01"}, {ms(100), "\xff\xfb\x03"}}, want: ms(255)},
		{name: "NUL is no text", says: []first{{ms(5), "\xff\xfb\x01\x00"}}, want: ms(155)},
		{name: "commands without end", says: []first{{ms(0), "\xff\xfb\x01"}, {ms(100), "\xff\xfb\x02"}, {ms(100), "\xff\xfb\x03"}, {ms(100), "\xff\xfb\x14"}, {ms(100), "\xff\xfb\x05"}, {ms(100), "\xff\xfb\x06"}, {ms(100), "\xff\xfb\x07"}, {ms(100), "\xff\xfb\x08"}, {ms(100), "\xff\xfb\x09"}, {ms(100), "\xff\xfb\x0a"}, {ms(99), "\xff\xfb\x0b"}}, want: ms(1000)},
		{name: "the end", says: []first{{ms(5), "no\x04"}}, want: ms(5), data: "no", err: io.EOF},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := newPair(t, Config{Mode: tt.mode}, 0)
				go func() {
					for _, s := range tt.says {
						time.Sleep(s.after)
						what, end := strings.CutSuffix(s.what, "\x04")
						io.WriteString(p.server, what)
						if end {
							p.server.Close()
						}
					}
				}()
				begun := time.Now()
				err := p.Settle(t.Context())
				if d := time.Since(begun); d != tt.want || !errors.Is(err, tt.err) || (err == nil) != (tt.err == nil) {
					t.Errorf("settled after %v with %v, want %v and %v", d, err, tt.want, tt.err)
				}
				p.server.Close()
				if got, err := io.ReadAll(p); string(got) != tt.data || err != nil {
					t.Errorf("data %q, %v", got, err)
				}
				p.Close()
			})
		})
	}
}

// A read started by Settle must lose no data and obey a deadline.
func TestSettleLeavesAReadBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPair(t, Config{}, 0)
		if err := p.Settle(t.Context()); err != nil {
			t.Fatal(err)
		}
		p.SetReadDeadline(time.Now().Add(time.Second))
		if _, err := p.Read(make([]byte, 4096)); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("Read after a deadline of 1 s: error %v, want %v", err, os.ErrDeadlineExceeded)
		}
		p.SetReadDeadline(time.Time{})
		p.says(t, "\xff\xfb\x01late")
		b := make([]byte, 4096)
		if n, err := p.Read(b); string(b[:n]) != "late" || err != nil {
			t.Errorf("%q, %v", b[:n], err)
		}
		p.Close()
	})
	synctest.Test(t, func(t *testing.T) { // without any call of Read
		p := newPair(t, Config{}, 0)
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
		defer cancel()
		if err := p.Settle(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Settle with a context of 10 ms: error %v, want %v", err, context.DeadlineExceeded)
		}
		p.Close()
	})
}

func TestResizeIsCoalesced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPair(t, Config{}, 0)
		data := p.reads()
		if err := p.Resize(80, 24); !errors.Is(err, term.Unsupported) {
			t.Errorf("before NAWS: %v", err)
		}
		p.says(t, "\xff\xfd\x1f")
		if got := hex.EncodeToString([]byte(p.written(t))); got != "fffb1f"+"fffa1f00500018fff0" {
			t.Errorf("the size of before: %s", got)
		}
		for i := range 40 { // the user drags the window for 40 ms
			if err := p.Resize(100+i, 30); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Millisecond)
		}
		time.Sleep(resizeEvery)
		if got := hex.EncodeToString([]byte(p.written(t))); got != "fffa1f008b001efff0" {
			t.Errorf("window size sent: %s", got)
		}
		if err := p.Resize(-1, 0x10000); !errors.Is(err, term.InvalidArgument) {
			t.Errorf("an absurd size: %v", err)
		}
		if err := p.Resize(120, 30); err != nil {
			t.Error(err)
		}
		p.Close() // with a size still to send
		<-data
	})
}

func TestProbes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPair(t, Config{}, 0)
		data := p.reads()
		if err := p.TimingMark(t.Context()); !errors.Is(err, term.Unsupported) {
			t.Errorf("before Telnet: %v", err)
		}
		p.says(t, "\xff\xfb\x05")
		p.written(t)
		done := make(chan error, 1)

		go func() { done <- p.TimingMark(t.Context()) }()
		if got := p.written(t); got != "\xff\xfd\x06" {
			t.Errorf("asked %x", got)
		}
		p.says(t, "\xff\xfb\x06")
		if err := <-done; err != nil {
			t.Error(err)
		}

		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		if err := p.TimingMark(ctx); !errors.Is(err, term.ExecTimeout) {
			t.Errorf("no answer: %v", err)
		}
		cancel()

		status := make(chan string, 1)
		go func() {
			s, err := p.RemoteStatus(t.Context())
			status <- string(s)
			done <- err
		}()
		p.written(t)
		p.says(t, "\xff\xfa\x05\x00\xfb\x01\xff\xf0")
		if s, err := <-status, <-done; s != "\xfb\x01" || err != nil {
			t.Errorf("status %x, %v", s, err)
		}

		go func() { done <- p.Logout(t.Context()) }()
		if got := p.written(t); got != "\xff\xfd\x12" {
			t.Errorf("asked %x", got)
		}
		p.says(t, "\xff\xfc\x12")
		if err := <-done; !errors.Is(err, term.Unsupported) {
			t.Errorf("a refused logout: %v", err)
		}

		for range maxWaiting { // unanswered questions do not pile up
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			p.TimingMark(ctx)
			cancel()
		}
		if err := p.TimingMark(t.Context()); !errors.Is(err, term.LimitExceeded) {
			t.Errorf("too many: %v", err)
		}
		p.Close()
		<-data
	})
}

func TestLogoutOnClose(t *testing.T) {
	for _, answer := range []string{"", "\xff\xfb\x12"} {
		synctest.Test(t, func(t *testing.T) {
			p := newPair(t, Config{LogoutOnClose: true}, 0)
			data := p.reads()
			p.says(t, "\xff\xfb\x01")
			p.written(t)
			begun := time.Now()
			closed := make(chan time.Duration)
			go func() { p.Close(); closed <- time.Since(begun) }()
			if got := p.written(t); got != "\xff\xfd\x12" {
				t.Errorf("asked %x", got)
			}
			want := logoutGrace
			if answer != "" {
				p.says(t, answer)
				want = time.Since(begun)
			}
			if d := <-closed; d != want {
				t.Errorf("closed after %v, want %v", d, want)
			}
			<-data
		})
	}
}

func TestCommands(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPair(t, Config{}, 0)
		data := p.reads()
		keys := map[string]byte{
			term.KeyBreak: cmdBRK, term.KeyInterruptProcess: cmdIP, term.KeyAbortOutput: cmdAO,
			term.KeyAreYouThere: cmdAYT, term.KeyEndOfFile: cmdEOF,
		}
		for _, key := range term.ProtocolKeys() {
			if err := p.SendKey(t.Context(), key); !errors.Is(err, term.Unsupported) {
				t.Errorf("%s to a raw port: %v", key, err)
			}
		}
		p.says(t, "\xff\xf1")
		p.written(t)
		for _, key := range term.ProtocolKeys() {
			if err := p.SendKey(t.Context(), key); err != nil {
				t.Errorf("%s: %v", key, err)
			}
			if got := p.written(t); got != string([]byte{cmdIAC, keys[key]}) {
				t.Errorf("%s is sent as %x", key, got)
			}
		}
		if err := p.SendKey(t.Context(), "enter"); !errors.Is(err, term.InvalidArgument) {
			t.Errorf("a key that is none of these: %v", err)
		}
		for _, cmd := range []Command{0, 'x', Command(cmdSE), Command(cmdSB), Command(cmdWILL), Command(cmdIAC)} {
			if err := p.Send(cmd); !errors.Is(err, term.InvalidArgument) {
				t.Errorf("%s: %v", cmd, err)
			}
		}
		if err := p.Enable(Binary, false); err != nil {
			t.Error(err)
		}
		if err := p.Enable(Linemode, false); !errors.Is(err, term.Unsupported) {
			t.Errorf("linemode: %v", err)
		}
		if got := p.written(t); got != "\xff\xfb\x00" {
			t.Errorf("asked %x", got)
		}
		if err := p.Synch(); !errors.Is(err, term.Unsupported) {
			t.Errorf("urgent data in memory: %v", err)
		}
		p.Close()
		<-data
	})
}

// TestTransparent moves bytes that Telnet changes, with a server that agrees to BINARY, one that never answers, and a
// peer that does not speak Telnet.
func TestTransparent(t *testing.T) {
	const sent, echo = "\r\n\r\x00\xff\r", "\xff\xfb\x01"
	for name, c := range map[string]struct {
		first, answer string // of the server, and to BINARY
		doubt         bool
		wire          string // as sent arrives
		back, got     string // from the server, and as it is read
		restored      string // the bytes sent at the end
	}{
		"BINARY": {
			first: echo, answer: "\xff\xfd\x00\xff\xfb\x00", wire: "\r\n\r\x00\xff\xff\r",
			back: "\r\n\r\x00\x00\xff\xff\r", got: "\r\n\r\x00\x00\xff\r", restored: "\xff\xfc\x00\xff\xfe\x00",
		},
		"refused": {
			first: echo, answer: "\xff\xfe\x00\xff\xfc\x00", doubt: true, wire: "\r\x00\n\r\x00\x00\xff\xff\r\x00",
			back: "\r\n\x00\r\x00\n\r\x00\x00\xff\xff\r\x00", got: "\r\n\x00\r\n\r\x00\xff\r",
		},
		"no answer": {
			first: echo, doubt: true, wire: "\r\x00\n\r\x00\x00\xff\xff\r\x00", back: "\rx\r\x00\r\r\x00", got: "\rx\r\x00\r\r\x00",
			restored: "", // the server has yet to answer: RFC 1143 queues the opposite
		},
		"raw": {wire: sent, back: "\xff\xfb\x01\xff\xff\r\x00", got: "\xff\xfb\x01\xff\xff\r\x00"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := newPair(t, Config{Enter: EnterCRLF}, 0)
				data := p.reads()
				p.says(t, c.first)
				p.written(t)
				asked := make(chan struct{})
				var restore func()
				go func() {
					defer close(asked)
					var doubt string
					var err error
					if restore, doubt, err = p.Transparent(t.Context()); err != nil || (doubt != "") != c.doubt {
						t.Errorf("Transparent = %q, %v; want doubts: %t", doubt, err, c.doubt)
					}
				}()
				want := ""
				if c.first != "" {
					want = "\xff\xfb\x00\xff\xfd\x00"
				}
				if got := p.written(t); got != want {
					t.Errorf("it asks %q, want %q", got, want)
				}
				p.says(t, c.answer)
				<-asked
				if _, _, err := p.Transparent(t.Context()); !errors.Is(err, term.Busy) {
					t.Errorf("a second caller gets %v, want Busy", err)
				}
				if n, err := io.WriteString(p.Conn, sent); n != len(sent) || err != nil {
					t.Errorf("Write = %d, %v", n, err)
				}
				if got := p.written(t); got != c.wire {
					t.Errorf("%q arrives as %q, want %q", sent, got, c.wire)
				}
				for i := range c.back { // cut anywhere
					p.says(t, c.back[i:i+1])
					synctest.Wait()
				}
				restore()
				if got := p.written(t); got != c.restored {
					t.Errorf("at the end it sends %q, want %q", got, c.restored)
				}
				io.WriteString(p.Conn, "\r")
				if got := p.written(t); got != "\r\n" {
					t.Errorf("enter is %q afterwards, want that of the configuration", got)
				}
				p.server.Close()
				if got := <-data; got != c.got {
					t.Errorf("%q is read as %q, want %q", c.back, got, c.got)
				}
				p.Close()
			})
		})
	}
}
