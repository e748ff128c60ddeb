package known

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"ptyctl/secret/forms"
	"ptyctl/term"
)

// pieceSize is the size of one read of a Linux terminal while its program is faster than the reader.
const pieceSize = 4095

// floods are kinds of output as a terminal gives it.
func floods() map[string]string {
	var table strings.Builder
	for row := range 24 {
		fmt.Fprintf(&table, "\x1b[%d;1H\x1b[32m%6d\x1b[m root\x1b[6C\x1b[1m%5.1f\x1b[m process-%d --option\x1b[K",
			row+1, 31*row, float64(row), row)
	}
	return map[string]string{
		"plain":   "-rw-r--r-- 1 root root 1379 Jan  1 00:00 a-file-with-a-name-of-some-length.txt\r\n",
		"colours": "-rw-r--r-- 1 root root 1379 Jan  1 00:00 \x1b[0m\x1b[01;34mname\x1b[0m and \x1b[32mgreen\x1b[0m text\r\n",
		"table":   table.String(),
	}
}

// BenchmarkPieces measures the cost of the search in pieces as a terminal sends them, with other work using the
// caches in between: ns/piece is the additional time of a Stream with values.
func BenchmarkPieces(b *testing.B) {
	for kind, line := range floods() {
		text := []byte(strings.Repeat(line, 4<<20/len(line)))
		for _, n := range []int{5, 50} {
			b.Run(fmt.Sprintf("%s/%d", kind, n), func(b *testing.B) {
				r := NewRegistry()
				defer r.Close()
				view := at(r, "s", web1)
				for i := range n {
					v := fmt.Appendf(nil, "%x-%X%x", 0x9e3779b9*uint32(i+1), 0x85ebca6b*uint32(i+7), i)[:10+i%8]
					r.Redact(term.RedactedValue{Value: v, Host: web1})
				}
				runtime.LockOSThread()
				defer runtime.UnlockOSThread()
				var sum int
				accept := func(p []byte) {
					for i := 0; i < len(p); i += 64 {
						sum += int(p[i])
					}
				}
				with, without := newPieces(view, accept), newPieces(nil, accept)
				piece, other := make([]byte, pieceSize), make([]byte, 96<<10)
				at := 0
				feed := func(s *Stream, from int) float64 {
					before := threadTime()
					for at = from; at+pieceSize <= len(text) && at < from+16*pieceSize; at += pieceSize {
						for i := 0; i < len(other); i += 64 {
							other[i]++
						}
						copy(piece, text[at:])
						s.Write(piece)
					}
					return float64(threadTime()-before) / float64(at-from) * pieceSize
				}
				var more, less []float64
				for b.Loop() {
					for from := 0; from+pieceSize <= len(text); from = at {
						more, less = append(more, feed(with, from)), append(less, feed(without, from))
					}
				}
				slices.Sort(more)
				slices.Sort(less)
				with.End()
				b.ReportMetric(more[len(more)/2]-less[len(less)/2], "ns/piece")
			})
		}
	}
}

func newPieces(v *View, accept func(p []byte)) *Stream {
	return NewStream(v, func(p []byte, _ []forms.Cut) { accept(p) }, func(f func()) bool { go f(); return true })
}

// threadTime returns how long this thread has run.
func threadTime() time.Duration {
	var t unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t) // if it fails, the figure is 0
	return time.Duration(t.Nano())
}
