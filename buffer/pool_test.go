package buffer_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"ptyctl/buffer"
)

const block = 4 << 10 // the size of a Buffer's first block

func TestPool(t *testing.T) {
	pool := buffer.NewPool(4 * block)
	a := buffer.New(buffer.Options{MaxBytes: 16 * block, Pool: pool})
	b := buffer.New(buffer.Options{MaxBytes: 16 * block, Pool: pool})
	held := func(want int) {
		t.Helper()
		if got := pool.Held(); got != int64(want) {
			t.Errorf("%d bytes are held, want %d", got, want)
		}
	}
	if !a.Reserve() || !b.Reserve() || !a.Reserve() { // a second call has no effect
		t.Fatal("no room for two blocks")
	}
	held(2 * block)
	a.Write(make([]byte, block)) // fits into the reserved block
	held(2 * block)
	a.Write([]byte("x"))
	held(3 * block)
	if st := a.Stat(); st.Capped || st.Start != 0 {
		t.Errorf("Stat after %d bytes = %+v, want all bytes held and Capped false", block+1, st)
	}
	a.Write(make([]byte, block)) // wants 4 blocks, which would make 5 of them
	held(3 * block)
	if st := a.Stat(); !st.Capped || st.Allocated != 2*block || st.Start != 1 || st.End != 2*block+1 {
		t.Errorf("Stat after %d bytes in a full pool = %+v, want 2 blocks, 1 byte dropped, Capped true", 2*block+1, st)
	}
	if buffer.New(buffer.Options{Pool: pool}).Reserve() != true {
		t.Error("no room for the last block")
	}
	if buffer.New(buffer.Options{Pool: pool}).Reserve() {
		t.Error("room beyond the limit")
	}

	// A Buffer without a reservation still gets its first block, and no more.
	c := buffer.New(buffer.Options{Pool: pool})
	c.Write(bytes.Repeat([]byte("0123456789"), block))
	held(5 * block)
	if s := c.At(0, 0); len(s.Data) != block || s.Dropped != 9*block || s.End != 10*block ||
		!bytes.HasSuffix(s.Data, []byte("6789")) {
		t.Errorf("%d bytes after %d, end %d", len(s.Data), s.Dropped, s.End)
	}

	b.Free()
	c.Free()
	c.Free()
	held(3 * block)
	if s := c.At(5, 0); !s.EOF || len(s.Data) != 0 || s.Dropped != 10*block-5 || s.Start != 10*block {
		t.Errorf("after Free: %+v", s)
	}
	if _, err := c.Write([]byte("x")); err == nil {
		t.Error("a Write after Free")
	}
	a.Write(make([]byte, 1)) // twice the size would still be too much
	held(3 * block)
	a.Free()
	held(block)
}

func TestNoPool(t *testing.T) {
	var pool *buffer.Pool
	if !pool.Take(1<<40) || pool.Held() != 0 || pool.Limit() != 0 {
		t.Error("a nil Pool bounds something")
	}
	pool.Give(1)
}

// A Pool must count exactly the memory of its Buffers, and never more than its limit.
func TestPoolCountsWhatIsHeld(t *testing.T) {
	for seed := range uint64(50) {
		r := rand.New(rand.NewPCG(seed, 1))
		limit := (8 + r.IntN(200)) * block / 2
		pool := buffer.NewPool(int64(limit))
		type one struct {
			b    *buffer.Buffer
			sent []byte
		}
		var all []*one
		for range 300 {
			switch {
			case len(all) == 0 || r.IntN(10) == 0:
				if b := buffer.New(buffer.Options{MaxBytes: 1 + r.IntN(20*block), Pool: pool}); b.Reserve() {
					all = append(all, &one{b: b})
				}
			case r.IntN(20) == 0:
				i := r.IntN(len(all))
				all[i].b.Free()
				all = append(all[:i], all[i+1:]...)
			default:
				o := all[r.IntN(len(all))]
				p := []byte(fmt.Sprintf("%0*d", 1+r.IntN(3*block), r.Int()))
				o.sent = append(o.sent, p...)
				o.b.Write(p)
			}
			var sum int64
			look := r.IntN(max(len(all), 1)) // each time to look at the data of all takes the race detector 7 s
			for i, o := range all {
				st := o.b.Stat()
				sum += int64(max(st.Allocated, min(block, st.Limit)))
				if i != look {
					continue
				}
				s := o.b.At(0, 0)
				if st.End != int64(len(o.sent)) || !bytes.Equal(s.Data, o.sent[s.Start:]) || len(o.sent) > 0 && len(s.Data) == 0 {
					t.Fatalf("seed %d: %+v of %d bytes", seed, st, len(o.sent))
				}
			}
			if pool.Held() != sum || sum > int64(limit) {
				t.Fatalf("seed %d: the pool counts %d, the buffers have %d, the limit is %d", seed, pool.Held(), sum, limit)
			}
		}
		for _, o := range all {
			o.b.Free()
		}
		if pool.Held() != 0 {
			t.Fatalf("seed %d: %d bytes are left", seed, pool.Held())
		}
	}
}

func TestPoolInParallel(t *testing.T) {
	pool := buffer.NewPool(20 * block)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 200 {
				b := buffer.New(buffer.Options{MaxBytes: 8 * block, Pool: pool})
				if b.Reserve() {
					b.Write(make([]byte, 8*block))
				}
				if h := pool.Held(); h > 20*block {
					t.Errorf("%d bytes are held", h)
				}
				b.Free()
			}
		})
	}
	wg.Wait()
	if pool.Held() != 0 {
		t.Errorf("%d bytes are left", pool.Held())
	}
}
