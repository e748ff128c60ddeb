package vt

import (
	"encoding/binary"
	"math/bits"
)

// colour returns the length of the SGR (Select Graphic Rendition, ECMA-48 section 8.3.117) at
// the front of b if it is short and has no parameter 8, else 0. b begins with ESC. Such an
// SGR conceals nothing, and in most output it is the most frequent sequence by far. The
// function tests eight bytes at a time, because a branch per byte is slower.
func colour(b []byte) int {
	if len(b) < 10 || b[1] != '[' {
		return 0
	}
	w := binary.LittleEndian.Uint64(b[2:])
	n := bits.TrailingZeros64((w|w>>1)&every40) &^ 7 // bit offset of the first byte above 0x3f, or 64
	if byte(w>>n) != 'm' {
		return 0
	}
	v := (w ^ 3*every10) & (1<<n - 1) // each byte before it: a digit's value, or 10 or 11 for a colon or semicolon
	if (v+4*every01)&^every0f != 0 {  // none of them is above 0x3f
		return 0
	}
	if eights := ^((v ^ 8*every01) + every0f) & every10; eights != 0 {
		digits := (v + every0f) &^ (v + 6*every01) & every10 // 1 to 9
		if eights&^(digits<<8) != 0 {
			return 0
		}
	}
	return 2 + n/8 + 1
}
