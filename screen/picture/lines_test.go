package picture_test

import (
	"image"
	"testing"

	"ptyctl/screen/picture"
)

// heights are enough of those that a row may have: odd and even, and those at which lines become
// thicker.
var heights = []int{picture.MinHeight, 13, 16, 20, 25, picture.MaxHeight}

// ink reports whether a pixel of a picture differs from the last, which must be background.
func ink(p *picture.Picture, x, y int) bool {
	img := p.Image.(*image.Paletted)
	return img.ColorIndexAt(x, y) != img.Pix[len(img.Pix)-1]
}

// arms are the characters of box drawing with a straight line to each side, by its weight.
var arms = map[string][4]string{ // up, right, down, left
	"light":  {"│└├┴┼┕┝┷┿╘╞╧╪╽", "─┌└├┬┼┎┖┠┰┸╂╓╙╟╥╨╫╾", "│┌┐├┤┬┼┍┑┝┥┯┿╒╕╞╡╤╪╿", "─┐┘┤┴┬┼┒┚┨┰┸╂╖╜╢╥╨╫╼"},
	"heavy":  {"┃┗┖┛┚┣┠┫┨┻╋╂╿", "━┏┍┗┕┣┝┳┯┻┷╋┿╼", "┃┏┎┓┒┣┠┫┨┳┰╋╂╽", "━┓┑┛┙┫┥┳┯┻┷╋┿╾"},
	"double": {"║╚╙╝╜╠╟╣╢╩╨╬╫", "═╔╒╚╘╠╞╦╤╩╧╬╪", "║╔╓╗╖╠╟╣╢╦╥╬╫", "═╗╕╝╛╣╡╦╤╩╧╬╪"},
}

// TestLinesJoin puts each character with a line to one side beside each that continues it: the
// pixels on both sides of the edge must be the same, and there must be some.
func TestLinesJoin(t *testing.T) {
	for _, h := range heights {
		for weight, sides := range arms {
			for _, a := range sides[1] {
				for _, b := range sides[3] {
					joined(t, string(a)+string(b), weight, h, image.Pt(1, 0))
				}
			}
			for _, a := range sides[2] {
				for _, b := range sides[0] {
					joined(t, string(a)+"\r\n"+string(b), weight, h, image.Pt(0, 1))
				}
			}
			if t.Failed() {
				return
			}
		}
	}
}

// joined compares the pixels on both sides of the edge between the first cell and the one at to.
func joined(t *testing.T, text, weight string, h int, to image.Point) {
	t.Helper()
	p := draw(t, snapshot(3, 3, text), picture.Options{Height: h, HideCursor: true})
	w, some := h/2, false
	for i := range w*to.Y + h*to.X {
		x, y := i, h-1
		if to.X == 1 {
			x, y = w-1, i
		}
		a, b := ink(p, x, y), ink(p, x+to.X, y+to.Y)
		if a != b {
			t.Errorf("%q (%s) at a height of %d: pixel %d along the edge is %v on one side, %v on the other", text, weight, h, i, a, b)
			return
		}
		some = some || a
	}
	if !some {
		t.Errorf("%q (%s) at a height of %d: no line reaches the edge between them", text, weight, h)
	}
}

// TestLinesAreWhole follows the pixels of each character that has only light and heavy lines:
// all must be in one piece.
func TestLinesAreWhole(t *testing.T) {
	for _, h := range heights {
		for r := rune(0x2500); r < 0x2580; r++ {
			if 0x2504 <= r && r <= 0x250b || 0x254c <= r && r <= 0x256c {
				continue // dashes, double lines
			}
			p := draw(t, snapshot(2, 2, string(r)), picture.Options{Height: h, HideCursor: true})
			if n := pieces(p, image.Rect(0, 0, h/2, h)); n != 1 {
				t.Errorf("%q at a height of %d is in %d pieces, want 1", r, h, n)
			}
		}
	}
}

// pieces counts the groups of pixels that touch each other.
func pieces(p *picture.Picture, in image.Rectangle) int {
	seen := map[image.Point]bool{}
	var follow func(at image.Point)
	follow = func(at image.Point) {
		if !at.In(in) || seen[at] || !ink(p, at.X, at.Y) {
			return
		}
		seen[at] = true
		for dy := -1; dy <= 1; dy++ {
			for dx := -1; dx <= 1; dx++ {
				follow(at.Add(image.Pt(dx, dy)))
			}
		}
	}
	n := 0
	for y := in.Min.Y; y < in.Max.Y; y++ {
		for x := in.Min.X; x < in.Max.X; x++ {
			if at := image.Pt(x, y); !seen[at] && ink(p, x, y) {
				n++
				follow(at)
			}
		}
	}
	return n
}

// TestAreasJoin checks that full and shaded areas have no seam, and that the parts of a cell
// fill it together.
func TestAreasJoin(t *testing.T) {
	for _, h := range heights {
		for _, c := range []string{"█", "░", "▒", "▓"} {
			p := draw(t, snapshot(2, 2, c+c+"\r\n"+c+c), picture.Options{Height: h, HideCursor: true})
			first := p.At(0, 0)
			for y := range h * 2 {
				for x := range h / 2 * 2 {
					if p.At(x, y) != first {
						t.Fatalf("an area of %s at a height of %d has another colour at %d,%d", c, h, x, y)
					}
				}
			}
		}
		for _, pair := range []string{"▀▄", "▌▐", "▁🮆", "▘▟", "▝▙", "▖▜", "▗▛", "▚▞", "🬀🬻", "🬁🬺", "▏🮋", "▔▇"} {
			halves := []rune(pair)
			a := draw(t, snapshot(3, 1, string(halves[0])), picture.Options{Height: h, HideCursor: true})
			b := draw(t, snapshot(3, 1, string(halves[1])), picture.Options{Height: h, HideCursor: true})
			for y := range h {
				for x := range h / 2 {
					if ink(a, x, y) == ink(b, x, y) {
						t.Fatalf("%s at a height of %d: pixel %d,%d is in both or in none", pair, h, x, y)
					}
				}
			}
		}
	}
}

// TestBraille counts the dots of each pattern.
func TestBraille(t *testing.T) {
	for _, h := range heights {
		for bits := range 256 {
			want := 0
			for b := bits; b > 0; b &= b - 1 {
				want++
			}
			p := draw(t, snapshot(2, 2, string(rune(0x2800+bits))), picture.Options{Height: h, HideCursor: true})
			if n := pieces(p, image.Rect(0, 0, h/2, h)); n != want {
				t.Errorf("U+%X at a height of %d has %d dots, want %d", 0x2800+bits, h, n, want)
			}
		}
	}
}
