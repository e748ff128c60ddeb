package screen

// charsets are the four character sets G0 to G3 (ECMA-35, xterm: "Designate Character Set").
// The zero value has ASCII in all of them.
type charsets struct {
	g      [4]byte // the final byte of the designation; 0 is ASCII
	left   byte    // the set that is in use
	single byte    // the set of the next character alone (SS2, SS3); 0 none
}

const (
	dec = '0' // DEC Special Character and Line Drawing Set
	uk  = 'A'
)

// plain reports whether ASCII characters are drawn as they are.
func (c *charsets) plain() bool { return c.g[c.left] == 0 && c.single == 0 }

// designate makes the set with this final byte G(n). National sets other than the British
// are ASCII here: no program of today sends them.
func (c *charsets) designate(n int, final byte) {
	if final != dec && final != uk {
		final = 0
	}
	c.g[n] = final
}

// translate returns the character that b represents in the set in use.
func (c *charsets) translate(b byte) rune {
	set := c.g[c.left]
	if c.single != 0 {
		set, c.single = c.g[c.single], 0
	}
	switch {
	case set == dec && '_' <= b && b <= '~':
		return decGraphics[b-'_']
	case set == uk && b == '#':
		return '£'
	}
	return rune(b)
}

// decGraphics is the DEC set from 0x5f to 0x7e (VT510 manual, chapter 7.4).
var decGraphics = [...]rune{
	' ', '◆', '▒', '␉', '␌', '␍', '␊', '°', '±', '␤', '␋', '┘', '┐', '┌', '└', '┼',
	'⎺', '⎻', '─', '⎼', '⎽', '├', '┤', '┴', '┬', '│', '≤', '≥', 'π', '≠', '£', '·',
}
