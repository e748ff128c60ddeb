package picture

import (
	"compress/flate"
	_ "embed" // the font files
	"encoding/binary"
	"io"
	"sort"
	"strings"
	"sync"
)

// unifontPages is GNU Unifont, a font of bitmaps that has nearly every character. Its parts
// are decompressed when they are first used:
//
//	uint16 n | n x (uint16 page, uint32 end) | n x compressed page
//
// A page is 1,024 characters: the width of each in bytes (0 if missing), then the glyphs one after the other, 16
// bytes for each column of 8 pixels. Numbers are big-endian.
//
//go:embed fonts/unifont.pages
var unifontPages string

const (
	pageSize    = 1024
	bitmapRows  = 16
	bitmapIndex = 6 // bytes of an entry of the index
)

// unifont keeps the pages that were used, of all pictures: at most 2 MB if all were.
var unifont struct {
	mu    sync.Mutex
	pages map[rune][]byte
}

// bitmap returns the glyph of r: its width in bytes, and 16 bytes for each. The width is 0 if
// the font has no glyph.
func bitmap(r rune) (width int, columns []byte) {
	page := unifontPage(r / pageSize)
	if page == nil {
		return 0, nil
	}
	at := pageSize
	for _, w := range page[:r%pageSize] {
		at += int(w) * bitmapRows
	}
	width = int(page[r%pageSize])
	return width, page[at : at+width*bitmapRows]
}

// unifontPage returns a page, or nil.
func unifontPage(number rune) []byte {
	unifont.mu.Lock()
	defer unifont.mu.Unlock()
	if page, ok := unifont.pages[number]; ok {
		return page
	}
	n := int(binary.BigEndian.Uint16([]byte(unifontPages[:2])))
	entry := func(i int) (page rune, end int) {
		b := []byte(unifontPages[2+i*bitmapIndex : 2+(i+1)*bitmapIndex])
		return rune(binary.BigEndian.Uint16(b)), int(binary.BigEndian.Uint32(b[2:]))
	}
	i := sort.Search(n, func(i int) bool {
		page, _ := entry(i)
		return page >= number
	})
	if i == n {
		return nil
	}
	page, end := entry(i)
	if page != number {
		return nil
	}
	start := 0
	if i > 0 {
		_, start = entry(i - 1)
	}
	data := unifontPages[2+n*bitmapIndex:][start:end]
	plain, err := io.ReadAll(flate.NewReader(strings.NewReader(data)))
	if err != nil {
		panic("the embedded font is damaged: " + err.Error())
	}
	if unifont.pages == nil {
		unifont.pages = map[rune][]byte{}
	}
	unifont.pages[number] = plain
	return plain
}

// scaled draws a bitmap into a cell. A glyph of the width of the cell fills it, so that shapes
// which touch the edges of their cells join. A narrow glyph in a wide cell is in its middle.
func scaled(r rune, w, h int, wide bool) *mask {
	width, columns := bitmap(r)
	if width == 0 {
		return nil
	}
	m := newMask(w, h)
	indent, into := 0, w
	if wide && width == 1 {
		indent, into = w/4, w/2
	}
	from := 8 * width
	area := from * bitmapRows
	if from > into {
		area = area * (from + into) / (2 * from) // strokes that become thin must not fade
	}
	for y := range h {
		for x := range into {
			// The part of the bitmap below the pixel, in units of 1/into and 1/h of a bit.
			x0, x1, y0, y1 := x*from, (x+1)*from, y*bitmapRows, (y+1)*bitmapRows
			sum := 0
			for by := y0 / h; by*h < y1; by++ {
				high := min(y1, (by+1)*h) - max(y0, by*h)
				for bx := x0 / into; bx*into < x1; bx++ {
					if columns[bx/8*bitmapRows+by]&(0x80>>(bx%8)) != 0 {
						sum += high * (min(x1, (bx+1)*into) - max(x0, bx*into))
					}
				}
			}
			m.a[y*w+indent+x] = uint8(min(full, (sum*full+area/2)/area))
		}
	}
	return m
}
