package match

import "bytes"

// locate returns where the match that the automaton has found begins and ends. It ends between begin and end, as far as
// the automaton knows; package regexp may take it to begin up to lookBack before, and to end before ahead. If regexp
// finds none there, the match is longer than that, or overlaps one that it finds first.
func (s *Stream) locate(begin, end, ahead int64) (start, stop int64) {
	from := max(s.floor, begin-lookBack)
	sl := s.b.At(from, int(ahead-from))
	if sl.Start > s.floor { // begin with a line
		cut := bytes.IndexByte(sl.Data, '\n') + 1
		sl.Data, sl.Start = sl.Data[cut:], sl.Start+int64(cut)
	}
	if n := len(sl.Data) - len(s.a.cut); len(s.a.cut) > 0 && sl.Next >= s.off { // a match must not end inside a rune
		sl.Data = sl.Data[:min(max(n, 0)+int(sl.Next-s.off), len(sl.Data))]
	}
	if s.o.Echo.Any() && !s.o.Clean {
		sl.Data = hideTitles(sl.Data, s.o.Echo)
	}
	v := view{raw: sl.Data, text: sl.Data}
	if s.o.Clean {
		v.clean = &s.o
		v.text = v.at(len(v.raw))
	}
	after := 0
	if known := int(s.o.From - sl.Start); known > 0 {
		before := v.at(min(known, len(v.raw)))
		after = len(before)
		if s.o.Clean { // see redrawn
			after = samePrefix(before, v.text)
		}
	}
	for _, loc := range s.o.Pattern.re.FindAllIndex(v.text, -1) {
		if loc[1] > after {
			return sl.Start + int64(v.offset(loc[0])), sl.Start + int64(v.offset(loc[1]))
		}
	}
	if !s.o.Clean {
		end = s.a.pos
	}
	return max(s.floor, s.o.From), end
}

// A view relates text to the bytes that it was made of.
type view struct {
	raw, text []byte
	clean     *Options // of clean text; nil: text is raw
}

// at returns the text of the first n bytes.
func (v *view) at(n int) []byte {
	if v.clean == nil {
		return v.raw[:n]
	}
	c := newCleaner(*v.clean)
	text := c.Append(nil, v.raw[:n])
	line, _ := c.Line()
	return append(text, line...)
}

// offset returns how many of the bytes it takes until the first n bytes of the text are there.
func (v *view) offset(n int) int {
	if v.clean == nil {
		return n
	}
	want := v.text[:n]
	c := newCleaner(*v.clean)
	var text []byte
	for from := 0; from < len(v.raw); {
		to := bytes.IndexByte(v.raw[from:], '\n') + 1 + from
		if to == from {
			to = len(v.raw)
		}
		if len(text)+most*(to-from)+vtHeld < n { // not in this line
			text = c.Append(text, v.raw[from:to])
			from = to
			continue
		}
		for ; from < to; from++ {
			if line, _ := c.Line(); has(text, line, want) {
				return from
			}
			text = c.Append(text, v.raw[from:from+1])
		}
	}
	return len(v.raw)
}

// How long the text of n bytes may be: most times n, and vtHeld that a Cleaner keeps back.
const (
	most   = 4
	vtHeld = 8 << 10
)

// has reports whether want is a prefix of a and b, one after the other.
func has(a []byte, b string, want []byte) bool {
	if len(a)+len(b) < len(want) {
		return false
	}
	if len(want) <= len(a) {
		return bytes.Equal(a[:len(want)], want)
	}
	return bytes.Equal(a, want[:len(a)]) && b[:len(want)-len(a)] == string(want[len(a):])
}
