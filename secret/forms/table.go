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

// A table finds the pieces that have a gram. Most grams of a text are in none, which one bit tells.
type table struct {
	seen    *sieve
	heads   []int32
	shift   int // of a hash, to an index of heads
	entries []entry
}

// An entry is one gram of one piece.
type entry struct {
	beside uint64 // the four characters before the gram, and the four after it
	mask   uint64 // has the bits of those that the piece has
	gram   uint32
	piece  int32
	next   int32 // the entry with the same bucket, plus 1; 0: none
	off    uint8 // of the gram in the piece
}

// init makes room for entries.
func (t *table) init(room int) {
	t.seen = new(sieve)
	log := min(14, 4+bits.Len(uint(room)))
	t.heads, t.shift = make([]int32, 1<<log), 32-log
	t.entries = make([]entry, 0, room)
}

// add adds the gram at off of a piece, whose characters are text[:size]; padding follows them.
func (t *table) add(text []byte, size, piece, off int) {
	gram := binary.LittleEndian.Uint32(text[off:])
	t.seen.set(gram)
	head := &t.heads[t.bucket(gram)]
	t.entries = append(t.entries, entry{gram: gram, piece: int32(piece), next: *head, off: uint8(off)})
	e := &t.entries[len(t.entries)-1]
	for i := range 4 {
		if at := off - 4 + i; at >= 0 {
			e.beside, e.mask = e.beside|uint64(text[at])<<(8*i), e.mask|0xff<<(8*i)
		}
		if at := off + 4 + i; at < size {
			e.beside, e.mask = e.beside|uint64(text[at])<<(32+8*i), e.mask|0xff<<(32+8*i)
		}
	}
	*head = int32(len(t.entries))
}

// pack puts the entries of each bucket in a row.
func (t *table) pack() {
	packed := make([]entry, 0, len(t.entries))
	for i, at := range t.heads {
		if at == 0 {
			continue
		}
		t.heads[i] = int32(len(packed)) + 1
		for at != 0 {
			e := t.entries[at-1]
			if at = e.next; at != 0 {
				e.next = int32(len(packed)) + 2
			}
			packed = append(packed, e)
		}
	}
	clear(t.entries)
	t.entries = packed
}

// first returns the first entry that may be of the gram, plus 1.
func (t *table) first(gram uint32) int32 { return t.heads[t.bucket(gram)] }

// bucket takes the high bits of the hash: the last character of a gram has no part in the low ones.
func (t *table) bucket(gram uint32) int { return int(hash(gram) >> t.shift) }

func (t *table) wipe() {
	if t.seen != nil {
		*t.seen = sieve{}
	}
	clear(t.heads)
	clear(t.entries)
}

// hash is Knuth's multiplicative one.
func hash(gram uint32) uint32 { return gram * 2654435769 }
