package session_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"ptyctl/internal/bufpipe"
	"ptyctl/session"
	"ptyctl/term"
)

// A flood sends n bytes, as fast as they are taken, then waits until it is closed.
type flood struct {
	chunk int
	left  int64
	done  chan struct{} // closed when all is out
	end   chan struct{}
	line  []byte
}

func newFlood(n int64, chunk int, line string) *flood {
	f := &flood{chunk: chunk, left: n, done: make(chan struct{}), end: make(chan struct{})}
	for len(f.line) < chunk+len(line) {
		f.line = append(f.line, line...)
	}
	return f
}

func (f *flood) Read(p []byte) (int, error) {
	if f.left == 0 {
		close(f.done)
		f.left = -1
	}
	if f.left < 0 {
		<-f.end
		return 0, io.EOF
	}
	n := copy(p[:min(int64(len(p)), int64(f.chunk), f.left)], f.line)
	f.left -= int64(n)
	return n, nil
}

func (f *flood) Write(p []byte) (int, error) { return len(p), nil }

func (f *flood) Close() error {
	select {
	case <-f.end:
	default:
		close(f.end)
	}
	return nil
}

// Output without a reader is taken in bounded memory, and another session lives on beside it.
func TestUnreadOutput(t *testing.T) {
	const size = 64 << 20
	var before, m runtime.MemStats // earlier tests leave some for a while
	runtime.GC()
	runtime.ReadMemStats(&before)
	f := newFlood(size, 4096, "a line of output\r\n")
	s := session.New(&plain{ReadWriteCloser: f}, session.Options{})
	defer s.Close(t.Context(), session.CloseOptions{})
	other, far := start(t, 0, session.Options{})
	io.WriteString(far, "alive")
	if c := other.Read(t.Context(), session.ReadRequest{Timeout: time.Minute}); string(c.Data) != "alive" {
		t.Errorf("the other session: %s, %q", c.Reason, c.Data)
	}
	select {
	case <-f.done:
	case <-time.After(time.Minute):
		t.Fatal("the far side is blocked")
	}
	runtime.GC()
	runtime.ReadMemStats(&m)
	if got := int64(m.HeapAlloc) - int64(before.HeapAlloc); got > 8<<20 {
		t.Errorf("%d bytes of memory more than before, want at most 8 MiB", got)
	}
	c := s.Read(t.Context(), session.ReadRequest{MaxBytes: 100, NoWait: true})
	if st := c.Buffer; st.End != size || st.Start != size-2<<20 || st.Allocated > 2<<20 {
		t.Errorf("buffer = %+v, want the last 2 MiB of the flood in at most 2 MiB", st)
	}
	if c.Dropped != size-2<<20 || c.Start != c.Dropped || len(c.Data) != 100 {
		t.Errorf("%d bytes at %d, dropped %d", len(c.Data), c.Start, c.Dropped)
	}
	if i := s.Info(); i.BytesIn != size || i.Dropped != c.Dropped {
		t.Errorf("info = %+v, want all bytes counted and as many dropped as the read says", i)
	}
}

// pumpLine is a line of output.
const pumpLine = "-rw-r--r-- 1 root root 1379 Jan  1 00:00 file.txt\r\n"

// A stepped stream hands over its input, piece by piece.
type stepped struct {
	pieces chan []byte
	end    chan struct{}
}

func newStepped() *stepped { return &stepped{make(chan []byte), make(chan struct{})} }

func (s *stepped) Read(p []byte) (int, error) {
	select {
	case piece := <-s.pieces:
		return copy(p, piece), nil
	case <-s.end:
		return 0, io.EOF
	}
}

func (s *stepped) Write(p []byte) (int, error) { return len(p), nil }

func (s *stepped) Close() error {
	select {
	case <-s.end:
	default:
		close(s.end)
	}
	return nil
}

// The cost of Until is proportional to the output: 8 MiB must take about twice as long as 4 MiB ("x-of-4MiB").
func BenchmarkUntil(b *testing.B) {
	for _, p := range []struct{ name, expr string }{
		{"literal", `RC=0;END`}, {"prompt", `[$#>] $`}, {"case", `(?i)password:`}, {"spanning", `[$#>]\s*$`},
	} {
		for _, chunk := range []int{512, 4096} {
			b.Run(fmt.Sprintf("%s/chunk=%d", p.name, chunk), func(b *testing.B) {
				until := regexp.MustCompile(p.expr)
				var small, large time.Duration
				for b.Loop() {
					small += untilOver(b, 4<<20, chunk, until)
					large += untilOver(b, 8<<20, chunk, until)
				}
				b.SetBytes(12 << 20)
				b.ReportMetric(float64(large)/float64(small), "x-of-4MiB")
			})
		}
	}
}

// untilOver returns how long it takes until a waiting reader has found until behind size bytes.
func untilOver(b *testing.B, size, chunk int, until *regexp.Regexp) time.Duration {
	st := newStepped()
	s := session.New(&plain{ReadWriteCloser: st}, session.Options{BufferBytes: 16 << 20})
	defer s.Close(context.Background(), session.CloseOptions{})
	piece := newFlood(0, chunk, pumpLine).line[:chunk]
	found := make(chan session.Chunk, 1)
	begin := time.Now()
	go func() {
		found <- s.Read(context.Background(), session.ReadRequest{Until: until, Timeout: time.Minute})
	}()
	for n := 0; n < size; n += chunk {
		st.pieces <- piece
	}
	st.pieces <- []byte("\nRC=0;END password: # ")
	if c := <-found; c.Reason != session.ReasonMatched || c.Next < int64(size) {
		b.Fatalf("%s at %d", c.Reason, c.Next)
	}
	return time.Since(begin)
}

// How long after a byte has come from the far side a waiting reader has it.
func BenchmarkWakeUp(b *testing.B) {
	st := newStepped()
	s := session.New(&plain{ReadWriteCloser: st}, session.Options{})
	defer s.Close(context.Background(), session.CloseOptions{})
	woken := make(chan time.Time)
	ready := make(chan struct{})
	go func() {
		for cursor := int64(0); ; {
			ready <- struct{}{}
			c := s.Read(context.Background(), session.ReadRequest{Cursor: cursor, Timeout: time.Minute})
			if c.EOF {
				close(woken)
				return
			}
			cursor = c.Next
			woken <- time.Now()
		}
	}()
	var took []time.Duration
	for b.Loop() {
		<-ready
		begin := time.Now()
		st.pieces <- []byte{'x'}
		took = append(took, (<-woken).Sub(begin))
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Nanoseconds()), "p50-ns")
	b.ReportMetric(float64(took[len(took)*99/100].Nanoseconds()), "p99-ns")
	<-ready
	st.Close()
	<-woken
}

// How fast output is taken from a far side that sends without pause over the loopback interface, beside copying
// it to nowhere ("x-raw": 1 is as fast). The searching reader, the pump and the sender share the machine's cores.
func BenchmarkPump(b *testing.B) {
	const size = 128 << 20
	for _, chunk := range []int{512, 4096, 32768} {
		for _, reader := range []string{"none", "literal", "regexp"} {
			b.Run(fmt.Sprintf("chunk=%d/reader=%s", chunk, reader), func(b *testing.B) {
				var raw, pumped time.Duration
				for b.Loop() {
					conn := sender(b, size, chunk)
					begin := time.Now()
					if n, err := io.CopyBuffer(struct{ io.Writer }{io.Discard}, struct{ io.Reader }{conn},
						make([]byte, 16<<10)); n != size {
						b.Fatal(n, err)
					}
					raw += time.Since(begin)
					pumped += pumpTime(b, size, chunk, reader)
				}
				b.SetBytes(2 * size)
				b.ReportMetric(float64(raw)/float64(pumped), "x-raw")
			})
		}
	}
}

// sender returns a connection on which size bytes of text arrive, in writes of chunk bytes.
func sender(b *testing.B, size, chunk int) net.Conn {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	go func() {
		defer l.Close()
		conn, err := l.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		text := newFlood(0, chunk, pumpLine).line[:chunk]
		for n := 0; n < size; n += chunk {
			if _, err := conn.Write(text); err != nil {
				return
			}
		}
	}()
	conn, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { conn.Close() })
	return conn
}

// pumpTime returns how long a session takes for the data of sender, while a reader of that kind waits.
func pumpTime(b *testing.B, size, chunk int, reader string) time.Duration {
	begin := time.Now()
	s := session.New(&plain{ReadWriteCloser: sender(b, size, chunk)}, session.Options{})
	done := make(chan struct{})
	go func() {
		defer close(done)
		if expr := map[string]string{"literal": `RC=0;END`, "regexp": `[$#] $`}[reader]; expr != "" {
			s.Read(context.Background(), session.ReadRequest{Until: regexp.MustCompile(expr), Timeout: time.Minute})
		}
	}()
	<-s.Ended()
	took := time.Since(begin)
	if n := s.Info().BytesIn; n != int64(size) {
		b.Fatalf("%d of %d bytes", n, size)
	}
	<-done
	return took
}

const kib = 1 << 10

// All output counts against the one limit, and forgotten output counts no more.
func TestMaxBufferBytes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		far := make(chan net.Conn, 10)
		m := manage(t, dialed(far), session.Config{MaxBufferBytes: 32 * kib, BufferBytes: 1 << 20, Retention: time.Minute})
		limited := func(err error) {
			t.Helper()
			if e := wantKind(t, err, term.LimitExceeded); term.FactOf[term.LimitReached](e).Limit != term.LimitOutput ||
				term.FactOf[term.LimitReached](e).Value != 32*kib {
				t.Errorf("details = %+v, want an output limit of 32 KiB", e.Facts)
			}
		}
		greedy := opened(t, m, "greedy")
		opened(t, m, "b")
		opened(t, m, "c")
		text := bytes.Repeat([]byte("0123456789abcdef"), 4*kib)
		put(t, <-far, string(text)) // 64 KiB: 24 KiB fit, and b and c have 4 KiB each
		st := greedy.Info().Buffer
		if st.Allocated != 24*kib || !st.Capped || st.End != 64*kib {
			t.Errorf("buffer = %+v, want 24 KiB held of 64 KiB", st)
		}
		if c := greedy.Read(t.Context(), session.ReadRequest{NoWait: true}); c.Dropped != 40*kib ||
			!bytes.Equal(c.Data, text[40*kib:]) {
			t.Errorf("%d bytes after %d", len(c.Data), c.Dropped)
		}
		_, err := m.Open(t.Context(), target("d"))
		limited(err)
		if l := m.List(); len(l) != 3 {
			t.Errorf("%d sessions", len(l))
		}

		// An ended session counts as long as it can be read.
		greedy.Close(t.Context(), session.CloseOptions{})
		_, err = m.Open(t.Context(), target("d"))
		limited(err)
		time.Sleep(time.Minute + 1)
		opened(t, m, "d")
		if c := greedy.Read(t.Context(), session.ReadRequest{NoWait: true}); !c.EOF || len(c.Data) != 0 ||
			c.Dropped != 64*kib {
			t.Errorf("a forgotten session is read: %+v", c)
		}
	})
}

func TestMaxBufferBytesOfExecs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		near, _ := bufpipe.New(0)
		var seen diary
		out := strings.Repeat("x", 100*kib)
		m := manage(t, func(context.Context, term.Target, term.Prompter, term.Approve) (term.Transport, error) {
			return &shell{
				Plain: plain{ReadWriteCloser: near},
				OnExec: func(_ context.Context, r term.ExecRequest, stdout, _ io.Writer) (term.Exit, error) {
					n, err := io.WriteString(stdout, out)
					if n != len(out) || err != nil {
						t.Errorf("%d, %v", n, err)
					}
					return term.Exit{Known: true}, nil
				},
			}, nil
		}, session.Config{MaxBufferBytes: 30 * kib, Retention: time.Minute, Observers: []term.Observer{&seen}})
		s := opened(t, m, "web1")
		req := session.ExecRequest{Command: "big", Lane: session.LaneChannel}
		r := run(t, s, req)
		if r.ID == "" || r.Stdout.Total != 100*kib || r.Stdout.Complete() || r.Exit.Code != 0 {
			t.Errorf("exec = %+v, want exit code 0 and an incomplete output of 100 KiB", r)
		}
		got := len(r.Stdout.Head) + len(r.Stdout.Tail)
		if got == 0 || got > 30*kib || strings.Trim(string(r.Stdout.Head)+string(r.Stdout.Tail), "x") != "" {
			t.Errorf("%d bytes are kept", got)
		}
		var err error
		for n := 0; err == nil && n < 10; n++ {
			_, err = s.Exec(t.Context(), req)
		}
		e := wantKind(t, err, term.LimitExceeded)
		if term.FactOf[term.LimitReached](e).Limit != term.LimitOutput {
			t.Errorf("details = %+v, want the output limit", e.Facts)
		}
		execs := seen.Of(term.VerbExec)
		if last := execs[len(execs)-1]; !errors.Is(last.Refused, term.LimitExceeded) || last.Err != nil {
			t.Errorf("the last exec was refused, and the event says %+v", last)
		}
		time.Sleep(time.Minute + 1) // all that was not fetched is forgotten
		out = "short"
		for range 50 { // fetched output is given back at once
			if r := run(t, s, req); string(r.Stdout.Head) != "short" || !r.Stdout.Complete() {
				t.Fatalf("exec = %+v, want the complete output \"short\"", r)
			}
		}
	})
}
