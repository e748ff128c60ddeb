package session_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"regexp"
	"slices"
	"testing"
	"time"

	"ptyctl/session"
)

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

// The cost of Until is proportional to what arrives: 8 MiB must take about twice as long as 4 MiB ("x-of-4MiB").
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
					if n, err := io.CopyBuffer(struct{ io.Writer }{io.Discard}, struct{ io.Reader }{conn}, make([]byte, 16<<10)); n != size {
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

// pumpTime returns how long a session takes for what sender sends, while a reader of that kind waits.
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
