package buffer_test

import (
	"bytes"
	"math/rand/v2"
	"sync"
	"testing"

	"ptyctl/buffer"
)

// byteAt defines the stream of the concurrent tests: each byte follows from its offset alone, so a reader can check
// it. 251 is prime, so no ring size repeats the pattern.
func byteAt(offset int64) byte { return byte(offset % 251) }

// TestConcurrentReaders lets fast and slow readers follow one writer: each byte must arrive exactly once and
// unchanged, or be counted as dropped.
func TestConcurrentReaders(t *testing.T) {
	for name, o := range map[string]buffer.Options{
		"roomy":     {MaxBytes: 256 << 10},
		"tight":     {MaxBytes: 5000},
		"few lines": {MaxBytes: 20000, MaxLines: 17},
	} {
		t.Run(name, func(t *testing.T) {
			const total = 256 << 10
			b := buffer.New(o)
			var wg sync.WaitGroup
			for i := range 24 {
				wg.Go(func() { follow(t, b, 7<<(i%12), total) })
			}
			wg.Go(func() {
				for range 2000 { // one more goroutine calls the other methods
					st := b.Stat()
					if at := b.LastLines(3); at < st.Start {
						t.Errorf("LastLines gave %d, before %d", at, st.Start)
					}
				}
			})
			wg.Go(func() { write(b, total) })
			wg.Wait()
		})
	}
}

func write(b *buffer.Buffer, total int64) {
	defer b.Close()
	random := rand.New(rand.NewPCG(1, 2))
	for offset := int64(0); offset < total; {
		p := make([]byte, min(1+random.Int64N(9000), total-offset))
		for i := range p {
			p[i] = byteAt(offset + int64(i))
		}
		b.Write(p)
		offset += int64(len(p))
	}
}

func follow(t *testing.T, b *buffer.Buffer, limit int, total int64) {
	var next, received, dropped int64
	for {
		s := b.At(next, limit)
		if s.Start != next+s.Dropped || s.Next != s.Start+int64(len(s.Data)) || s.Next > s.End {
			t.Errorf("At(%d): start %d, dropped %d, %d bytes, next %d, end %d",
				next, s.Start, s.Dropped, len(s.Data), s.Next, s.End)
			return
		}
		for i, c := range s.Data {
			if want := byteAt(s.Start + int64(i)); c != want {
				t.Errorf("byte %d is %d, want %d", s.Start+int64(i), c, want)
				return
			}
		}
		received += int64(len(s.Data))
		dropped += s.Dropped
		next = s.Next
		if s.EOF {
			break
		}
		if next == s.End {
			<-s.Changed
		}
	}
	if received+dropped != total {
		t.Errorf("limit %d: %d received + %d dropped, want %d", limit, received, dropped, total)
	}
}

// TestWritesLandWhole lets two goroutines write at once: each Write must still appear in one piece.
func TestWritesLandWhole(t *testing.T) {
	b := buffer.New(buffer.Options{MaxBytes: 1 << 20})
	var wg sync.WaitGroup
	for _, c := range []byte("ab") {
		wg.Go(func() {
			for range 500 {
				b.Write(bytes.Repeat([]byte{c}, 100))
			}
		})
	}
	wg.Wait()
	data := b.At(0, 0).Data
	if len(data) != 100_000 {
		t.Fatalf("%d bytes, want 100000", len(data))
	}
	for piece := data; len(piece) > 0; piece = piece[100:] {
		if !bytes.Equal(piece[:100], bytes.Repeat(piece[:1], 100)) {
			t.Fatalf("a Write was torn: %q", piece[:100])
		}
	}
}
