package buffer_test

import (
	"bytes"
	"fmt"
	"sync"
	"testing"

	"ptyctl/buffer"
)

// The benchmarks compare the ring with the simplest implementation: a slice that is appended to and trimmed by
// copying down.

const benchLimit = 2 << 20

var benchChunk = bytes.Repeat(
	[]byte("drwxr-xr-x  2 root root  4096 Jan  1 00:00 a-directory-of-some-length\n"), 60)[:4<<10]

type naive struct {
	mu   sync.Mutex
	data []byte
}

func (n *naive) Write(p []byte) (int, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.data = append(n.data, p...)
	if over := len(n.data) - benchLimit; over > 0 {
		n.data = append(n.data[:0], n.data[over:]...)
	}
	return len(p), nil
}

func (n *naive) lastLines(lines int) int {
	n.mu.Lock()
	defer n.mu.Unlock()
	at := len(n.data) - 1
	for ; lines > 0 && at >= 0; lines-- {
		at = bytes.LastIndexByte(n.data[:at], '\n')
	}
	return at + 1
}

func full() *buffer.Buffer {
	b := buffer.New(buffer.Options{MaxBytes: benchLimit})
	for range benchLimit/len(benchChunk) + 7 { // past the limit, so that the ring has wrapped
		b.Write(benchChunk)
	}
	return b
}

func BenchmarkWrite4KiB(b *testing.B) {
	for _, readers := range []int{0, 4} {
		b.Run(fmt.Sprintf("readers=%d", readers), func(b *testing.B) {
			buf := full()
			var wg sync.WaitGroup
			for range readers {
				next := buf.Stat().End
				wg.Go(func() {
					for {
						s := buf.At(next, 64<<10)
						if s.EOF {
							return
						}
						if next = s.Next; next == s.End {
							<-s.Changed
						}
					}
				})
			}
			b.SetBytes(int64(len(benchChunk)))
			b.ReportAllocs()
			for b.Loop() {
				buf.Write(benchChunk)
			}
			buf.Close()
			wg.Wait()
		})
	}
	b.Run("naive", func(b *testing.B) {
		n := &naive{data: make([]byte, benchLimit, benchLimit+len(benchChunk))}
		b.SetBytes(int64(len(benchChunk)))
		for b.Loop() {
			n.Write(benchChunk)
		}
	})
}

func BenchmarkAt64KiB(b *testing.B) {
	buf := full()
	start := buf.Stat().Start
	b.SetBytes(64 << 10)
	b.ReportAllocs()
	for b.Loop() {
		buf.At(start+1000, 64<<10)
	}
}

func BenchmarkLastLines200(b *testing.B) {
	b.Run("ring", func(b *testing.B) {
		buf := full()
		for b.Loop() {
			buf.LastLines(200)
		}
	})
	b.Run("naive", func(b *testing.B) {
		n := &naive{data: bytes.Repeat(benchChunk, benchLimit/len(benchChunk))}
		for b.Loop() {
			n.lastLines(200)
		}
	})
}

func BenchmarkGrowTo2MiB(b *testing.B) {
	b.Run("ring", func(b *testing.B) {
		b.SetBytes(benchLimit)
		b.ReportAllocs()
		for b.Loop() {
			buf := buffer.New(buffer.Options{MaxBytes: benchLimit})
			for range benchLimit / len(benchChunk) {
				buf.Write(benchChunk)
			}
		}
	})
	b.Run("naive", func(b *testing.B) {
		b.SetBytes(benchLimit)
		b.ReportAllocs()
		for b.Loop() {
			n := &naive{}
			for range benchLimit / len(benchChunk) {
				n.Write(benchChunk)
			}
		}
	})
}
