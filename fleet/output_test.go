package fleet

import (
	"bytes"
	"crypto/sha256"
	"math/rand/v2"
	"testing"
)

// Whatever the writes are, a reader gets the start and the end of the stream as they were, and learns how much is missing.
func TestStream(t *testing.T) {
	for _, size := range []int{0, 1, 9, 10, 11, 19, 20, 21, 29, 30, 31, 100, 1000} {
		for seed := range uint64(20) {
			random := rand.New(rand.NewPCG(seed, uint64(size)))
			all := make([]byte, size)
			for i := range all {
				all[i] = byte(random.IntN(256))
			}
			s := newStream(20)
			for rest := all; len(rest) > 0; {
				n := 1 + random.IntN(len(rest))
				if _, err := s.Write(rest[:n]); err != nil {
					t.Fatalf("Write of %d bytes = %v, want no error", n, err)
				}
				rest = rest[n:]
			}
			s.close()
			if s.SHA256() != sha256.Sum256(all) || s.Total() != int64(size) {
				t.Errorf("the hash of %d bytes is not theirs, or they are counted as %d", size, s.Total())
			}
			var got []byte
			for at, limit := int64(0), 1+random.IntN(40); ; {
				p := s.From(at, limit)
				if p.Start != at+p.Dropped || !bytes.Equal(p.Data, all[p.Start:p.Next()]) || len(p.Data) > limit {
					t.Fatalf("From(%d, %d) of %d bytes = %+v, want what was written there", at, limit, size, p)
				}
				got = append(append(got, make([]byte, p.Dropped)...), p.Data...)
				if at = p.Next(); p.EOF {
					break
				}
				if len(p.Data) == 0 {
					t.Fatalf("From(%d, %d) of %d bytes is empty, and not their end", at, limit, size)
				}
			}
			if len(got) != size || !bytes.Equal(got[:min(10, size)], all[:min(10, size)]) ||
				!bytes.Equal(got[max(0, size-10):], all[max(0, size-10):]) {
				t.Errorf("the parts of %d bytes are %d, want all, with the first and the last ten as written", size, len(got))
			}
			if size <= 20 && !bytes.Equal(got, all) {
				t.Errorf("the parts of %d bytes leave some out, and all have room", size)
			}
		}
	}
}
