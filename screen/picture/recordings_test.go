package picture_test

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"flag"
	"fmt"
	"image"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ptyctl/screen"
	"ptyctl/screen/picture"
)

var (
	update   = flag.Bool("update", false, "rewrite the hashes of the pictures; look at them first, with -pictures")
	pictures = flag.String("pictures", "", "a `FOLDER` to write the pictures to")
)

// recordings are those of package screen, drawn.
func recordings(tb testing.TB) map[string]*screen.Snapshot {
	tb.Helper()
	files, err := filepath.Glob(filepath.Join("..", "testdata", "*.raw.gz"))
	if err != nil || len(files) == 0 {
		tb.Fatalf("the recordings of package screen are not there: %v", err)
	}
	all := map[string]*screen.Snapshot{}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".raw.gz")
		var cols, rows int
		if _, err := fmt.Sscanf(name[strings.LastIndexByte(name, '-')+1:], "%dx%d", &cols, &rows); err != nil {
			tb.Fatalf("the name of %s does not end with a size: %v", file, err)
		}
		zipped, err := os.ReadFile(file)
		if err != nil {
			tb.Fatal(err)
		}
		z, err := gzip.NewReader(bytes.NewReader(zipped))
		if err != nil {
			tb.Fatalf("%s: %v", file, err)
		}
		raw, err := io.ReadAll(z)
		if err != nil {
			tb.Fatalf("%s: %v", file, err)
		}
		all[name] = snapshot(cols, rows, string(raw))
	}
	return all
}

// snapshot is the screen after output.
func snapshot(cols, rows int, output string) *screen.Snapshot {
	s := screen.New(cols, rows)
	s.Write([]byte(output))
	return s.Snapshot()
}

// draw draws a screen that can be drawn.
func draw(tb testing.TB, s *screen.Snapshot, o picture.Options) *picture.Picture {
	tb.Helper()
	p, err := picture.Draw(s, o)
	if err != nil {
		tb.Fatalf("drawing a screen of %d x %d with %+v: %v", s.Cols, s.Rows, o, err)
	}
	return p
}

// hash is that of the pixels, so that another compression of the file is no other picture.
func hash(p image.Image) string {
	h := sha256.New()
	size := p.Bounds().Size()
	fmt.Fprintln(h, size)
	row := make([]byte, 0, 3*size.X)
	for y := range size.Y {
		row = row[:0]
		for x := range size.X {
			r, g, b, _ := p.At(x, y).RGBA()
			row = append(row, byte(r>>8), byte(g>>8), byte(b>>8))
		}
		h.Write(row)
	}
	return fmt.Sprintf("%x", h.Sum(nil)[:12])
}

// sheet is characters in rows of 32, drawn with the frames of their cells touching.
func sheet(ranges ...[2]rune) *screen.Snapshot {
	var b strings.Builder
	n := 0
	for _, r := range ranges {
		for c := r[0]; c <= r[1]; c++ {
			if n++; n%32 == 1 && n > 1 {
				b.WriteString("\r\n")
			}
			b.WriteRune(c)
		}
	}
	return snapshot(32, (n+31)/32, b.String()+"\x1b[?25l")
}

// attributes is every way to show text.
const attributes = "\x1b[1mbold\x1b[m \x1b[2mfaint\x1b[m \x1b[3mitalic\x1b[m \x1b[1;3mboth\x1b[m \x1b[4msingle\x1b[m \x1b[21mdouble\x1b[m\r\n" +
	"\x1b[4:3mcurly\x1b[m \x1b[4:4mdotted\x1b[m \x1b[4:5mdashed\x1b[m \x1b[4;58:2::255:0:0mred line\x1b[m \x1b[9mstruck\x1b[m\r\n" +
	"\x1b[5mblink\x1b[m \x1b[7mreverse\x1b[m \x1b[8mhidden\x1b[m \x1b[53mover\x1b[m \x1b[31;44mcolours\x1b[m \x1b[1;30mgrey\x1b[m\r\n" +
	"\x1b[38;5;208m256\x1b[m \x1b[38;2;1;200;3mRGB\x1b[m \x1b[48;5;240mgrey\x1b[m e\u0301E\u0301n\u0303\u0302 漢字\x1b[1m漢\x1b[3m字\x1b[m한국\r\n" +
	"ไทย ที่ שלום مرحبا नमस्ते Ελληνικά Русский → ⇒ ✓ ● ★ ∑ ≤\r\n" +
	"😀🚀 👍🏽 🇩🇪 ❤\ufe0f 𝒜 \ue0a0 \ue000 \U000f0000"

// golden are the pictures that must not change unnoticed.
func golden(tb testing.TB) map[string]*picture.Picture {
	tb.Helper()
	all := map[string]*picture.Picture{}
	recorded := recordings(tb)
	for _, name := range []string{"vim", "htop", "mc", "dialog", "emoji", "lesswide", "tmux", "fzf", "vttest2"} {
		all[name] = draw(tb, recorded[name+"-80x24"], picture.Options{})
	}
	lines := sheet([2]rune{0x2500, 0x259f}, [2]rune{0x23ba, 0x23bd}, [2]rune{0xe0b0, 0xe0bf}, [2]rune{0x1fb00, 0x1fbaf})
	for _, height := range []int{10, 17, 20, 32} {
		all[fmt.Sprintf("lines at %d", height)] = draw(tb, lines, picture.Options{Height: height})
	}
	all["braille"] = draw(tb, sheet([2]rune{0x2800, 0x28ff}), picture.Options{})
	for _, theme := range picture.Themes() {
		all["attributes "+theme] = draw(tb, snapshot(60, 6, attributes), picture.Options{Theme: theme})
	}
	return all
}

func TestGolden(t *testing.T) {
	const file = "testdata/hashes.txt"
	all := golden(t)
	var lines []string
	for name, p := range all {
		lines = append(lines, hash(p)+" "+name)
		if *pictures != "" {
			write(t, filepath.Join(*pictures, name+".png"), p)
		}
	}
	slices.SortFunc(lines, func(a, b string) int { return strings.Compare(a[25:], b[25:]) })
	if *update {
		if err := os.WriteFile(file, []byte(strings.Join(lines, "\n")+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range lines {
		if !slices.Contains(strings.Split(string(want), "\n"), line) {
			t.Errorf("the picture %q has other pixels than before; look at it with -pictures FOLDER, then run with -update", line[25:])
		}
	}
	if n := strings.Count(string(want), "\n"); n != len(lines) {
		t.Errorf("%s has %d pictures, want %d", file, n, len(lines))
	}
}

func write(t *testing.T, file string, p *picture.Picture) {
	t.Helper()
	var b bytes.Buffer
	if err := p.Encode(&b); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, b.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestFileSize draws the fullest recordings: a picture travels as text in a message.
func TestFileSize(t *testing.T) {
	const limit = 50 << 10
	largest, sum, n := 0, 0, 0
	all := recordings(t)
	for _, name := range []string{"vim", "nano", "mcview", "man", "top", "gdb"} {
		s := all[name+"-120x40"]
		var b bytes.Buffer
		if err := picture.Encode(&b, s, picture.Options{}); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if b.Len() > limit {
			t.Errorf("the picture of %s takes %d bytes, want at most %d", name, b.Len(), limit)
		}
		largest, sum, n = max(largest, b.Len()), sum+b.Len(), n+1
	}
	t.Logf("%d pictures: the largest file has %d bytes, the mean is %d", n, largest, sum/n)
}
