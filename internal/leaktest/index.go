package leaktest

import (
	"encoding/binary"
	"math/bits"
)

// shortest is the length of the shortest text that can be found: one machine word, by
// which it is looked up.
const shortest = 8

// An index finds many texts at once, in a time almost independent of their number.
type index struct {
	filter [1 << 14]uint64     // one bit per hash of a head; few words of an output pass
	heads  map[uint64][]needle // by their first eight bytes
}

// A needle is a text to find: a form of a secret.
type needle struct{ form, secret string }

// newIndex returns an index without texts.
func newIndex() *index { return &index{heads: make(map[uint64][]needle)} }

// hash maps a word to a bit of the filter.
func hash(word uint64) uint64 { return word * 0x9e3779b97f4a7c15 >> 44 } // Fibonacci hashing: 20 bits

// add adds a form of a secret.
func (x *index) add(form, secret string) {
	word := binary.LittleEndian.Uint64([]byte(form))
	x.filter[hash(word)/64] |= 1 << (hash(word) % 64)
	x.heads[word] = append(x.heads[word], needle{form, secret})
}

// scan calls found for each needle in data. It runs without the race detector, because its loop shares
// no data and would take ten times as long.
//
//go:norace
func (x *index) scan(data []byte, found func(n needle, at int)) {
	var word uint64
	for i, b := range data {
		word = word>>8 | uint64(b)<<56
		h := hash(word)
		// The filter rejects almost all words without a lookup in the map.
		if x.filter[h/64]&bits.RotateLeft64(1, int(h%64)) == 0 {
			continue
		}
		at := i - (shortest - 1)
		for _, n := range x.heads[word] {
			if at >= 0 && len(data)-at >= len(n.form) && string(data[at:at+len(n.form)]) == n.form {
				found(n, at)
			}
		}
	}
}
