package mux

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
)

// A pipe passes the same data as an io.Pipe, whatever the sizes of the written and read parts.
func TestPipeAsIOPipe(t *testing.T) {
	slowOut, slowIn := io.Pipe()
	p := newPipe()
	for name, way := range map[string]struct {
		r     io.Reader
		w     io.Writer
		close func()
	}{
		"pipe":    {p, p, func() { p.close(nil) }},
		"io.Pipe": {slowOut, slowIn, func() { _ = slowIn.Close() }},
	} {
		t.Run(name, func(t *testing.T) {
			random := rand.New(rand.NewPCG(1, 2))
			sent := make([]byte, 1<<20)
			for i := range sent {
				sent[i] = byte(random.Uint32())
			}
			var writer sync.WaitGroup
			writer.Go(func() {
				defer way.close()
				random := rand.New(rand.NewPCG(3, 4))
				b := make([]byte, 100<<10)
				for rest := sent; len(rest) > 0; {
					n := copy(b, rest[:min(len(rest), random.IntN(len(b)))])
					if m, err := way.w.Write(b[:n]); m != n || err != nil {
						t.Errorf("Write: %d of %d, %v", m, n, err)
						return
					}
					clear(b) // which is the caller's again
					rest = rest[n:]
				}
			})
			var got bytes.Buffer
			for {
				b := make([]byte, random.IntN(40<<10))
				n, err := way.r.Read(b)
				got.Write(b[:n])
				if err != nil {
					if !errors.Is(err, io.EOF) {
						t.Error(err)
					}
					break
				}
			}
			writer.Wait()
			if !bytes.Equal(got.Bytes(), sent) {
				t.Errorf("%d bytes of %d came, or others", got.Len(), len(sent))
			}
		})
	}
}

// Two writes at a time do not mix.
func TestPipeOfTwoWriters(t *testing.T) {
	p := newPipe()
	const size = 10 << 10
	var writers sync.WaitGroup
	for _, c := range []string{"a", "b"} {
		writers.Go(func() {
			if _, err := p.Write(bytes.Repeat([]byte(c), size)); err != nil {
				t.Error(err)
			}
		})
	}
	got := make([]byte, 2*size)
	for n := 0; n < len(got); {
		m, err := p.Read(got[n:min(n+100, len(got))])
		if err != nil {
			t.Fatal(err)
		}
		n += m
	}
	writers.Wait()
	for _, half := range [][]byte{got[:size], got[size:]} {
		if !bytes.Equal(half, bytes.Repeat(half[:1], size)) {
			t.Error("the data of two writes is mixed")
		}
	}
}

// Closing a pipe ends all that wait, and says why.
func TestPipeClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		broken := errors.New("broken")
		for _, read := range []int{0, 3} {
			p := newPipe()
			var all sync.WaitGroup
			all.Go(func() {
				n, err := p.Write(make([]byte, 10))
				if n != read || !errors.Is(err, broken) {
					t.Errorf("Write: %d, %v; want %d and the error of close", n, err, read)
				}
			})
			all.Go(func() {
				synctest.Wait()
				if read > 0 {
					if n, err := p.Read(make([]byte, read)); n != read || err != nil {
						t.Errorf("Read: %d, %v", n, err)
					}
				}
				p.close(broken)
				p.close(nil) // changes nothing
				if n, err := p.Read(make([]byte, 1)); n != 0 || !errors.Is(err, broken) {
					t.Errorf("Read after close: %d, %v", n, err)
				}
				if n, err := p.Write(make([]byte, 1)); n != 0 || !errors.Is(err, broken) {
					t.Errorf("Write after close: %d, %v", n, err)
				}
			})
			all.Wait()
			p = newPipe()
			all.Go(func() {
				if n, err := p.Read(make([]byte, 1)); n != 0 || !errors.Is(err, io.EOF) {
					t.Errorf("Read: %d, %v; want io.EOF", n, err)
				}
			})
			synctest.Wait()
			p.close(nil)
			all.Wait()
		}
	})
}

// A packet of SFTP with 32 KiB of data is read in four parts, and one of 256 KiB is sent in eight. old is an io.Pipe.
func BenchmarkPipe(b *testing.B) {
	slowOut, slowIn := io.Pipe()
	p := newPipe()
	for _, tt := range []struct {
		name  string
		size  int
		parts []int
	}{
		{"read", 32 << 10, []int{4, 5, 4, 32<<10 - 13}},
		{"write", 256 << 10, slices.Repeat([]int{32 << 10}, 8)},
	} {
		for _, way := range []struct {
			name string
			r    io.Reader
			w    io.Writer
		}{{"old", slowOut, slowIn}, {"new", p, p}} {
			b.Run(tt.name+"/"+way.name, func(b *testing.B) {
				b.SetBytes(int64(tt.size))
				var writer sync.WaitGroup
				n := b.N
				writer.Go(func() {
					data := make([]byte, tt.size)
					for range n {
						_, _ = way.w.Write(data) // no one closes it
					}
				})
				into := make([]byte, tt.size)
				for range n {
					for _, part := range tt.parts {
						_, _ = io.ReadFull(way.r, into[:part])
					}
				}
				writer.Wait()
			})
		}
	}
}
