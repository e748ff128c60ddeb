package aiterm

import (
	"bytes"
	"math/rand/v2"
	"testing"
	"time"

	"ptyctl/session"
	"ptyctl/term"
)

// A model is the output of a terminal, with the last bytes of it in a buffer, and the
// chunks that readers have received.
type model struct {
	tb       testing.TB
	n        *numbering
	out      []byte
	reported int // bytes that the observer has reported
	held     int
	at       time.Time
	extent   map[uint64][2]int64 // of the chunks that readers have received
}

func newModel(tb testing.TB, held int) *model {
	n := newNumbering()
	n.holds(int64(held))
	return &model{tb: tb, n: n, held: held, at: time.Unix(1000, 0), extent: make(map[uint64][2]int64)}
}

func (m *model) put(p []byte) { m.out = append(m.out, p...) }

// tell reports the new bytes to the numbering, as the observer does.
func (m *model) tell() {
	if size := len(m.out) - m.reported; size > 0 {
		m.reported = len(m.out)
		m.n.came(size, m.at)
	}
}

// read does the work of pty_read.
func (m *model) read(seq uint64, most int) (last uint64, data []byte, lost bool) {
	m.tb.Helper()
	cursor, _, ok := m.n.after(seq)
	if !ok {
		m.tb.Fatalf("after(%d) is not ok, want the offset of a chunk that was given", seq)
	}
	start := max(cursor, int64(len(m.out)-m.held), 0)
	end := min(start+int64(most), int64(len(m.out)))
	k := session.Chunk{Data: m.out[start:end], Start: start, Next: end, Dropped: start - cursor}
	parts, lost, needs := m.n.give(seq, k)
	if needs > 0 {
		if needs <= int64(most) || len(parts) > 0 {
			m.tb.Fatalf("needs = %d for a read of at most %d bytes, want more than that", needs, most)
		}
		return seq, nil, lost
	}
	last = seq
	for i, p := range parts {
		if lost && i == 0 && p.seq <= seq+1 || !lost && p.seq != last+1 || lost && i > 0 && p.seq != last+1 {
			m.tb.Fatalf("chunk %d came after %d, lost %v; want consecutive numbers", p.seq, last, lost)
		}
		if p.to <= p.from || p.from < k.Start || p.to > k.Next || i > 0 && p.from != parts[i-1].to ||
			p.to-p.from > maxChunk+4 {
			m.tb.Fatalf("chunk %d is %d to %d, want a part of %d to %d", p.seq, p.from, p.to, k.Start, k.Next)
		}
		if was, ok := m.extent[p.seq]; ok && was != [2]int64{p.from, p.to} {
			m.tb.Fatalf("chunk %d is %d to %d, want %v as before", p.seq, p.from, p.to, was)
		}
		m.extent[p.seq] = [2]int64{p.from, p.to}
		last = p.seq
		data = append(data, m.out[p.from:p.to]...)
	}
	return last, data, lost
}

// For any input and any reads, a reader that goes on from its last chunk gets every byte
// once, or lost is true.
func FuzzNumbering(f *testing.F) {
	f.Add(uint64(1), uint64(2), 200)
	f.Add(uint64(3), uint64(4), 5000)
	f.Fuzz(func(t *testing.T, a, b uint64, steps int) {
		if steps < 0 || steps > 20_000 {
			return
		}
		rnd := rand.New(rand.NewPCG(a, b))
		held := 1 << (8 + rnd.IntN(12))
		m := newModel(t, held)
		type reader struct {
			seq  uint64
			data []byte
			lost bool
		}
		readers := make([]reader, 3)
		for range steps {
			switch rnd.IntN(8) {
			case 0, 1, 2:
				m.put(bytes.Repeat([]byte("é"), rnd.IntN(20)))
			case 3:
				m.put(bytes.Repeat([]byte{byte(rnd.IntN(256))}, rnd.IntN(20)*rnd.IntN(1000)))
			case 4:
				m.at = m.at.Add(time.Duration(rnd.IntN(200)) * time.Millisecond)
			case 5:
				r := &readers[rnd.IntN(len(readers))]
				if rnd.IntN(20) == 0 {
					r.seq, r.data, r.lost = 0, nil, false
				}
				var data []byte
				var lost bool
				r.seq, data, lost = m.read(r.seq, 1+rnd.IntN(100)*rnd.IntN(2000))
				if r.lost = r.lost || lost; lost {
					r.data = nil
				}
				r.data = append(r.data, data...)
			default:
				m.tell()
			}
		}
		m.tell()
		for i, r := range readers {
			for {
				seq, data, lost := m.read(r.seq, 1<<30)
				if r.lost = r.lost || lost; lost {
					r.data = nil
				}
				if r.data = append(r.data, data...); seq == r.seq {
					break
				}
				r.seq = seq
			}
			if !bytes.HasSuffix(m.out, r.data) || !r.lost && len(r.data) != len(m.out) {
				t.Errorf("reader %d got %d of %d bytes, lost %v; want all or lost", i, len(r.data), len(m.out), r.lost)
			}
			if r.lost && len(m.out) <= held {
				t.Errorf("reader %d lost output that the buffer still held", i)
			}
		}
		if len(m.n.chunks) > manyChunks+2*held/maxChunk+2 {
			t.Errorf("chunks in the list = %d, want a bounded number", len(m.n.chunks))
		}
	})
}

// Output that stays unread is joined to few chunks, and lost only with the buffer.
func TestNumberingLong(t *testing.T) {
	m := newModel(t, 2<<20)
	for range 200_000 {
		m.put([]byte("123456789\n"))
		m.at = m.at.Add(time.Second)
		m.tell()
		if len(m.n.chunks) > manyChunks {
			t.Fatalf("chunks in the list = %d, want a bounded number", len(m.n.chunks))
		}
	}
	if _, data, lost := m.read(0, 4<<20); lost || len(data) != 2_000_000 {
		t.Errorf("read after a long time: %d bytes, lost %v; want the whole buffer", len(data), lost)
	}
	// A reader that reads at once makes many small chunks. The old ones are dropped.
	var seq uint64
	for range 10_000 {
		m.put([]byte("x"))
		m.at = m.at.Add(time.Second)
		m.tell()
		var data []byte
		if seq, data, _ = m.read(m.n.given, 100); string(data) != "x" {
			t.Fatalf("data = %q, want the bytes just written", data)
		}
	}
	if len(m.n.chunks) > manyChunks {
		t.Errorf("chunks in the list = %d, want a bounded number", len(m.n.chunks))
	}
	if _, data, lost := m.read(0, 4<<20); !lost || len(data) == 0 || len(data) > manyChunks || seq < 10_000 {
		t.Errorf("read from the start: %d bytes, lost %v; want lost", len(data), lost)
	}
}

// Small writes within 50 ms are one chunk, and no chunk ends within a rune.
func TestNumberingJoins(t *testing.T) {
	m := newModel(t, 1<<20)
	for range 10 {
		m.put([]byte("ab"))
		m.tell()
		m.at = m.at.Add(time.Millisecond)
	}
	m.at = m.at.Add(time.Second)
	m.put([]byte("c\xc3"))
	m.tell()
	m.at = m.at.Add(time.Second)
	m.put([]byte("\xa9d"))
	m.tell()
	_, _, _ = m.read(0, 1000)
	if want := map[uint64][2]int64{1: {0, 20}, 2: {20, 21}, 3: {21, 24}}; len(m.extent) != 3 || m.extent[1] != want[1] ||
		m.extent[2] != want[2] ||
		m.extent[3] != want[3] {
		t.Errorf("extents = %v, want %v", m.extent, want)
	}
}

// The benchmark measures the cost of chunks for the session's pump.
func BenchmarkObserve(b *testing.B) {
	s := New()
	s.follow("sh-1").holds(2 << 20)
	e := term.Event{Verb: term.VerbOutput, Session: "sh-1", Size: 4096, Time: time.Now()}
	b.ReportAllocs()
	for b.Loop() {
		e.Time = e.Time.Add(time.Millisecond)
		s.Observe(e)
	}
}
