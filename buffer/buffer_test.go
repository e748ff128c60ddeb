package buffer_test

import (
	"errors"
	"io"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"ptyctl/buffer"
)

// filled returns a buffer after each of the writes.
func filled(t *testing.T, o buffer.Options, writes ...string) *buffer.Buffer {
	t.Helper()
	b := buffer.New(o)
	for _, w := range writes {
		if n, err := io.WriteString(b, w); n != len(w) || err != nil {
			t.Fatalf("Write of %d bytes: %d, %v", len(w), n, err)
		}
	}
	return b
}

func isClosed(ch <-chan struct{}) bool {
	select {
	case <-ch:
		return true
	default:
		return false
	}
}

func TestAt(t *testing.T) {
	tests := []struct {
		name     string
		maxBytes int
		writes   []string
		offset   int64
		limit    int
		want     string
		start    int64
		dropped  int64
		end      int64
	}{
		{"empty", 10, nil, 0, 0, "", 0, 0, 0},
		{"empty, past the end", 10, nil, 7, 0, "", 0, 0, 0},
		{"empty, negative", 10, nil, -7, 0, "", 0, 0, 0},
		{"empty write", 10, []string{""}, 0, 0, "", 0, 0, 0},
		{"all", 10, []string{"abc", "def"}, 0, 0, "abcdef", 0, 0, 6},
		{"negative limit is all", 10, []string{"abcdef"}, 0, -1, "abcdef", 0, 0, 6},
		{"some", 10, []string{"abcdef"}, 2, 3, "cde", 2, 0, 6},
		{"limit beyond the end", 10, []string{"abcdef"}, 2, 99, "cdef", 2, 0, 6},
		{"greatest limit", 10, []string{"abcdef"}, 2, math.MaxInt, "cdef", 2, 0, 6},
		{"at the end", 10, []string{"abcdef"}, 6, 0, "", 6, 0, 6},
		{"past the end", 10, []string{"abcdef"}, 7, 0, "", 6, 0, 6},
		{"far past the end", 10, []string{"abcdef"}, math.MaxInt64, 5, "", 6, 0, 6},
		{"negative", 10, []string{"abcdef"}, -1, 2, "ab", 0, 0, 6},
		{"most negative", 10, []string{"abcdef"}, math.MinInt64, 0, "abcdef", 0, 0, 6},
		{"exactly full", 6, []string{"abc", "def"}, 0, 0, "abcdef", 0, 0, 6},
		{"at the oldest", 6, []string{"abcdef", "gh"}, 2, 0, "cdefgh", 2, 0, 8},
		{"before the oldest", 6, []string{"abcdef", "gh"}, 1, 3, "cde", 2, 1, 8},
		{"long before the oldest", 6, []string{"abcdef", "gh"}, -5, 0, "cdefgh", 2, 2, 8},
		{"up to the seam", 6, []string{"abcdef", "gh"}, 2, 4, "cdef", 2, 0, 8},
		{"over the seam", 6, []string{"abcdef", "gh"}, 5, 2, "fg", 5, 0, 8},
		{"past the seam", 6, []string{"abcdef", "gh"}, 7, 1, "h", 7, 0, 8},
		{"past the end when wrapped", 6, []string{"abcdef", "gh"}, 9, 0, "", 8, 0, 8},
		{"wrapped many times", 5, []string{"abc", "def", "ghi", "jkl", "mno"}, 0, 0, "klmno", 10, 10, 15},
		{"huge write", 4, []string{"abcdefghij"}, 0, 0, "ghij", 6, 6, 10},
		{"huge write after others", 4, []string{"ab", "cdefghij"}, 0, 0, "ghij", 6, 6, 10},
		{"write of exactly the limit", 4, []string{"ab", "cdef"}, 0, 0, "cdef", 2, 2, 6},
		{"after a huge write", 4, []string{"abcdefghij", "k"}, 0, 0, "hijk", 7, 7, 11},
		{"one byte", 1, []string{"ab", "c"}, 0, 0, "c", 2, 2, 3},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := filled(t, buffer.Options{MaxBytes: tt.maxBytes}, tt.writes...)
			s := b.At(tt.offset, tt.limit)
			if string(s.Data) != tt.want || s.Start != tt.start || s.Dropped != tt.dropped || s.End != tt.end {
				t.Errorf("got %q at %d of %d, %d dropped, want %q at %d of %d, %d dropped",
					s.Data, s.Start, s.End, s.Dropped, tt.want, tt.start, tt.end, tt.dropped)
			}
			if s.Next != s.Start+int64(len(s.Data)) {
				t.Errorf("Next = %d, want Start %d + %d bytes", s.Next, s.Start, len(s.Data))
			}
			if s.EOF || isClosed(s.Changed) {
				t.Errorf("EOF %v, Changed closed %v on an open buffer", s.EOF, isClosed(s.Changed))
			}
		})
	}
}

func TestDataIsACopy(t *testing.T) {
	p := []byte("abc")
	b := buffer.New(buffer.Options{})
	b.Write(p)
	p[0] = 'X'
	b.At(0, 0).Data[1] = 'Y'
	if got := b.At(0, 0).Data; string(got) != "abc" {
		t.Errorf("the buffer holds %q, want %q", got, "abc")
	}
}

func TestClose(t *testing.T) {
	b := filled(t, buffer.Options{}, "abc")
	s, changed := b.At(3, 0), b.Changed()
	for range 2 {
		if err := b.Close(); err != nil {
			t.Fatalf("Close: %v", err)
		}
	}
	if !isClosed(s.Changed) || !isClosed(changed) || !isClosed(b.Changed()) {
		t.Error("Close left somebody waiting")
	}
	for _, p := range []string{"d", ""} {
		if n, err := io.WriteString(b, p); n != 0 || !errors.Is(err, io.ErrClosedPipe) {
			t.Errorf("Write of %q after Close: %d, %v", p, n, err)
		}
	}
	if st := b.Stat(); !st.Closed || st.End != 3 {
		t.Errorf("Stat: %+v", st)
	}
	for _, tt := range []struct {
		offset int64
		limit  int
		want   string
		eof    bool
	}{{0, 0, "abc", true}, {0, 2, "ab", false}, {2, 1, "c", true}, {3, 0, "", true}, {9, 0, "", true}} {
		s := b.At(tt.offset, tt.limit)
		if string(s.Data) != tt.want || s.EOF != tt.eof || !isClosed(s.Changed) {
			t.Errorf("At(%d, %d): %q, EOF %v, want %q, EOF %v", tt.offset, tt.limit, s.Data, s.EOF, tt.want, tt.eof)
		}
	}
}

func TestCloseEmpty(t *testing.T) {
	b := buffer.New(buffer.Options{})
	b.Close()
	if s := b.At(0, 0); !s.EOF || s.Data != nil || !isClosed(s.Changed) {
		t.Errorf("got %+v, want only EOF", s)
	}
}

func TestNoWakeUpIsLost(t *testing.T) {
	b := buffer.New(buffer.Options{})
	s := b.At(0, 0)
	before := b.Changed()
	b.Write(nil)
	if isClosed(s.Changed) {
		t.Error("an empty Write woke a reader")
	}
	io.WriteString(b, "x") // between At and the wait
	if !isClosed(s.Changed) || !isClosed(before) {
		t.Error("the Write after At went unnoticed")
	}
	if isClosed(b.Changed()) {
		t.Error("a channel taken after the Write is already closed")
	}
}

func TestBroadcast(t *testing.T) {
	for name, event := range map[string]func(*buffer.Buffer){
		"Write": func(b *buffer.Buffer) { io.WriteString(b, "x") },
		"Close": func(b *buffer.Buffer) { b.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := buffer.New(buffer.Options{})
				var mu sync.Mutex
				woken := 0
				for i := range 100 {
					go func() {
						if i%2 == 0 {
							<-b.Changed()
						} else {
							<-b.At(0, 0).Changed
						}
						mu.Lock()
						woken++
						mu.Unlock()
					}()
				}
				synctest.Wait()
				if woken != 0 {
					t.Fatalf("%d woke before the event", woken)
				}
				event(b)
				synctest.Wait()
				if woken != 100 {
					t.Errorf("%d of 100 woke", woken)
				}
			})
		})
	}
}

func TestLineCap(t *testing.T) {
	tests := []struct {
		name     string
		maxBytes int
		maxLines int
		writes   []string
		want     string
		lines    int
	}{
		{"no cap", 0, 0, []string{"1\n2\n3\n"}, "1\n2\n3\n", 3},
		{"negative is no cap", 0, -1, []string{"1\n2\n3\n"}, "1\n2\n3\n", 3},
		{"below", 0, 3, []string{"1\n", "2\n"}, "1\n2\n", 2},
		{"at", 0, 2, []string{"1\n", "2\n"}, "1\n2\n", 2},
		{"one over", 0, 2, []string{"1\n", "2\n", "3\n"}, "2\n3\n", 2},
		{"many over in one write", 0, 2, []string{"1\n2\n3\n4\n5\n"}, "4\n5\n", 2},
		{"a partial line counts", 0, 2, []string{"1\n2\n", "3"}, "2\n3", 2},
		{"and grows in place", 0, 2, []string{"1\n2\n3", "3", "3\n"}, "2\n333\n", 2},
		{"one line", 0, 1, []string{"1\n2\n"}, "2\n", 1},
		{"one line, partial", 0, 1, []string{"1\n2\nabc"}, "abc", 1},
		{"empty lines", 0, 2, []string{"\n\n\n\n"}, "\n\n", 2},
		{"no newline at all", 0, 1, []string{"abc", "def"}, "abcdef", 1},
		{"bytes cut first", 5, 2, []string{"abcdef\n1\n2"}, "1\n2", 2},
		{"bytes cut inside a line", 5, 2, []string{"abcdefg\n1"}, "efg\n1", 2},
		{"over the seam", 6, 2, []string{"1\n2\n3\n", "4\n", "5\n6\n", "7"}, "6\n7", 2},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := filled(t, buffer.Options{MaxBytes: tt.maxBytes, MaxLines: tt.maxLines}, tt.writes...)
			s := b.At(0, 0)
			if string(s.Data) != tt.want {
				t.Errorf("holds %q, want %q", s.Data, tt.want)
			}
			if st := b.Stat(); st.Lines != tt.lines || st.Start != s.Start || st.End != s.End {
				t.Errorf("Stat %+v, want %d lines in [%d, %d)", st, tt.lines, s.Start, s.End)
			}
			if total := int64(len(strings.Join(tt.writes, ""))); s.End != total || s.Dropped+int64(len(s.Data)) != total {
				t.Errorf("%d held + %d dropped, End %d, want %d written", len(s.Data), s.Dropped, s.End, total)
			}
		})
	}
}

func TestLastLines(t *testing.T) {
	long := strings.Repeat("x", 5000)
	tests := []struct {
		name     string
		maxBytes int
		writes   []string
		n        int
		want     string // bytes from the returned offset on
	}{
		{"empty", 9, nil, 3, ""},
		{"zero", 9, []string{"1\n2\n"}, 0, ""},
		{"negative", 9, []string{"1\n2\n"}, math.MinInt, ""},
		{"one", 9, []string{"1\n2\n"}, 1, "2\n"},
		{"all", 9, []string{"1\n2\n"}, 2, "1\n2\n"},
		{"more than there are", 9, []string{"1\n2\n"}, 3, "1\n2\n"},
		{"greatest", 9, []string{"1\n2\n"}, math.MaxInt, "1\n2\n"},
		{"partial", 9, []string{"1\n2\n3"}, 1, "3"},
		{"partial and one", 9, []string{"1\n2\n3"}, 2, "2\n3"},
		{"only a partial", 9, []string{"abc"}, 1, "abc"},
		{"empty lines", 9, []string{"a\n\n\n"}, 2, "\n\n"},
		{"first line cut", 4, []string{"abcd\n1\n"}, 2, "d\n1\n"},
		{"first line cut, more wanted", 4, []string{"abcd\n1\n"}, 9, "d\n1\n"},
		{"over the seam", 6, []string{"1\n2\n3\n", "4\n5"}, 3, "3\n4\n5"},
		{"newline before the seam", 6, []string{"1\n2\n3\n", "45"}, 1, "45"},
		{"lines longer than a block", 0, []string{"1\n", long, "\n", long, "\n2\n"}, 2, long + "\n2\n"},
		{"block edge", 0, []string{"1\n", strings.Repeat("x", 4095), "\n"}, 1, strings.Repeat("x", 4095) + "\n"},
		{"many blocks", 0, []string{strings.Repeat("ab\n", 20000)}, 15000, strings.Repeat("ab\n", 15000)},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := filled(t, buffer.Options{MaxBytes: tt.maxBytes}, tt.writes...)
			offset := b.LastLines(tt.n)
			if s := b.At(offset, 0); s.Start != offset || string(s.Data) != tt.want {
				t.Errorf("offset %d (read from %d): %.40q (%d bytes), want %.40q (%d bytes)",
					offset, s.Start, s.Data, len(s.Data), tt.want, len(tt.want))
			}
		})
	}
}

func TestLines(t *testing.T) {
	long := strings.Repeat("x", 5000)
	many := strings.Repeat("ab\n", 20000)
	tests := []struct {
		name     string
		maxBytes int
		writes   []string
		skip, n  int
		start    int64
		want     string
	}{
		{"empty", 9, nil, 0, 3, 0, ""},
		{"all", 9, []string{"1\n2\n"}, 0, 0, 0, "1\n2\n"},
		{"negative", 9, []string{"1\n2\n"}, math.MinInt, math.MinInt, 0, "1\n2\n"},
		{"greatest", 9, []string{"1\n2\n"}, 0, math.MaxInt, 0, "1\n2\n"},
		{"first", 9, []string{"1\n2\n"}, 0, 1, 0, "1\n"},
		{"second", 9, []string{"1\n2\n"}, 1, 1, 2, "2\n"},
		{"past the end", 9, []string{"1\n2\n"}, 2, 1, 4, ""},
		{"far past the end", 9, []string{"1\n2\n"}, math.MaxInt, 1, 4, ""},
		{"partial", 9, []string{"1\n2\n3"}, 2, 1, 4, "3"},
		{"only a partial", 9, []string{"abc"}, 0, 1, 0, "abc"},
		{"empty lines", 9, []string{"a\n\n\nb"}, 1, 2, 2, "\n\n"},
		{"first line cut", 4, []string{"abcd\n1\n"}, 0, 1, 3, "d\n"},
		{"over the seam", 6, []string{"1\n2\n3\n", "4\n5"}, 1, 2, 4, "3\n4\n"},
		{"lines longer than a block", 0, []string{"1\n", long, "\n", long, "\n2\n3\n4\n5\n"}, 2, 1, 5003, long + "\n"},
		{"block edge", 0, []string{strings.Repeat("x", 4095), "\n1\n2\n3\n"}, 1, 1, 4096, "1\n"},
		{"from the front of many blocks", 0, []string{many}, 9000, 3, 27000, "ab\nab\nab\n"},
		{"from the back of many blocks", 0, []string{many}, 19999, 3, 59997, "ab\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := filled(t, buffer.Options{MaxBytes: tt.maxBytes}, tt.writes...)
			data, start, stat := b.Lines(tt.skip, tt.n)
			if string(data) != tt.want || start != tt.start || stat != b.Stat() {
				t.Errorf(
					"%.40q (%d bytes) at %d, %+v; want %.40q (%d bytes) at %d",
					data,
					len(data),
					start,
					stat,
					tt.want,
					len(tt.want),
					tt.start,
				)
			}
		})
	}
}

func TestGrowth(t *testing.T) {
	const kib = 1 << 10
	tests := []struct {
		name     string
		maxBytes int
		writes   []int // sizes
		want     int   // Allocated
	}{
		{"nothing at first", 0, nil, 0},
		{"nothing for nothing", 0, []int{0}, 0},
		{"one byte", 0, []int{1}, 4 * kib},
		{"full first block", 0, []int{4 * kib}, 4 * kib},
		{"one more", 0, []int{4 * kib, 1}, 8 * kib},
		{"several steps at once", 0, []int{33 * kib}, 36 * kib},
		{"by half from 16 KiB on", 0, []int{16 * kib, 1}, 24 * kib},
		{"in whole KiB", 0, []int{36 * kib, 1}, 56 * kib},
		{"default limit", 0, []int{3 << 20, 1}, 2 << 20},
		{"limit below the first block", 100, []int{1}, 100},
		{"odd limit", 10000, []int{8193}, 10000},
		{"odd limit, not yet", 10000, []int{8192}, 8192},
		{"limit reached with room to spare", 10000, []int{4096, 99}, 8192},
		{"huge write into nothing", 10000, []int{50000}, 10000},
		{"huge limit", math.MaxInt, []int{5000}, 8 * kib},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := buffer.New(buffer.Options{MaxBytes: tt.maxBytes})
			for _, n := range tt.writes {
				b.Write(make([]byte, n))
			}
			if got := b.Stat().Allocated; got != tt.want {
				t.Errorf("Allocated = %d, want %d", got, tt.want)
			}
		})
	}

	t.Run("bounded at every step", func(t *testing.T) {
		const limit = 50_000
		b := buffer.New(buffer.Options{MaxBytes: limit})
		for i := range 400 {
			b.Write(make([]byte, i))
			st := b.Stat()
			if held := st.End - st.Start; st.Allocated > limit || held > int64(st.Allocated) || st.Limit != limit {
				t.Fatalf("after write %d: %+v", i, st)
			}
		}
	})

	// Dropped lines free room, so a stream of short lines under a line limit must not grow the buffer.
	t.Run("line cap bounds it too", func(t *testing.T) {
		b := buffer.New(buffer.Options{MaxLines: 10})
		for range 10_000 {
			io.WriteString(b, "a line of text\n")
		}
		if got := b.Stat().Allocated; got != 4*kib {
			t.Errorf("Allocated = %d, want %d", got, 4*kib)
		}
	})
}

func TestWriteWithoutWaitersAllocatesNothing(t *testing.T) {
	b := buffer.New(buffer.Options{MaxBytes: 64 << 10, MaxLines: 100})
	p := []byte(strings.Repeat("some line of text\n", 200))
	for range 100 {
		b.Write(p)
	}
	if n := testing.AllocsPerRun(100, func() { b.Write(p) }); n != 0 {
		t.Errorf("%v allocations per Write, want 0", n)
	}
}

// A closed Buffer that is opened again goes on with its offsets, and remembers where.
func TestReopen(t *testing.T) {
	b := filled(t, buffer.Options{}, "one")
	b.Reopen() // it is not closed
	_ = b.Close()
	b.Reopen()
	if st := b.Stat(); st.Closed || st.End != 3 || isClosed(b.Changed()) {
		t.Fatalf("after Reopen: %+v", st)
	}
	_ = b.Close() // nothing has come
	b.Reopen()
	changed := b.Changed()
	if _, err := io.WriteString(b, "two"); err != nil || !isClosed(changed) {
		t.Errorf("a write after Reopen: %v", err)
	}
	_ = b.Close()
	b.Reopen()
	if got := b.At(0, 0); string(got.Data) != "onetwo" || got.EOF {
		t.Errorf("At(0) = %q, EOF %t; want all of it", got.Data, got.EOF)
	}
	for _, c := range []struct {
		from, to int64
		want     []int64
	}{{0, math.MaxInt64, []int64{3, 6}}, {3, 6, []int64{3}}, {4, 6, nil}, {0, 3, nil}} {
		if got := b.Breaks(c.from, c.to); !slices.Equal(got, c.want) {
			t.Errorf("Breaks(%d, %d) = %v, want %v", c.from, c.to, got, c.want)
		}
	}
	for offset, want := range []int64{0, 0, 0, 3, 3, 3, 6, 6} {
		if got := b.Begin(int64(offset)); got != want {
			t.Errorf("Begin(%d) = %d, want %d", offset, got, want)
		}
	}
	for range 1000 {
		_, _ = b.Write([]byte("x"))
		_ = b.Close()
		b.Reopen()
	}
	if got := b.Breaks(0, math.MaxInt64); len(got) != 64 || got[63] != 1006 {
		t.Errorf("%d breaks are kept, the last one %d; want the last 64", len(got), got[len(got)-1])
	}
}
