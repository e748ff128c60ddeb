package picture

import (
	"bytes"
	"compress/gzip"
	_ "embed" // the font files
	"image"
	"io"
	"math"
	"sync"

	"golang.org/x/image/font"
	"golang.org/x/image/font/sfnt"
	"golang.org/x/image/math/fixed"
	"golang.org/x/image/vector"
)

var (
	//go:embed fonts/JetBrainsMono-Regular.ttf.gz
	regularFile []byte
	//go:embed fonts/JetBrainsMono-Bold.ttf.gz
	boldFile []byte

	// The fonts are read when the first picture is drawn.
	regular = sync.OnceValue(func() *sfnt.Font { return readFont(regularFile) })
	bold    = sync.OnceValue(func() *sfnt.Font { return readFont(boldFile) })
)

func readFont(file []byte) *sfnt.Font {
	z, err := gzip.NewReader(bytes.NewReader(file))
	if err == nil {
		var ttf []byte
		if ttf, err = io.ReadAll(z); err == nil {
			var f *sfnt.Font
			if f, err = sfnt.Parse(ttf); err == nil {
				return f
			}
		}
	}
	panic("the embedded font is damaged: " + err.Error())
}

// The measures of the text font, in parts of its size.
const (
	advance  = 0.6   // of every character
	baseline = 0.8   // below the top of a cell, in parts of its height
	xHeight  = 0.55  // of lower-case letters
	lean     = 0.2   // of slanted letters
	middle   = 0.365 // half the height of capital letters
)

// An outliner draws the glyphs of the text font in one size. It must not be shared.
type outliner struct {
	w, h   int // of a cell
	buf    sfnt.Buffer
	raster vector.Rasterizer
}

func (o *outliner) size() fixed.Int26_6 {
	return fixed.Int26_6(math.Round(float64(o.w) * 64 / advance))
}

// base returns the row below the letters.
func (o *outliner) base() float32 { return float32(math.Round(float64(o.h) * baseline)) }

// glyph returns the number of r in f, 0 if it has none.
func (o *outliner) glyph(f *sfnt.Font, r rune) sfnt.GlyphIndex {
	i, err := f.GlyphIndex(&o.buf, r)
	if err != nil {
		return 0
	}
	return i
}

// top returns how high a glyph is, and bottom how far its lowest point is above the baseline.
func (o *outliner) extent(f *sfnt.Font, i sfnt.GlyphIndex) (top, bottom float32) {
	bounds, _, err := f.GlyphBounds(&o.buf, i, o.size(), font.HintingNone)
	if err != nil {
		return 0, 0
	}
	return -float32(bounds.Min.Y) / 64, -float32(bounds.Max.Y) / 64
}

// draw adds a glyph to m, raised by some pixels.
func (o *outliner) draw(m *mask, f *sfnt.Font, i sfnt.GlyphIndex, slanted bool, raised float32) {
	segments, err := f.LoadGlyph(&o.buf, i, o.size(), nil)
	if err != nil {
		return
	}
	// Lower-case letters are stretched to whole pixels: their upper edges are sharp then.
	size := float32(o.size()) / 64
	stretch := max(1, float32(math.Round(float64(size*xHeight)))) / (size * xHeight)
	indent := float32(m.w-o.w) / 2 // in the middle of a wide cell
	at := func(p fixed.Point26_6) (x, y float32) {
		x, y = float32(p.X)/64+indent, float32(p.Y)/64*stretch
		if slanted {
			x -= float32(lean * (y + middle*size))
		}
		return x, y + o.base() - raised
	}
	z := &o.raster
	z.Reset(m.w, m.h)
	for _, s := range segments {
		ax, ay := at(s.Args[0])
		bx, by := at(s.Args[1])
		cx, cy := at(s.Args[2])
		switch s.Op {
		case sfnt.SegmentOpMoveTo:
			z.ClosePath()
			z.MoveTo(ax, ay)
		case sfnt.SegmentOpLineTo:
			z.LineTo(ax, ay)
		case sfnt.SegmentOpQuadTo:
			z.QuadTo(ax, ay, bx, by)
		case sfnt.SegmentOpCubeTo:
			z.CubeTo(ax, ay, bx, by, cx, cy)
		}
	}
	z.ClosePath()
	m.rasterize(z)
}

// rasterize adds the drawing of z.
func (m *mask) rasterize(z *vector.Rasterizer) {
	img := image.NewAlpha(image.Rect(0, 0, m.w, m.h))
	z.Draw(img, img.Bounds(), image.Opaque, image.Point{})
	for i, a := range img.Pix {
		m.a[i] = max(m.a[i], uint8((int(a)*full+127)/255))
	}
}
