package buffer_test

import (
	"bytes"
	"errors"
	"io"
	"testing"

	"ptyctl/buffer"
)

// model is the simplest implementation of a buffer: append, then trim the front.
type model struct {
	maxBytes, maxLines int

	data   []byte
	start  int64
	closed bool
}

func (m *model) end() int64 { return m.start + int64(len(m.data)) }

func (m *model) write(p []byte) {
	m.data = append(m.data, p...)
	m.trim(len(m.data) - m.maxBytes)
	if m.maxLines > 0 {
		m.keepLines(m.maxLines)
	}
}

func (m *model) keepLines(n int) {
	for over := m.lines() - n; over > 0; over-- {
		m.trim(bytes.IndexByte(m.data, '\n') + 1)
	}
}

func (m *model) trim(n int) {
	if n > 0 {
		m.data = m.data[n:]
		m.start += int64(n)
	}
}

func (m *model) lines() int {
	n := bytes.Count(m.data, []byte("\n"))
	if len(m.data) > 0 && !bytes.HasSuffix(m.data, []byte("\n")) {
		n++
	}
	return n
}

// lastLines drops whole lines from the front until no more than n are left.
func (m *model) lastLines(n int) int64 {
	if n <= 0 {
		return m.end()
	}
	rest := model{data: m.data, start: m.start}
	rest.keepLines(n)
	return rest.start
}

func (m *model) linesOf(skip, n int) (data []byte, start int64) {
	all := bytes.SplitAfter(m.data, []byte("\n"))
	before := bytes.Join(all[:min(max(skip, 0), len(all))], nil)
	all = all[min(max(skip, 0), len(all)):]
	if n > 0 {
		all = all[:min(n, len(all))]
	}
	return bytes.Join(all, nil), m.start + int64(len(before))
}

func (m *model) at(offset int64, limit int) (data []byte, start, dropped int64) {
	if offset < 0 {
		offset = 0
	}
	start = offset
	if start < m.start {
		start, dropped = m.start, m.start-offset
	}
	if start > m.end() {
		start = m.end()
	}
	data = m.data[start-m.start:]
	if limit > 0 && len(data) > limit {
		data = data[:limit]
	}
	return data, start, dropped
}

// FuzzBuffer drives a Buffer and the model with the same operations. The first two bytes choose the limits; after
// them each operation is one byte for its kind and the bytes of its argument.
func FuzzBuffer(f *testing.F) {
	f.Add([]byte{})
	f.Add([]byte("\x00\x00\x00\x05hello\x02\x01\x02"))
	f.Add([]byte("\x02\x02\x00\x06a\nb\nc\n\x00\x03d\ne\x03\x01\x03\x02\x02\x00\x00"))
	f.Add([]byte("\x00\x01\x01\xff\n\x01\x10x\x03\x05\x02\x80\x20\x04\x00\x01z\x02\x00\x00"))
	f.Add([]byte("\xff\x00\x01\x40a\x01\x40\n\x01\xffb\x03\x02\x01\x90c\x02\x7f\x7f\x03\x01"))
	f.Add([]byte("\x80\x09\x05\x00\x02hi\x05\x00\x01\n\x04\x05\x04\x02\x00\x03"))

	f.Fuzz(func(t *testing.T, script []byte) {
		byteArg := func() byte {
			if len(script) == 0 {
				return 0
			}
			c := script[0]
			script = script[1:]
			return c
		}

		m := &model{maxBytes: 1 + 67*int(byteArg()), maxLines: int(byteArg() % 16)} // up to 17 KiB: three growth steps
		b := buffer.New(buffer.Options{MaxBytes: m.maxBytes, MaxLines: m.maxLines})
		changed := b.Changed() // closed when the next Write or Close has happened

		write := func(p []byte) {
			n, err := b.Write(p)
			if m.closed {
				if n != 0 || !errors.Is(err, io.ErrClosedPipe) {
					t.Fatalf("Write after Close: %d, %v", n, err)
				}
				return
			}
			if n != len(p) || err != nil {
				t.Fatalf("Write of %d bytes: %d, %v", len(p), n, err)
			}
			m.write(p)
			if isClosed(changed) != (len(p) > 0) {
				t.Fatalf("Changed closed: %v after a Write of %d bytes", isClosed(changed), len(p))
			}
		}

		for len(script) > 0 {
			switch byteArg() % 6 {
			case 0: // a piece of the script
				n := min(int(byteArg()), len(script))
				write(script[:n])
				script = script[n:]
			case 1: // long runs, past every limit
				n := 97 * int(byteArg())
				write(bytes.Repeat([]byte{'x', byteArg()}, n)[:n])
			case 2:
				offset := m.start - 128 + int64(byteArg())*(1+int64(len(m.data))/100)
				limit := int(byteArg())*16 - 16
				s := b.At(offset, limit)
				data, start, dropped := m.at(offset, limit)
				if !bytes.Equal(s.Data, data) || s.Start != start || s.Dropped != dropped {
					t.Fatalf("At(%d, %d) = %q at %d, %d dropped, want %q at %d, %d dropped",
						offset, limit, s.Data, s.Start, s.Dropped, data, start, dropped)
				}
				if s.Next != start+int64(len(data)) || s.End != m.end() || s.EOF != (m.closed && s.Next == m.end()) {
					t.Fatalf("At(%d, %d): next %d, end %d, EOF %v; the model ends at %d, closed %v",
						offset, limit, s.Next, s.End, s.EOF, m.end(), m.closed)
				}
			case 3:
				n := int(byteArg()) - 2
				if got, want := b.LastLines(n), m.lastLines(n); got != want {
					t.Fatalf("LastLines(%d) = %d, want %d", n, got, want)
				}
				most := int(byteArg()) - 1
				want, from := m.linesOf(n, most)
				if got, start, stat := b.Lines(n, most); !bytes.Equal(got, want) || start != from || stat != b.Stat() {
					t.Fatalf("Lines(%d, %d) = %q at %d, %+v; want %q at %d", n, most, got, start, stat, want, from)
				}
			case 4:
				if byteArg()%4 == 0 { // rarely, because little can happen afterwards
					b.Close()
					m.closed = true
				}
			case 5: // nothing; the checks below
			}

			want := buffer.Stat{
				Start: m.start, End: m.end(), Lines: m.lines(),
				Limit: m.maxBytes, Closed: m.closed, Allocated: b.Stat().Allocated,
			}
			if got := b.Stat(); got != want || got.Allocated > m.maxBytes || got.Allocated < len(m.data) {
				t.Fatalf("Stat = %+v, want %+v", got, want)
			}
			if s := b.At(0, 0); !bytes.Equal(s.Data, m.data) {
				t.Fatalf("holds %q, want %q", s.Data, m.data)
			}
			changed = b.Changed()
			if isClosed(changed) != m.closed {
				t.Fatalf("Changed closed: %v, stream closed: %v", isClosed(changed), m.closed)
			}
		}
	})
}
