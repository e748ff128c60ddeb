package forms

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"hash/maphash"
	"slices"
	"unicode/utf16"
	"unicode/utf8"
)

const (
	// minForm is the length of the shortest form that is searched for within words.
	minForm = MinSecret
	// minWord is the length of the shortest value that is searched for, as a whole word.
	minWord = 4
	// maxPiece bounds the text to search for. A longer form is searched for in parts, each at least half as long.
	maxPiece = 128
)

// A collector gathers the forms of values, each once.
type collector struct {
	forms [][]byte
	whole []bool // by form: only as a whole word

	seed maphash.Seed
	had  map[uint64][]int // indexes of the forms with a hash: a map by their text would keep copies
}

func newCollector() *collector {
	return &collector{seed: maphash.MakeSeed(), had: make(map[uint64][]int)}
}

// find returns the index of a form, or -1, and its hash.
func (c *collector) find(form []byte) (at int, hash uint64) {
	hash = maphash.Bytes(c.seed, form)
	for _, i := range c.had[hash] {
		if bytes.Equal(c.forms[i], form) {
			return i, hash
		}
	}
	return -1, hash
}

// add adds a form without the bytes that wrapping inserts into a text.
func (c *collector) add(form []byte, whole bool) {
	var t text
	t.join(form)
	for k := 1; k < len(t.runs); k++ {
		if at := t.runs[k].at; t.barred(k) { // no text has it in one piece
			c.add(bytes.Clone(form[at:]), whole)
			clear(form[at:])
			c.add(form[:at], whole)
			return
		}
	}
	n := len(t.appendFrom(form[:0], 0, 0))
	clear(form[n:])
	form = form[:n]
	i, hash := c.find(form)
	if i >= 0 {
		c.whole[i] = c.whole[i] && whole
		clear(form)
		return
	}
	if len(form) >= minForm || whole && len(form) >= minWord {
		c.had[hash] = append(c.had[hash], len(c.forms))
		c.forms, c.whole = append(c.forms, form), append(c.whole, whole)
		return
	}
	clear(form)
}

// collect adds all forms of v.
func (c *collector) collect(v Value) {
	text := v.Text
	c.add(bytes.Clone(text), v.Word)
	if len(text) < minForm { // its other forms are short, too
		return
	}
	c.add(reversed(text), v.Word)
	c.add(reversedRunes(text), v.Word)
	c.blanks(text, v.Word)
	c.base64(text)
	c.hex(text)
	c.escaped(text, v.Word)
	wide := utf16LE(text)
	c.base64(wide) // the form for PowerShell
	clear(wide)
}

// maxBlanks is how many blanks of a value may each be where a line wraps.
const maxBlanks = 32

// blanks adds the value without its blanks, which a program may draw by moves of the cursor, and without each of them: a
// line that wraps there looks as if a line editor had added the blank; see text.join.
func (c *collector) blanks(text []byte, word bool) {
	n := bytes.Count(text, []byte(" "))
	if n == 0 {
		return
	}
	c.add(bytes.ReplaceAll(text, []byte(" "), nil), word)
	for i := range text {
		if text[i] == ' ' && n <= maxBlanks {
			c.add(slices.Delete(bytes.Clone(text), i, i+1), word)
		}
	}
}

func (c *collector) base64(text []byte) {
	padded := make([]byte, 2+len(text))
	copy(padded[2:], text)
	defer clear(padded)
	for _, enc := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
		for before := range 3 {
			p := padded[2-before:]
			b := make([]byte, enc.EncodedLen(len(p)))
			enc.Encode(b, p)
			// The first and the last character may hold bits of the unknown text around the value.
			from, to := (8*before+5)/6, 8*len(p)/6
			c.add(bytes.Clone(b[from:to]), false)
			clear(b)
		}
	}
}

func (c *collector) hex(text []byte) {
	lower := make([]byte, hex.EncodedLen(len(text)))
	hex.Encode(lower, text)
	upper := bytes.ToUpper(lower)
	for _, digits := range [][]byte{lower, upper} {
		c.add(bytes.Clone(digits), false)
		for _, sep := range []string{" ", ":", "-", ", 0x", `\x`, "%"} {
			c.add(separated(digits, func(int) string { return sep }), false)
		}
		for at := range 2 { // xxd
			c.add(separated(digits, func(i int) string { return " "[:(i+at)%2] }), false)
		}
	}
	for at := range 8 { // hexdump -C
		c.add(separated(lower, func(i int) string {
			if (i+at)%8 == 0 {
				return "  "
			}
			return " "
		}), false)
	}
	c.add(bytes.Join(bytes.Split(text, nil), []byte("   ")), false) // od -c
	clear(lower)
	clear(upper)
}

// separated returns the pairs of digits with a separator before each but the first. Of an escape such as \x41 the part
// before the first digits is left, as all that surrounds a form.
func separated(digits []byte, before func(i int) string) []byte {
	b := make([]byte, 0, 4*len(digits)) // no growth that would leave a copy of the value
	for i := range len(digits) / 2 {
		if i > 0 {
			b = append(b, before(i)...)
		}
		b = append(b, digits[2*i:2*i+2]...)
	}
	return b
}

func reversed(text []byte) []byte {
	b := bytes.Clone(text)
	slices.Reverse(b)
	return b
}

func reversedRunes(text []byte) []byte {
	b := make([]byte, 0, len(text))
	for len(text) > 0 {
		_, n := utf8.DecodeLastRune(text)
		b, text = append(b, text[len(text)-n:]...), text[:len(text)-n]
	}
	return b
}

func utf16LE(text []byte) []byte {
	b := make([]byte, 0, 2*len(text))
	for _, r := range bytes.Runes(text) {
		hi, lo := utf16.EncodeRune(r)
		if hi == utf8.RuneError { // it is no pair
			b = append(b, byte(r), byte(r>>8))
			continue
		}
		b = append(b, byte(hi), byte(hi>>8), byte(lo), byte(lo>>8))
	}
	return b
}

// pieces splits a form into parts of bounded length.
func pieces(form []byte) [][]byte {
	n := max(1, (len(form)+maxPiece-1)/maxPiece)
	return slices.Collect(slices.Chunk(form, max(1, (len(form)+n-1)/n)))
}
