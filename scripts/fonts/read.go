package main

import (
	"bufio"
	"encoding/hex"
	"fmt"
	"image"
	"os"
	"strconv"
	"strings"

	"golang.org/x/image/font"
	"golang.org/x/image/font/sfnt"
	"golang.org/x/image/math/fixed"
	"golang.org/x/image/vector"
)

// height is the rows of every glyph of Unifont; its baseline is below the first 14.
const (
	height = 16
	ascent = 14
)

// readHex reads lines such as 0041:0000...: the character, and 16 rows of 8 or 16 pixels.
func readHex(glyphs map[rune][]byte, file string) error {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		char, bits, _ := strings.Cut(lines.Text(), ":")
		r, err := strconv.ParseUint(char, 16, 21)
		if err != nil {
			return err
		}
		rows, err := hex.DecodeString(bits)
		if err != nil {
			return fmt.Errorf("line of %s: %w", char, err)
		}
		if len(rows) != height && len(rows) != 2*height {
			return fmt.Errorf("line of %s has %d bytes, want %d or %d", char, len(rows), height, 2*height)
		}
		if r >= ' ' {
			glyphs[rune(r)] = byColumn(rows)
		}
	}
	return lines.Err()
}

// byColumn puts the left halves of the rows before the right ones: it compresses better.
func byColumn(rows []byte) []byte {
	if len(rows) == height {
		return rows
	}
	var b []byte
	for _, from := range []int{0, 1} {
		for i := from; i < len(rows); i += 2 {
			b = append(b, rows[i])
		}
	}
	return b
}

// upperBlocks are the blocks of the second plane that terminals show: letters for
// mathematics, game tiles, enclosed letters, emoji, arrows and shapes for legacy computing.
var upperBlocks = [][2]rune{{0x1d400, 0x1d7ff}, {0x1f000, 0x1fbff}}

// readOutlines reads glyphs that are published as outlines of their pixels.
func readOutlines(glyphs map[rune][]byte, file string) error {
	otf, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	f, err := sfnt.Parse(otf)
	if err != nil {
		return err
	}
	var buf sfnt.Buffer
	for _, block := range upperBlocks {
		for r := block[0]; r <= block[1]; r++ {
			i, err := f.GlyphIndex(&buf, r)
			if err != nil {
				return err
			}
			if i == 0 {
				continue
			}
			advance, err := f.GlyphAdvance(&buf, i, fixed.I(height), font.HintingNone)
			if err != nil {
				return err
			}
			width := 8
			if advance > fixed.I(8) {
				width = 16
			}
			segments, err := f.LoadGlyph(&buf, i, fixed.I(height), nil)
			if err != nil {
				return fmt.Errorf("U+%04X: %w", r, err)
			}
			glyphs[r] = byColumn(pixels(segments, width))
		}
	}
	return nil
}

// pixels draws an outline that runs along the edges of pixels.
func pixels(segments sfnt.Segments, width int) []byte {
	z := vector.NewRasterizer(width, height)
	at := func(p fixed.Point26_6) (x, y float32) { return float32(p.X) / 64, float32(p.Y)/64 + ascent }
	for _, s := range segments {
		x, y := at(s.Args[0])
		switch s.Op {
		case sfnt.SegmentOpMoveTo:
			z.MoveTo(x, y)
		case sfnt.SegmentOpLineTo:
			z.LineTo(x, y)
		}
	}
	img := image.NewAlpha(image.Rect(0, 0, width, height))
	z.Draw(img, img.Bounds(), image.Opaque, image.Point{})
	rows := make([]byte, width*height/8)
	for i, a := range img.Pix {
		if a >= 128 {
			rows[i/8] |= 0x80 >> (i % 8)
		}
	}
	return rows
}
