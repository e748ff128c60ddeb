package picture_test

import (
	"bytes"
	"image"
	"image/color"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"ptyctl/screen"
	"ptyctl/screen/picture"
)

// at is the colour of a pixel as 0xrrggbb.
func at(p image.Image, x, y int) uint32 {
	c := color.RGBAModel.Convert(p.At(x, y)).(color.RGBA)
	return uint32(c.R)<<16 | uint32(c.G)<<8 | uint32(c.B)
}

func TestEncode(t *testing.T) {
	s := snapshot(20, 4, "hello")
	for height, want := range map[int]image.Point{0: {200, 80}, 10: {100, 40}, 17: {160, 68}, 32: {320, 128}} {
		var b bytes.Buffer
		if err := picture.Encode(&b, s, picture.Options{Height: height}); err != nil {
			t.Fatalf("height %d: %v", height, err)
		}
		img, err := png.Decode(&b)
		if err != nil {
			t.Fatalf("height %d: the file is not a PNG: %v", height, err)
		}
		if got := img.Bounds().Size(); got != want {
			t.Errorf("a screen of 20 x 4 with a height of %d has %v pixels, want %v", height, got, want)
		}
	}
}

func TestErrors(t *testing.T) {
	s := snapshot(80, 24, "")
	for _, c := range []struct {
		screen *screen.Snapshot
		o      picture.Options
		want   string
	}{
		{s, picture.Options{Theme: "neon"}, `unknown theme "neon": the themes are dark, light, xterm`},
		{s, picture.Options{Height: 9}, "a height of 9 pixels is out of range: a row has 10 to 32"},
		{s, picture.Options{Height: -1}, "a height of -1 pixels is out of range: a row has 10 to 32"},
		{s, picture.Options{Part: image.Rect(80, 0, 90, 5)}, "no column and row of the part (80,0)-(90,5) is on the screen, which has 80 columns and 24 rows"},
		{new(screen.Snapshot), picture.Options{}, "there is no row to draw"},
	} {
		if _, err := picture.Draw(c.screen, c.o); err == nil || err.Error() != c.want {
			t.Errorf("Draw with %+v returned the error %v, want %s", c.o, err, c.want)
		}
	}
}

// TestColors looks at the backgrounds of blanks, which are nothing but their colour.
func TestColors(t *testing.T) {
	for _, c := range []struct {
		theme, sgr string
		want       uint32
	}{
		{"xterm", "", 0x000000},
		{"xterm", "41", 0xcd0000},
		{"xterm", "101", 0xff0000},
		{"xterm", "48;5;9", 0xff0000},
		{"xterm", "48;5;208", 0xff8700},
		{"dark", "48;5;16", 0x000000},
		{"dark", "48;5;231", 0xffffff},
		{"dark", "48;5;232", 0x080808},
		{"light", "48;5;255", 0xeeeeee},
		{"light", "48;2;1;2;3", 0x010203},
		{"light", "", 0xffffff},
		{"xterm", "7", 0xe5e5e5},
		{"xterm", "7;32", 0x00cd00},
		{"xterm", "7;1;32", 0x00ff00},
		{"xterm", "7;2;32", 0x00cd00},
		{"xterm", "7;38;2;9;8;7", 0x090807},
	} {
		s := snapshot(4, 2, "\x1b["+c.sgr+"m    ")
		if got := at(draw(t, s, picture.Options{Theme: c.theme}), 12, 10); got != c.want {
			t.Errorf("a blank with SGR %q in the theme %s is %06x, want %06x", c.sgr, c.theme, got, c.want)
		}
	}
	if got := at(draw(t, snapshot(4, 2, "\x1b[?5h"), picture.Options{Theme: "xterm"}), 12, 10); got != 0xe5e5e5 {
		t.Errorf("a blank of a reversed screen is %06x, want e5e5e5", got)
	}
}

// TestReadable looks for the darkest and the brightest pixel of text.
func TestReadable(t *testing.T) {
	for _, c := range []struct {
		theme, sgr string
		same       bool // as the background
	}{
		{"dark", "36;44", false}, {"light", "36;44", false}, {"light", "33", false}, {"light", "97", false},
		{"dark", "30", false}, {"dark", "31;41", true}, {"light", "97;107", true}, {"xterm", "30;40", true},
	} {
		p := draw(t, snapshot(4, 1, "\x1b["+c.sgr+"m██ "), picture.Options{Theme: c.theme, HideCursor: true})
		text, background := at(p, 5, 10), at(p, 25, 10)
		if (text == background) != c.same {
			t.Errorf("SGR %q in the theme %s: text is %06x on %06x, want the same: %v", c.sgr, c.theme, text, background, c.same)
		}
	}
}

// TestAttributes checks that each attribute shows, and that text that must not be read does not.
func TestAttributes(t *testing.T) {
	o := picture.Options{}
	plain := hash(draw(t, snapshot(8, 1, "secret"), o))
	seen := map[string]string{plain: "none"}
	for _, sgr := range []string{"1", "2", "3", "1;3", "4", "21", "4:3", "4:4", "4:5", "4;58:5:1", "7", "9", "53"} {
		got := hash(draw(t, snapshot(8, 1, "\x1b["+sgr+"msecret"), o))
		if other, ok := seen[got]; ok {
			t.Errorf("text with SGR %s looks like that with %s", sgr, other)
		}
		seen[got] = sgr
	}
	if got := hash(draw(t, snapshot(8, 1, "\x1b[5msecret"), o)); got != plain {
		t.Error("text with SGR 5 (blink) does not look like plain text")
	}
	blank := hash(draw(t, snapshot(8, 1, "\x1b[4m\x1b[7m      "), o))
	for _, sgr := range []string{"8", "8;1", "8;3", "8;9", "8;53"} {
		hidden := hash(draw(t, snapshot(8, 1, "\x1b["+sgr+"msecret"), o))
		if want := hash(draw(t, snapshot(8, 1, "\x1b["+sgr+"mabcdef"), o)); hidden != want {
			t.Errorf("concealed text with SGR %s can be told from other text", sgr)
		}
		if hidden == blank {
			t.Errorf("concealed text with SGR %s looks underlined", sgr)
		}
	}
	masked := snapshot(8, 1, "secret")
	masked.Mask(func(line []byte) [][2]int { return [][2]int{{0, 6}} })
	if hash(draw(t, masked, o)) != hash(draw(t, snapshot(8, 1, "******"), o)) {
		t.Error("masked text is not drawn as asterisks")
	}
}

func TestCursor(t *testing.T) {
	const fg, bg = 0xe5e5e5, 0x000000
	o := picture.Options{Theme: "xterm"}
	for _, c := range []struct {
		name, output                   string
		upper, left, lower, right, off uint32 // the edges of the second cell, and the third
	}{
		{"block", "a\x1b[2 q", fg, fg, fg, fg, bg},
		{"default", "a", fg, fg, fg, fg, bg},
		{"underline", "a\x1b[4 q", bg, bg, fg, bg, bg},
		{"bar", "a\x1b[6 q", bg, fg, bg, bg, bg},
		{"hidden", "a\x1b[?25l", bg, bg, bg, bg, bg},
		{"bar on a reversed screen", "a\x1b[6 q\x1b[?5h", fg, bg, fg, fg, fg},
		{"wide", "a\u3000\x1b[2G", fg, fg, fg, fg, fg},
		{"second half", "a\u3000\x1b[3G", fg, fg, fg, fg, fg},
	} {
		p := draw(t, snapshot(6, 1, c.output), o)
		got := []uint32{at(p, 15, 0), at(p, 10, 10), at(p, 15, 19), at(p, 19, 3), at(p, 29, 3)}
		for i, want := range []uint32{c.upper, c.left, c.lower, c.right, c.off} {
			if got[i] != want {
				t.Errorf("cursor %s: pixel %d is %06x, want %06x (all: %06x)", c.name, i, got[i], want, got)
			}
		}
	}
	o.HideCursor = true
	if got := at(draw(t, snapshot(6, 1, "a"), o), 15, 10); got != bg {
		t.Errorf("with HideCursor the cell of the cursor is %06x, want %06x", got, bg)
	}
}

// TestCut draws screens that are too large.
func TestCut(t *testing.T) {
	for _, c := range []struct {
		cols, rows int
		output     string
		ask, part  image.Rectangle
		cut        bool
		notice     int // rows
	}{
		{200, 60, "", image.Rectangle{}, image.Rect(0, 0, 200, 60), false, 0},
		{201, 60, "", image.Rectangle{}, image.Rect(0, 0, 200, 60), true, 1},
		{250, 80, "\x1b[80;230H", image.Rectangle{}, image.Rect(30, 20, 230, 80), true, 1},
		{250, 80, "\x1b[70;10H", image.Rectangle{}, image.Rect(0, 10, 200, 70), true, 1},
		{250, 80, "\x1b[80;230H\x1b[?25l", image.Rectangle{}, image.Rect(0, 0, 200, 60), true, 1},
		{250, 80, "\x1b[70;10H", image.Rect(0, 0, 200, 60), image.Rect(0, 0, 200, 60), false, 0},
		{250, 80, "\x1b[70;10H", image.Rect(20, 5, 1000, 10), image.Rect(20, 5, 220, 10), true, 1},
		{80, 24, "", image.Rect(-5, -5, 10, 10), image.Rect(0, 0, 10, 10), false, 0},
		{1000, 1000, "\x1b[1000;1000H", image.Rectangle{}, image.Rect(800, 940, 1000, 1000), true, 1},
		{10, 1000, "", image.Rectangle{}, image.Rect(0, 0, 10, 60), true, 1},
	} {
		p := draw(t, snapshot(c.cols, c.rows, c.output), picture.Options{Part: c.ask, Height: 10})
		if p.Part != c.part || p.Cut != c.cut {
			t.Errorf("%d x %d with %q, part %v: drawn is %v, cut %v, want %v, %v", c.cols, c.rows, c.output, c.ask, p.Part, p.Cut, c.part, c.cut)
		}
		if got, want := p.Bounds().Size(), image.Pt(5*c.part.Dx(), 10*(c.part.Dy()+c.notice)); got != want {
			t.Errorf("%d x %d with %q: the picture has %v pixels, want %v", c.cols, c.rows, c.output, got, want)
		}
	}
}

// TestPart checks that a part looks as it does in the whole.
func TestPart(t *testing.T) {
	s := snapshot(20, 6, "\x1b[31;44mone 漢字 two\r\n\x1b[4:3mthree and four\x1b[m\r\n| | 漢 |")
	whole := draw(t, s, picture.Options{})
	part := draw(t, s, picture.Options{Part: image.Rect(2, 1, 12, 3)})
	for y := range 40 {
		for x := range 100 {
			if got, want := at(part, x, y), at(whole, x+20, y+20); got != want {
				t.Fatalf("pixel %d,%d of the part is %06x, in the whole it is %06x", x, y, got, want)
			}
		}
	}
	// A wide character that is cut in two leaves the background.
	if got := at(draw(t, s, picture.Options{Part: image.Rect(5, 0, 10, 1), Theme: "xterm"}), 5, 10); got != 0x0000ee {
		t.Errorf("the second half of a wide character alone is %06x, want its background", got)
	}
}

// TestCoverage draws a character of each of many scripts, and checks that it is neither blank nor the frame of a
// missing one.
func TestCoverage(t *testing.T) {
	o := picture.Options{HideCursor: true}
	shown := func(text string) string { return hash(draw(t, snapshot(4, 1, text), o)) }
	missing := map[string]bool{shown("\U0010fffd"): true, shown("\U00020000"): true, shown(" "): true}
	if len(missing) != 3 {
		t.Fatal("a blank and the frames for missing narrow and wide characters look alike")
	}
	for text := range strings.FieldsSeq("a Z ~ é Ж Ω ß ẞ ế א ب ก ม क অ ა ア 漢 한 → ⇒ ↯ ∀ ∞ ≠ ⌘ ⏎ ① ■ ● ★ ☃ ☑ ⚠ ✓ ✗ ❯ 🀄 🂡 😀 🚀 👍 🧑 🫠 🇩 ﷽ 𝒜 ⎿ ⏺ ✻ \ue0a0 🮕") {
		if missing[shown(text)] {
			t.Errorf("%s (%+q) is drawn as a blank or as a missing character", text, text)
		}
	}
	for text, same := range map[string]string{"❤\ufe0f": "❤", "☎\ufe0e": "☎"} {
		if shown(text) != shown(same) {
			t.Errorf("%+q does not look like %+q", text, same)
		}
	}
	for text, other := range map[string]string{"e\u0301": "e", "n\u0303\u0302": "n\u0303", "ที่": "ท"} {
		if shown(text) == shown(other) {
			t.Errorf("%+q looks like %+q: its marks are missing", text, other)
		}
	}
}

// TestLicences checks that the license of each font is beside it and in NOTICE.
func TestLicences(t *testing.T) {
	notice, err := os.ReadFile("../../NOTICE")
	if err != nil {
		t.Fatal(err)
	}
	for _, font := range []string{"JetBrainsMono", "Unifont"} {
		license, err := os.ReadFile(filepath.Join("fonts", "LICENSE-"+font+".txt"))
		if err != nil {
			t.Fatal(err)
		}
		who, _, _ := bytes.Cut(license, []byte("\n"))
		_, terms, ok := bytes.Cut(license, []byte("SIL OPEN FONT LICENSE Version 1.1"))
		words := func(b []byte) string { return strings.Join(strings.Fields(string(b)), " ") }
		if !ok || !strings.Contains(words(notice), words(terms)) || !strings.Contains(words(notice), words(who)) {
			t.Errorf("NOTICE does not have the terms and the copyright of %s as %s states them", font, "LICENSE-"+font+".txt")
		}
	}
}

// TestAtOnce draws from several goroutines, which share the fonts.
func TestAtOnce(t *testing.T) {
	s := snapshot(60, 6, attributes)
	want := hash(draw(t, s, picture.Options{}))
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			p, err := picture.Draw(s, picture.Options{})
			if err != nil || hash(p) != want {
				t.Errorf("one of several pictures drawn at once is another: %v", err)
			}
		})
	}
	group.Wait()
}
