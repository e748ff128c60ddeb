package buffer

import (
	"bytes"
	"math/rand/v2"
	"testing"
)

// Into returns the same as At, and takes the memory that it is given if that is enough.
func TestInto(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	b := New(Options{MaxBytes: 300})
	var memory []byte
	for i := range 2000 {
		_, _ = b.Write(bytes.Repeat([]byte{byte(i)}, r.IntN(40)))
		offset, limit := b.Stat().Start+int64(r.IntN(400)-50), r.IntN(200)
		want := b.At(offset, limit)
		got := b.Into(memory, offset, limit)
		if !bytes.Equal(got.Data, want.Data) || got.Start != want.Start || got.Next != want.Next || got.End != want.End ||
			got.Dropped != want.Dropped || got.EOF != want.EOF || got.Changed != want.Changed {
			t.Fatalf("Into(%d, %d) = %+v, want as At %+v", offset, limit, got, want)
		}
		if n := len(got.Data); n > 0 && n <= cap(memory) && &got.Data[0] != &memory[:1][0] {
			t.Fatalf("Into(%d, %d) did not take the %d bytes of memory that it was given", offset, limit, cap(memory))
		}
		if cap(got.Data) > cap(memory) {
			memory = got.Data
		}
	}
}
