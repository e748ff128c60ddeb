package screen

import "unicode/utf8"

// A cell is one column of a row, in 16 bytes, because most of the work of an emulator is
// writing and moving cells.
//
//	lo: character 32 | attributes 16 | extra 16     hi: foreground 32 | background 32
//
// The zero value is a column that was never drawn, or was erased without a colour. A
// character above unicode.MaxRune is the number of a cluster plus firstCluster; extra is the
// number of an underline colour and a link.
type cell struct{ lo, hi uint64 }

const (
	firstCluster = utf8.MaxRune + 1

	charMask = 1<<32 - 1
	bgMask   = charMask << 32
	shift    = 32 // of the attributes in lo, and of the background in hi
	extra    = 48 // shift of extra in lo
)

// char returns the character or cluster of c, 0 if it is blank.
func (c cell) char() rune { return rune(c.lo & charMask) }

func (c cell) attr() Attr { return Attr(c.lo >> shift) }

// extra returns the number of the underline colour and the link.
func (c cell) extra() uint32 { return uint32(c.lo >> extra) }

func (c cell) fg() Color { return Color(c.hi & charMask) }
func (c cell) bg() Color { return Color(c.hi >> shift) }

// style returns c without its character and its width.
func (c cell) style() cell { return cell{c.lo &^ (charMask | uint64(wide|tail)<<shift), c.hi} }

// with returns c as a style with the character r.
func (c cell) with(r rune) cell { return cell{c.lo | uint64(uint32(r)), c.hi} }

// blank returns the cell after an erasure with the style c: its background (the "bce" of terminfo, which xterm has).
func (c cell) blank() cell { return cell{0, c.hi & bgMask} }

func (c cell) isWide() bool { return c.lo&(uint64(wide)<<shift) != 0 }
func (c cell) isTail() bool { return c.lo&(uint64(tail)<<shift) != 0 }

// empty reports whether c shows nothing, whatever its colours.
func (c cell) empty() bool { return c.lo&charMask == 0 && !c.isTail() || c.lo&charMask == ' ' }

// An Attr is a set of attributes of a character (SGR, ECMA-48 section 8.3.117).
type Attr uint16

// The attributes that are on or off.
const (
	Bold Attr = 1 << iota
	Faint
	Italic
	Blink
	Reverse
	Conceal
	Strike
	Overline

	protected // DECSCA: DECSED and DECSEL leave it
	_         // three bits for the underline
	_
	_
	secret // drawn by WriteSecret: readers see an asterisk
	_
	wide // the first column of a character that has two
	tail // the second
)

const (
	underlineShift = 9
	underlineMask  = 7 << underlineShift
)

// An Underline is the form of a line below a character.
type Underline uint8

// The forms of underlines, with the numbers of SGR 4:n.
const (
	NoUnderline Underline = iota
	Single
	Double
	Curly
	Dotted
	Dashed
)

// A Color is the colour of a character or its background: the terminal's default, one of a
// palette of 256, or an RGB value. The zero value is the default.
type Color uint32

const (
	indexed = 1 << 24
	rgb     = 2 << 24
)

// Index returns the number in the palette; 0-7 are the ANSI colours, 8-15 their bright forms.
func (c Color) Index() (n int, ok bool) { return int(c & 0xff), c&indexed != 0 }

// RGB returns the components.
func (c Color) RGB() (r, g, b uint8, ok bool) {
	return uint8(c >> 16), uint8(c >> 8), uint8(c), c&rgb != 0
}

// A Style is how a character is drawn.
type Style struct {
	Fg, Bg    Color
	Attr      Attr
	Underline Underline
	Line      Color  // of the underline; the default is Fg
	Link      string // the URI of OSC 8
}

// A Cell is one column of a Snapshot.
type Cell struct {
	Rune    rune   // the character, ' ' in an empty cell; 0 in the second column of a wide one
	Cluster string // Rune and the marks or joined characters after it; "" if Rune is alone
	Width   int    // 1 or 2 columns; 0 in the second column of a wide character
	Style
}
