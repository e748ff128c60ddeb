package picture

import "testing"

// TestUnifont reads every glyph of the fallback font.
func TestUnifont(t *testing.T) {
	narrow, wide := 0, 0
	for r := range rune(0x21000) {
		width, columns := bitmap(r)
		switch {
		case len(columns) != width*bitmapRows || width > 2:
			t.Fatalf("the glyph of U+%04X has %d columns in %d bytes", r, width, len(columns))
		case width == 1:
			narrow++
		case width == 2:
			wide++
		}
	}
	if narrow != 7_977 || wide != 52_627 {
		t.Errorf("the font has %d narrow and %d wide glyphs, want 7,977 and 52,627", narrow, wide)
	}
	bytes := 0
	for _, page := range unifont.pages {
		bytes += len(page)
	}
	if bytes > 2<<20 {
		t.Errorf("all pages of the font take %d bytes, want at most %d", bytes, 2<<20)
	}
}
