package bench

import (
	"bytes"
	"context"
	"io"
	"regexp"
	"strings"
	"testing"
	"time"

	"ptyctl/session"
)

// A benchTransport is a terminal in memory: the values sent on pieces are its output.
type benchTransport struct {
	pieces chan []byte
	end    chan struct{}
}

func (t *benchTransport) Read(p []byte) (int, error) {
	select {
	case piece := <-t.pieces:
		return copy(p, piece), nil
	case <-t.end:
		return 0, io.EOF
	}
}

func (t *benchTransport) Write(p []byte) (int, error) { return len(p), nil }

func (t *benchTransport) Resize(int, int) error { return nil }

func (t *benchTransport) Close() error {
	select {
	case <-t.end:
	default:
		close(t.end)
	}
	return nil
}

// How fast a waiting reader goes through output that comes in the pieces in which a terminal brings it, and that all
// it costs is the new bytes: twice as many ("x-of-4MiB") take twice as long. Memory for the output is there before.
func BenchmarkUntilRegex(b *testing.B) {
	for _, p := range []struct{ name, expr string }{
		{"literal", "RC=0;END"}, {"prompt", `[$#>] $`}, {"alternation", `(FAILED|PASSED|RC=\d+;END)`}, {"general", `\w+=\d+;\w+ \$`},
	} {
		b.Run(p.name, func(b *testing.B) {
			const mebibyte = 1 << 20
			t := &benchTransport{pieces: make(chan []byte), end: make(chan struct{})}
			s := session.New(t, session.Options{BufferBytes: 32 * mebibyte}) // no reader is left behind by so much
			defer s.Close(context.Background(), session.CloseOptions{})
			piece := []byte(strings.Repeat(benchLine, 4<<10/len(benchLine)+1)[:4<<10])
			flood := func(size int) {
				for n := 0; n < size; n += len(piece) {
					t.pieces <- piece
				}
			}
			flood(32 * mebibyte)
			flood(len(piece)) // taken when all before is in the buffer
			until := regexp.MustCompile(p.expr)
			wait := func(size int) time.Duration {
				found := make(chan session.Chunk, 1)
				begin, from := time.Now(), s.End()
				go func() {
					found <- s.Read(
						context.Background(),
						session.ReadRequest{Cursor: from, Tail: true, MaxBytes: 80, Until: until, Timeout: time.Minute},
					)
				}()
				flood(size)
				t.pieces <- []byte("\nRC=0;END $ ")
				if c := <-found; c.Reason != session.ReasonMatched || !bytes.HasSuffix(c.Data, []byte("RC=0;END $ ")) {
					b.Fatalf("%s at %d: %q", c.Reason, c.Next, c.Data)
				}
				took := time.Since(begin)
				t.pieces <- []byte("\n") // or the prompt would still be there for the next to find
				return took
			}
			var small, large time.Duration
			for b.Loop() {
				small += wait(4 * mebibyte)
				large += wait(8 * mebibyte)
			}
			b.ReportMetric(float64(large)/float64(small), "x-of-4MiB")
			b.ReportMetric(float64(b.N)*12/(small+large).Seconds(), "MiB/s")
			b.ReportMetric(0, "ns/op")
		})
	}
}
