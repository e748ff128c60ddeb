package vt

import (
	"unicode"
	"unicode/utf8"
)

// A class is the treatment of a character in clean text: kept, replaced or removed.
type class uint8

const (
	visible class = iota
	badUTF8
	control
	bidi
	zeroWidth
)

// classify decodes the first character of b, which must not begin with a C0 control.
func classify(b []byte) (r rune, size int, c class) {
	r, size = utf8.DecodeRune(b)
	switch {
	case r == utf8.RuneError && size <= 1:
		c = badUTF8
	case r < 0xa0:
		if r >= 0x80 { // a C1 control, which xterm obeys in UTF-8 too
			c = control
		}
	case r < 0x061c:
	case r == 0x061c, r == 0x200e, r == 0x200f, 0x202a <= r && r <= 0x202e, 0x2066 <= r && r <= 0x2069:
		c = bidi
	case invisible(r):
		c = zeroWidth
	}
	return r, size, c
}

// visible3 reports whether b begins with a visible character from U+2070 to U+CFFF. This
// range has box drawing, kana, Han and most of Hangul, for which utf8.DecodeRune is slow.
func visible3(b []byte) bool {
	if len(b) < 3 || b[0] < 0xe2 || b[0] > 0xec || b[1]&0xc0 != 0x80 || b[2]&0xc0 != 0x80 {
		return false
	}
	r := rune(b[0]&0x0f)<<12 | rune(b[1]&0x3f)<<6 | rune(b[2]&0x3f)
	return r >= 0x2070 && r != 0x3164
}

// invisible reports whether r has no visible form of its own, so that a row of such
// characters can hide text. U+FE0E and U+FE0F (text or emoji style) are not included: they
// occur in honest text, and clean text keeps them.
func invisible(r rune) bool {
	switch {
	case r < 0x180b:
		return r == 0x115f || r == 0x1160 // Hangul jamo fillers
	case r < 0x200b:
		return r <= 0x180f // Mongolian variation selectors, vowel separator
	case r <= 0x200d: // ZWSP, ZWNJ, ZWJ
		return true
	case r < 0xfe00:
		// Word joiner, invisible operators, deprecated format characters.
		return 0x2060 <= r && r <= 0x206f || r == 0x3164
	case r <= 0xfe0d: // variation selectors 1-14
		return true
	case r == 0xfeff, 0xfff9 <= r && r <= 0xfffb: // BOM, interlinear annotation
		return true
	}
	return 0xe0000 <= r && r <= 0xe0fff // tags, variation selectors 17-256
}

// wide lists the blocks of characters that take two columns (Unicode Standard Annex 11,
// classes W and F), including most single emoji among older symbols.
var wide = [...][2]rune{
	{0x1100, 0x115e},
	{0x231a, 0x231b},
	{0x23e9, 0x23ec},
	{0x2614, 0x2615},
	{0x2648, 0x2653},
	{0x26aa, 0x26ab},
	{0x26bd, 0x26be},
	{0x2705, 0x2705},
	{0x270a, 0x270b},
	{0x2728, 0x2728},
	{0x274c, 0x274c},
	{0x2753, 0x2755},
	{0x2795, 0x2797},
	{0x2b1b, 0x2b1c},
	{0x2b50, 0x2b50},
	{0x2e80, 0x303e},
	{0x3041, 0x33ff},
	{0x3400, 0x4dbf},
	{0x4e00, 0xa4cf},
	{0xa960, 0xa97c},
	{0xac00, 0xd7a3},
	{0xf900, 0xfaff},
	{0xfe10, 0xfe19},
	{0xfe30, 0xfe6f},
	{0xff01, 0xff60},
	{0xffe0, 0xffe6},
	{0x16fe0, 0x18cff},
	{0x1aff0, 0x1b2ff},
	{0x1f004, 0x1f004},
	{0x1f0cf, 0x1f0cf},
	{0x1f18e, 0x1f18e},
	{0x1f191, 0x1f19a},
	{0x1f200, 0x1f320},
	{0x1f32d, 0x1f335},
	{0x1f337, 0x1f37c},
	{0x1f37e, 0x1f393},
	{0x1f3a0, 0x1f3ca},
	{0x1f3cf, 0x1f3d3},
	{0x1f3e0, 0x1f3f0},
	{0x1f3f4, 0x1f3f4},
	{0x1f3f8, 0x1f43e},
	{0x1f440, 0x1f440},
	{0x1f442, 0x1f4fc},
	{0x1f4ff, 0x1f53d},
	{0x1f54b, 0x1f54e},
	{0x1f550, 0x1f567},
	{0x1f57a, 0x1f57a},
	{0x1f595, 0x1f596},
	{0x1f5a4, 0x1f5a4},
	{0x1f5fb, 0x1f64f},
	{0x1f680, 0x1f6c5},
	{0x1f6cc, 0x1f6cc},
	{0x1f6d0, 0x1f6d2},
	{0x1f6d5, 0x1f6d7},
	{0x1f6dc, 0x1f6df},
	{0x1f6eb, 0x1f6ec},
	{0x1f6f4, 0x1f6fc},
	{0x1f7e0, 0x1f7eb},
	{0x1f90c, 0x1f93a},
	{0x1f93c, 0x1f945},
	{0x1f947, 0x1f9ff},
	{0x1fa70, 0x1faff},
	{0x20000, 0x3fffd},
}

// columns returns the number of columns of r: 0 if it combines with the character before it,
// otherwise 1 or 2.
func columns(r rune) int {
	if r < 0x300 {
		return 1
	}
	if 0x30a0 <= r && r < 0x4dc0 || 0x4e00 <= r && r < 0xa4d0 || 0xac00 <= r && r < 0xd7a4 { // kana, Han, Hangul
		return 2
	}
	if unicode.In(r, unicode.Mn, unicode.Me) || 0x1160 <= r && r <= 0x11ff { // marks; medial and final jamo
		return 0
	}
	lo, hi := 0, len(wide)
	for lo < hi {
		mid := (lo + hi) / 2
		switch {
		case r < wide[mid][0]:
			hi = mid
		case r > wide[mid][1]:
			lo = mid + 1
		default:
			return 2
		}
	}
	return 1
}
