package forms

import (
	"bytes"
	"encoding/binary"
	"slices"
)

// A span is a part of the output.
type span struct{ from, to int }

// A search looks for the forms in a text.
type search struct {
	m      *Matcher
	t      *text
	before byte // the byte before the output
	more   bool // the output goes on, and a word at its end may do so
	found  []span
}

// find appends the parts of the output that are forms, in order. before is the byte that comes before the output. With
// more, the output goes on, and a word at its end may do so.
func (m *Matcher) find(found []span, t *text, before byte, more bool) []span {
	if len(t.runs) == 0 { // there are gaps alone
		return found
	}
	s := search{m, t, before, more, found}
	s.within()
	s.across()
	return merged(s.found)
}

// within finds the forms with stride+gram-1 characters or more in one run: it looks up one of the grams at the first
// places of the form. The grams with bytes of a gap do no harm.
func (s *search) within() {
	m, p, runs := s.m, s.t.p, s.t.runs
	k := 0
	for at := m.skip(p, 0); at+gram <= len(p); at = m.skip(p, at+m.stride) {
		for k+1 < len(runs) && runs[k+1].at <= at {
			k++
		}
		if at >= runs[k].at && at < runs[k].end {
			s.check(k, at, 0, word(p, at))
		}
	}
}

// skip returns the place of the first gram in p that may be in the table, from at on by steps of the stride, or one near
// the end of p.
func (m *Matcher) skip(p []byte, at int) int {
	stride, seen := m.stride, m.grams.seen
	s := uint(stride)
	for ; at+36 <= len(p); at += 4 * stride {
		x := (*[36]byte)(p[at : at+36 : at+36])
		switch {
		case seen.has(load(x, 0)):
			return at
		case seen.has(load(x, s)):
			return at + stride
		case seen.has(load(x, 2*s)):
			return at + 2*stride
		case seen.has(load(x, 3*s)):
			return at + 3*stride
		}
	}
	for ; at+gram <= len(p); at += stride {
		if seen.has(word(p, at)) {
			break
		}
	}
	return at
}

// load returns four bytes from i on.
func load(x *[36]byte, i uint) uint32 {
	i &= 31
	return uint32(x[i]) | uint32(x[i+1])<<8 | uint32(x[i+2])<<16 | uint32(x[i+3])<<24
}

func word(p []byte, at int) uint32 { return binary.LittleEndian.Uint32(p[at : at+4 : at+4]) }

// across finds the other forms. Of the characters that such a form has before its first gap, the last gram is in the
// table, or they are fewer than a gram, and a gram is that begins where a later run does, or that ends in a run shorter
// than a gram. With a stride below gram, it may also end in the first characters of a longer run.
func (s *search) across() {
	m, t := s.m, s.t
	last := uint32(0) // characters
	for k := 0; k < len(t.runs); k++ {
		if m.stride >= gram {
			k, last = m.pass(t, k, last)
			if k == len(t.runs) {
				return
			}
		}
		r := t.runs[k]
		p := t.p[r.at:r.end]
		if len(p) < gram || m.stride < gram {
			for i, c := range p[:min(len(p), gram-1)] {
				last = last>>8 | uint32(c)<<24
				s.check(k, r.at+i, gram-1, last)
			}
		}
		if len(p) >= gram {
			last = word(p, len(p)-gram)
			s.check(k, r.at, 0, word(p, 0))
			s.check(k, r.end-gram, 0, last)
		}
	}
}

// pass returns k or the index of a later run, and the four characters before it. Those before it have no gram that is in
// the table.
func (m *Matcher) pass(t *text, k int, last uint32) (int, uint32) {
	seen, p := m.grams.seen, t.p
	for i, r := range t.runs[k:] {
		end := last
		if r.end-r.at >= gram {
			end = word(p, r.end-gram)
			if seen.has(word(p, r.at)) || seen.has(end) {
				return k + i, last
			}
		} else {
			for _, c := range p[r.at:r.end] {
				end = end>>8 | uint32(c)<<24
				if seen.has(end) {
					return k + i, last
				}
			}
		}
		last = end
	}
	return len(t.runs), last
}

// check adds the forms that have the gram, which begins so many characters before the place at, which is in the run k.
func (s *search) check(k, at, before int, gram uint32) {
	m := s.m
	if !m.grams.seen.has(gram) {
		return
	}
	// Many pieces may have the gram, for example blanks and a digit. The characters beside it rule out most of them: without
	// that, the search for 50 secrets in 4 KiB of a table takes 9.4 µs, with it 6.4 µs.
	beside, known := s.beside(k, at-before)
	entries := m.grams.of(gram, beside, known)
	for i := range entries {
		entry := &entries[i]
		if entry.gram != gram || (entry.beside^beside)&entry.mask&known != 0 {
			continue
		}
		l := m.list[entry.piece]
		first, from := s.t.back(k, at, before+int(entry.off))
		if first < 0 {
			continue
		}
		to := s.t.has(first, from, m.chars[l.from:l.to])
		if to > 0 && (!l.whole || s.isWord(from, to, from > s.t.runs[first].at)) {
			s.found = append(s.found, span{from, to})
		}
	}
}

// beside returns the four characters before the gram at a place in the run k, and the four after it. A character that is
// in another run is not known.
func (s *search) beside(k, at int) (chars, known uint64) {
	p, r := s.t.p, s.t.runs[k]
	if at < r.at {
		return 0, 0
	}
	if at+2*gram <= len(p) {
		n := uint(max(0, min(gram, r.end-at-gram)))
		chars, known = uint64(word(p, at+gram))<<32, (1<<(8*n)-1)<<32
	}
	if at >= gram {
		n := uint(min(gram, at-r.at))
		chars, known = chars|uint64(word(p, at-gram)), known|uint64(^uint32(0)<<(32-8*n))
	}
	return chars, known
}

// isWord reports whether the characters are no part of a longer word. With beside, there is one right before them.
func (s *search) isWord(from, to int, beside bool) bool {
	p, before := s.t.p, s.before
	if beside {
		before = p[from-1]
	} else if from > 0 {
		before = 0
	}
	if inWord(before) && inWord(p[from]) {
		return false
	}
	if to == len(p) {
		return !s.more
	}
	return !inWord(p[to]) || !inWord(p[to-1])
}

func inWord(c byte) bool {
	return c >= 0x80 || c == '_' || c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'z'
}

// merged joins the parts that overlap, or that have nothing between them.
func merged(found []span) []span {
	if len(found) < 2 {
		return found
	}
	slices.SortFunc(found, func(a, b span) int { return a.from - b.from })
	out := found[:1]
	for _, s := range found[1:] {
		if last := &out[len(out)-1]; s.from <= last.to {
			last.to = max(last.to, s.to)
		} else {
			out = append(out, s)
		}
	}
	return out
}

// tail returns how many of the last characters of a text may be the beginning of a form. Behind chars there is room for
// padding. With gap, a gap follows them.
func (m *Matcher) tail(chars []byte, gap bool) int {
	end := len(chars)
	chars = chars[:end+padding]
	for from := range max(0, end-3) {
		first := binary.LittleEndian.Uint32(chars[from:])
		if !m.fours.seen.has(first) {
			continue
		}
		for _, entry := range m.fours.of(first, 0, 0) {
			l := m.list[entry.piece]
			rest := m.chars[l.from:l.to]
			// A whole word at the end may go on.
			if n := end - from; entry.gram == first && (n < len(rest) || n == len(rest) && l.whole && !gap) &&
				bytes.Equal(rest[:n], chars[from:end]) {
				return n
			}
		}
	}
	for from := max(0, end-3); from < end; from++ {
		first := binary.LittleEndian.Uint32(chars[from:])
		switch end - from {
		case 3:
			if m.triples.has(first & 0xffffff) {
				return 3
			}
		case 2:
			if m.pairs.has(first & 0xffff) {
				return 2
			}
		case 1:
			if m.begin[byte(first)] {
				return 1
			}
		}
	}
	return 0
}
