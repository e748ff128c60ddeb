package forms

import (
	"bytes"
	"encoding/binary"
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

	// Every occurrence of a piece without gaps has, at a place that stride divides, a gram that begins at one of the first
	// stride characters of the piece. All those grams are in the table. search.across has the others.
	stride int
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
	c := newCollector()
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

// gram is the length of a gram.
const gram = 4

// padding is how many bytes may be read behind the characters of a piece.
const padding = 8

// index makes the tables. shortest is the length of the shortest piece.
func (m *Matcher) index(shortest int) {
	m.stride = max(1, min(maxStride, shortest-gram+1))
	m.grams.init(len(m.list) * m.stride)
	m.fours.init(len(m.list))
	m.pairs = newBitset(16)
	for i, p := range m.list {
		text := make([]byte, p.to-p.from+padding) // and not by append, which could leave a copy
		copy(text, m.chars[p.from:p.to])
		for off := range m.stride {
			m.grams.add(text, p.to-p.from, i, off)
		}
		m.begin[text[0]] = true
		first := binary.LittleEndian.Uint32(text)
		m.pairs.set(first & 0xffff)
		m.triples.set(first & 0xffffff)
		m.fours.add(text, p.to-p.from, i, 0)
		clear(text)
	}
	m.grams.pack()
	m.fours.pack()
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

// Mask returns p, which is complete, with Mask in place of each form. Without a form in it, the result is p itself.
func (m *Matcher) Mask(p []byte) []byte { return m.MaskPart(p, 0, len(p)) }

// MaskPart returns p[from:to] with Mask in place of each form, or the part of one, in the text p.
func (m *Matcher) MaskPart(p []byte, from, to int) []byte {
	if !m.Any() || len(p) < minWord {
		return p[from:to]
	}
	var t text
	t.join(p)
	var out []byte
	at := from
	for _, s := range m.find(nil, &t, 0, false) {
		if s.from < to && s.to > at {
			out = append(append(out, p[at:max(at, s.from)]...), Mask...)
			at = min(s.to, to)
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
	t.join(p)
	for _, s := range m.find(nil, &t, 0, false) {
		parts = append(parts, [2]int{s.from, s.to})
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
