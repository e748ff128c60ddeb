package screen_test

import (
	"compress/gzip"
	"encoding/binary"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ptyctl/screen"
)

// A recording is the output of a real program, and the screen that xterm shows after it; see
// testdata/README.md.
type recording struct {
	name       string
	cols, rows int
	raw        []byte
	cursor     string
	lines      []string
}

// differs is the rows that xterm shows otherwise, by recording and row, and why that is right.
var differs = map[string]string{
	"emoji-80x24 8":  "xterm drops U+200D; xterm.js and the text itself have it",
	"emoji-120x40 7": "xterm drops U+200D; xterm.js and the text itself have it",
}

func recordings(tb testing.TB) []recording {
	tb.Helper()
	files, err := filepath.Glob(filepath.Join("testdata", "*.raw.gz"))
	if err != nil || len(files) == 0 {
		tb.Fatalf("testdata has no recordings: %v", err)
	}
	var all []recording
	for _, file := range files {
		r := recording{name: strings.TrimSuffix(filepath.Base(file), ".raw.gz")}
		if _, err := fmt.Sscanf(r.name[strings.LastIndexByte(r.name, '-')+1:], "%dx%d", &r.cols, &r.rows); err != nil {
			tb.Fatalf("the name of %s does not end with a size: %v", file, err)
		}
		r.raw = unzip(tb, file)
		golden, err := os.ReadFile(strings.TrimSuffix(file, ".raw.gz") + ".txt")
		if err != nil {
			tb.Fatal(err)
		}
		lines := strings.Split(strings.TrimSuffix(string(golden), "\n"), "\n")
		r.cursor, r.lines = lines[0], lines[1:]
		for len(r.lines) < r.rows {
			r.lines = append(r.lines, "")
		}
		all = append(all, r)
	}
	return all
}

func unzip(tb testing.TB, file string) []byte {
	tb.Helper()
	f, err := os.Open(file)
	if err != nil {
		tb.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		tb.Fatalf("%s: %v", file, err)
	}
	raw, err := io.ReadAll(z)
	if err != nil {
		tb.Fatalf("%s: %v", file, err)
	}
	return raw
}

// feed draws raw, cut into pieces of at most most bytes; 0 leaves it whole.
func feed(cols, rows int, raw []byte, most int) *screen.Snapshot {
	s := screen.New(cols, rows)
	rng := rand.New(rand.NewPCG(uint64(most), 1))
	for len(raw) > 0 {
		n := len(raw)
		if most > 0 {
			n = min(n, 1+rng.IntN(most))
		}
		s.Write(raw[:n])
		raw = raw[n:]
	}
	return s.Snapshot()
}

// state is all that a snapshot says, as text.
func state(s *screen.Snapshot) string {
	b := fmt.Appendf(nil, "%+v %+v %q %q %v %v %d\n", s.Cursor, s.Modes, s.Title, s.Dir, s.AltScreen, s.Prompt, s.ScrolledUp)
	for y := range s.Rows {
		for x := range s.Cols {
			c := s.Cell(y, x)
			if c == (screen.Cell{Rune: ' ', Width: 1}) {
				b = append(b, ' ')
				continue
			}
			b = append(binary.AppendUvarint(b, uint64(c.Rune)), c.Cluster...)
			for _, v := range []uint64{uint64(c.Width), uint64(c.Fg), uint64(c.Bg), uint64(c.Attr), uint64(c.Underline), uint64(c.Line)} {
				b = binary.AppendUvarint(b, v)
			}
			b = append(b, c.Link...)
		}
		b = fmt.Appendf(b, "%d %v %v\n", y, s.Wrapped(y), s.Mark(y))
	}
	return string(b)
}

// TestRecordings compares the screen with that of xterm, whole and cut anywhere.
func TestRecordings(t *testing.T) {
	rows, wrong := 0, 0
	for _, r := range recordings(t) {
		s := feed(r.cols, r.rows, r.raw, 0)
		for y := range r.rows {
			rows++
			got := s.Row(y)
			_, known := differs[fmt.Sprintf("%s %d", r.name, y)]
			if same := got == r.lines[y]; same == known {
				t.Errorf("%s row %d is\n%q, xterm shows\n%q; listed as different: %v", r.name, y, got, r.lines[y], known)
			} else if !same {
				wrong++
			}
		}
		if got := fmt.Sprintf("cursor %d,%d", s.Cursor.Row, s.Cursor.Col); got != r.cursor {
			t.Errorf("%s: the screen has %s, xterm %s", r.name, got, r.cursor)
		}
		want := state(s)
		for _, most := range []int{1, 7, 100} {
			if state(feed(r.cols, r.rows, r.raw, most)) != want {
				t.Errorf("%s cut into pieces of at most %d bytes draws another screen", r.name, most)
			}
		}
	}
	t.Logf("%d of %d rows differ from xterm", wrong, rows)
}
