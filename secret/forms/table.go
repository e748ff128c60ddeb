package forms

import (
	"encoding/binary"
	"math/bits"
)

// A bitset is a set of numbers.
type bitset []uint64

func newBitset(log int) bitset { return make(bitset, 1<<log/64) }

func (b bitset) set(i uint32)      { b[i>>6] |= 1 << (i & 63) }
func (b bitset) has(i uint32) bool { return b[i>>6]>>(i&63)&1 != 0 }
func (b bitset) wipe()             { clear(b) }

// A sieve is a set of grams, and of others with the same hash of sieveBits. It has one size, so that a look-up needs no
// check of bounds.
type sieve [1 << sieveBits / 64]uint64

// sieveBits is the size of a hash. Of 50 secrets, a look-up finds one by chance about once in 20 times.
const sieveBits = 18

func (s *sieve) set(gram uint32) {
	h := hash(gram) >> (32 - sieveBits)
	s[h>>6] |= 1 << (h & 63)
}

func (s *sieve) has(gram uint32) bool {
	h := hash(gram) >> (32 - sieveBits)
	return s[h>>6]&(1<<(h&63)) != 0
}

// A table finds the pieces that have a gram. Most grams of a text are in no piece, which one bit shows.
type table struct {
	seen    *sieve
	heads   []int32 // by the high bits of a hash: the index of a row, plus 1; 0: no gram has it
	shift   int     // of a hash, to an index of heads
	rows    []row
	entries []entry // row by row
}

// A row has the entries of the grams with the same high bits of the hash.
type row struct {
	ones, zeros uint64 // the bits that are set, and those that are not, in the neighbours of some entry's gram
	from, to    int32  // in entries
}

// An entry is one gram of one piece.
type entry struct {
	beside uint64 // the four characters before the gram, and the four after it
	mask   uint64 // has the bits of those that the piece has
	gram   uint32
	piece  int32
	off    uint8 // of the gram in the piece
}

// init makes room for entries.
func (t *table) init(room int) {
	t.seen = new(sieve)
	log := min(14, 4+bits.Len(uint(room)))
	t.heads, t.shift = make([]int32, 1<<log), 32-log
	t.entries = make([]entry, 0, room)
}

// add adds the gram at off of a piece. The piece is text[:size]; padding follows it. Call pack after the last add.
func (t *table) add(text []byte, size, piece, off int) {
	e := entry{gram: binary.LittleEndian.Uint32(text[off:]), piece: int32(piece), off: uint8(off)}
	for i := range 4 {
		if at := off - 4 + i; at >= 0 {
			e.beside, e.mask = e.beside|uint64(text[at])<<(8*i), e.mask|0xff<<(8*i)
		}
		if at := off + 4 + i; at < size {
			e.beside, e.mask = e.beside|uint64(text[at])<<(32+8*i), e.mask|0xff<<(32+8*i)
		}
	}
	t.seen.set(e.gram)
	t.heads[t.head(e.gram)]++
	t.entries = append(t.entries, e)
}

// pack makes the rows. heads holds their lengths.
func (t *table) pack() {
	at, rows := int32(0), 0
	for _, n := range t.heads {
		rows += min(1, int(n))
	}
	t.rows = make([]row, 0, rows)
	for i, n := range t.heads {
		if n > 0 {
			t.rows = append(t.rows, row{from: at, to: at})
			t.heads[i], at = int32(len(t.rows)), at+n
		}
	}
	packed := make([]entry, len(t.entries))
	for _, e := range t.entries {
		r := &t.rows[t.heads[t.head(e.gram)]-1]
		packed[r.to] = e
		r.to++
		r.ones, r.zeros = r.ones|e.beside|^e.mask, r.zeros|^e.beside
	}
	clear(t.entries)
	t.entries = packed
}

// of returns entries, among them those of the gram. beside holds the characters next to the gram in the text; only
// the bits set in known count.
//
// Many grams of a text are in many pieces, but with other characters beside them. To return no entry then saves 10 % of the
// search for 50 secrets in a table, and 5 % in lines of text.
func (t *table) of(gram uint32, beside, known uint64) []entry {
	i := t.heads[t.head(gram)]
	if i == 0 {
		return nil
	}
	r := &t.rows[i-1]
	if (beside&^r.ones|^beside&^r.zeros)&known != 0 {
		return nil
	}
	return t.entries[r.from:r.to]
}

// head takes the high bits of the hash: the last character of a gram has no part in the low ones.
func (t *table) head(gram uint32) int { return int(hash(gram) >> t.shift) }

func (t *table) wipe() {
	if t.seen != nil {
		*t.seen = sieve{}
	}
	clear(t.heads)
	clear(t.rows)
	clear(t.entries)
}

// hash is Knuth's multiplicative one.
func hash(gram uint32) uint32 { return gram * 2654435769 }
