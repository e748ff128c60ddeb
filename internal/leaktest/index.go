package leaktest

import (
	"encoding/binary"
	"math/bits"
)

// shortest is the length of the shortest text that can be searched for: it is found by its first bytes, one machine word.
const shortest = 8

// An index finds many texts at once, in a time that hardly depends on their number.
type index struct {
	filter [1 << 14]uint64 // a bit for the hash of each head: few words of an output pass it
	heads  map[uint64][]needle
}

// A needle is a text to be found: a form of a secret.
type needle struct{ form, secret string }

func newIndex() *index { return &index{heads: make(map[uint64][]needle)} }

func hash(word uint64) uint64 { return word * 0x9e3779b97f4a7c15 >> 44 } // Fibonacci hashing: 20 bits

func (x *index) add(form, secret string) {
	word := binary.LittleEndian.Uint64([]byte(form))
	x.filter[hash(word)/64] |= 1 << (hash(word) % 64)
	x.heads[word] = append(x.heads[word], needle{form, secret})
}

// scan calls found for each needle in data. The race detector stays out of its loop, which shares nothing and would take
// ten times as long.
//
//go:norace
func (x *index) scan(data []byte, found func(n needle, at int)) {
	var word uint64
	for i, b := range data {
		word = word>>8 | uint64(b)<<56
		h := hash(word)
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
