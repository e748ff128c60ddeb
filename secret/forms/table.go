package forms

import "math/bits"

// A bitset is a set of numbers.
type bitset []uint64

func newBitset(log int) bitset { return make(bitset, 1<<log/64) }

func (b bitset) set(i uint32)      { b[i>>6] |= 1 << (i & 63) }
func (b bitset) has(i uint32) bool { return b[i>>6]>>(i&63)&1 != 0 }
func (b bitset) wipe()             { clear(b) }

// A table finds the pieces that have a gram. Most grams of a text are in none, which one bit tells.
type table struct {
	seen    bitset // by hash
	shift   int    // of a hash to its number
	heads   []int32
	entries []entry
}

// An entry is one gram of one piece.
type entry struct {
	gram  uint32
	piece int32
	next  int32 // the entry with the same bucket, plus 1; 0: none
	off   uint8 // of the gram in the piece
}

// hashBits is how many bits of the table there are for each entry: the share of hits by chance is its inverse.
const hashBits = 128

func (t *table) init(grams, room int) {
	log := max(12, min(20, bits.Len(uint(grams*hashBits))))
	t.seen, t.shift = newBitset(log), 32-log
	t.heads = make([]int32, 1<<min(log, 14))
	t.entries = make([]entry, 0, room)
}

func (t *table) add(gram uint32, piece, off int) {
	h := hash(gram) >> t.shift
	t.seen.set(h)
	head := &t.heads[int(h)&(len(t.heads)-1)]
	t.entries = append(t.entries, entry{gram, int32(piece), *head, uint8(off)})
	*head = int32(len(t.entries))
}

// first returns the first entry with the hash h, plus 1.
func (t *table) first(h uint32) int32 { return t.heads[int(h)&(len(t.heads)-1)] }

func (t *table) wipe() {
	clear(t.seen)
	clear(t.heads)
	clear(t.entries)
}

// hash is Knuth's multiplicative one.
func hash(gram uint32) uint32 { return gram * 2654435769 }
