package forms

import (
	"bytes"
	"encoding/binary"
	"slices"
)

// Mask replaces a form of a secret. It has one length, however long the secret is.
const Mask = "********"

// MinSecret is how many bytes a secret should have. A shorter one is found only as a whole word.
const MinSecret = 6

// A Value is the value of a secret.
type Value struct {
	Text []byte
	Word bool // look for it, and for its reverse, only where no letter or digit is beside it: for codes and short values
}

// A Matcher finds the forms of some values. Any number of goroutines may use it.
type Matcher struct {
	chars []byte // of all pieces
	list  []piece

	// Every occurrence of a piece in a text has, at a place that stride divides, a gram that begins at one of the first
	// stride characters of the piece. All those grams are in the table.
	stride int
	mask   uint32 // of the bytes of a gram
	grams  table

	begin   [256]bool // the first characters of pieces
	pairs   bitset    // the first two
	triples sieve     // the first three
	fours   table     // the first four
	longest int       // piece
}

// A piece is a form, or a part of a long one.
type piece struct {
	from, to int // in chars
	whole    bool
}

// New makes a Matcher of the forms of values, which it copies. A value of less than 4 characters has no form, and one of
// less than 6 only itself, if it is a Word.
func New(values []Value) *Matcher {
	var c collector
	for _, v := range values {
		c.collect(v)
	}
	m := &Matcher{}
	size, shortest := 0, maxPiece
	for _, f := range c.forms {
		size += len(f)
	}
	m.chars = make([]byte, 0, size)
	for i, f := range c.forms {
		var last []byte
		for _, p := range pieces(f) {
			if bytes.Equal(p, last) { // a look-up would find each of them
				continue
			}
			last = p
			from := len(m.chars)
			m.chars = append(m.chars, p...)
			m.list = append(m.list, piece{from, len(m.chars), c.whole[i]})
			m.longest, shortest = max(m.longest, len(p)), min(shortest, len(p))
		}
		clear(f)
	}
	m.index(shortest)
	return m
}

const maxStride = 8

// index makes the tables. shortest is the length of the shortest piece.
func (m *Matcher) index(shortest int) {
	gram := 4
	if shortest < 8 {
		gram = 3 // a longer step is worth more than fewer hits by chance
	}
	m.mask = 1<<(8*gram) - 1
	m.stride = min(maxStride, shortest-gram+1)
	m.grams.init(len(m.list) * m.stride)
	m.fours.init(len(m.list))
	m.pairs = newBitset(16)
	for i, p := range m.list {
		text := make([]byte, p.to-p.from+padding) // and not by append, which could leave a copy
		copy(text, m.chars[p.from:p.to])
		for off := range m.stride {
			m.grams.add(binary.LittleEndian.Uint32(text[off:])&m.mask, i, off)
		}
		m.begin[text[0]] = true
		first := binary.LittleEndian.Uint32(text)
		m.pairs.set(first & 0xffff)
		m.triples.set(hash(first & 0xffffff))
		m.fours.add(first, i, 0)
		clear(text)
	}
}

// Wipe overwrites the forms. The Matcher finds none any more, and must not be in use.
func (m *Matcher) Wipe() {
	clear(m.chars)
	m.grams.wipe()
	m.fours.wipe()
	m.begin = [256]bool{}
	m.pairs.wipe()
	m.triples = sieve{}
	m.list = nil
}

// Any reports whether there is a form to look for.
func (m *Matcher) Any() bool { return m != nil && len(m.list) > 0 }

// A span is a part of a text, in characters.
type span struct{ from, to int }

// find appends the parts of t that are forms. p is the output that t is the text of, and before the byte that comes
// before p. With more, p goes on, and a word at its end may do so.
func (m *Matcher) find(found []span, t *text, p []byte, before byte, more bool) []span {
	end := len(t.chars)
	chars := t.chars[:end+padding]
	stride, mask, seen := m.stride, m.mask, m.grams.seen
	for at := 0; at < end; at += stride {
		for at+3*stride < end { // four at a time, of which mostly none is in the table
			a := hash(binary.LittleEndian.Uint32(chars[at:]) & mask)
			b := hash(binary.LittleEndian.Uint32(chars[at+stride:]) & mask)
			c := hash(binary.LittleEndian.Uint32(chars[at+2*stride:]) & mask)
			d := hash(binary.LittleEndian.Uint32(chars[at+3*stride:]) & mask)
			if seen.has(a) || seen.has(b) || seen.has(c) || seen.has(d) {
				break
			}
			at += 4 * stride
		}
		if at >= end {
			break
		}
		gram := binary.LittleEndian.Uint32(chars[at:]) & mask
		h := hash(gram)
		if !seen.has(h) {
			continue
		}
		for e := m.grams.first(h); e != 0; {
			entry := &m.grams.entries[e-1]
			e = entry.next
			if entry.gram != gram {
				continue
			}
			from := at - int(entry.off)
			l := m.list[entry.piece]
			to := from + l.to - l.from
			if from < 0 || to > end || !bytes.Equal(chars[from:to], m.chars[l.from:l.to]) ||
				l.whole && !m.isWord(t, p, before, from, to, more) {
				continue
			}
			found = append(found, span{from, to})
		}
	}
	return merged(found, t)
}

// isWord reports whether the characters are no part of a longer word.
func (m *Matcher) isWord(t *text, p []byte, before byte, from, to int, more bool) bool {
	first, last := t.at(from), t.at(to-1)
	if first > 0 {
		before = t.before(p, first)
	}
	if inWord(before) && inWord(p[first]) {
		return false
	}
	if last+1 == len(p) {
		return !more
	}
	return !inWord(p[last+1]) || !inWord(p[last])
}

func inWord(c byte) bool {
	return c >= 0x80 || c == '_' || c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'z'
}

// merged joins the parts that overlap, or that have nothing between them.
func merged(found []span, t *text) []span {
	if len(found) < 2 {
		return found
	}
	slices.SortFunc(found, func(a, b span) int { return a.from - b.from })
	out := found[:1]
	for _, s := range found[1:] {
		if last := &out[len(out)-1]; s.from < last.to || s.from == last.to && t.at(s.from) == t.at(s.from-1)+1 {
			last.to = max(last.to, s.to)
		} else {
			out = append(out, s)
		}
	}
	return out
}

// tail returns where the characters at the end of t begin that may be the beginning of a form, or the end of t.
func (m *Matcher) tail(t *text, p []byte) int {
	end := len(t.chars)
	if !m.Any() {
		return end
	}
	chars := t.chars[:end+padding]
	for from := max(0, end-m.longest); from < end-3; from++ {
		first := binary.LittleEndian.Uint32(chars[from:])
		h := hash(first)
		if !m.fours.seen.has(h) {
			continue
		}
		for e := m.fours.first(h); e != 0; {
			entry := &m.fours.entries[e-1]
			e = entry.next
			l := m.list[entry.piece]
			rest := m.chars[l.from:l.to]
			// A whole word at the end may go on.
			if n := end - from; entry.gram == first && (n < len(rest) || n == len(rest) && l.whole && t.at(end-1) == len(p)-1) &&
				bytes.Equal(rest[:n], chars[from:end]) {
				return from
			}
		}
	}
	for from := max(0, end-3); from < end; from++ {
		first := binary.LittleEndian.Uint32(chars[from:])
		switch end - from {
		case 3:
			if m.triples.has(hash(first & 0xffffff)) {
				return from
			}
		case 2:
			if m.pairs.has(first & 0xffff) {
				return from
			}
		case 1:
			if m.begin[byte(first)] {
				return from
			}
		}
	}
	return end
}

// Mask returns p, which is complete, with Mask in place of each form. If there is none, it is p itself.
func (m *Matcher) Mask(p []byte) []byte { return m.MaskPart(p, 0, len(p)) }

// MaskPart returns p[from:to] with Mask in place of each form, or the part of one, in the text p.
func (m *Matcher) MaskPart(p []byte, from, to int) []byte {
	if !m.Any() || len(p) < minWord {
		return p[from:to]
	}
	var t text
	defer t.wipe()
	t.join(p)
	var out []byte
	at := from
	for _, s := range m.find(nil, &t, p, 0, false) {
		if begin, end := t.at(s.from), t.at(s.to-1)+1; begin < to && end > at {
			out = append(append(out, p[at:max(at, begin)]...), Mask...)
			at = min(end, to)
		}
	}
	if out == nil {
		return p[from:to]
	}
	return append(out, p[at:to]...)
}

// Find returns where p, which is complete, shows forms, as pairs of a beginning and an end.
func (m *Matcher) Find(p []byte) (parts [][2]int) {
	if !m.Any() || len(p) < minWord {
		return nil
	}
	var t text
	defer t.wipe()
	t.join(p)
	for _, s := range m.find(nil, &t, p, 0, false) {
		parts = append(parts, [2]int{t.at(s.from), t.at(s.to-1) + 1})
	}
	return parts
}

// MaskString is Mask for a string.
func (m *Matcher) MaskString(s string) string {
	if !m.Any() || len(s) < minWord {
		return s
	}
	p := []byte(s)
	if out := m.Mask(p); len(out) != len(p) || &out[0] != &p[0] {
		return string(out)
	}
	return s
}
