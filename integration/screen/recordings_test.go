package screen

import (
	"compress/gzip"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ptyctl/screen"
)

// A recording is the output of a real program; screen/testdata has about thirty, at two sizes each.
type recording struct {
	name       string
	cols, rows int
	raw        []byte
}

// A judge is another emulator. It draws recordings of one size, whole, and returns the rows of each.
type judge func(t *testing.T, cols, rows int, all []recording) [][]string

// mostWrong is the share of rows that may differ from a judge's: one in 200, each of them named.
const mostWrong = 200

// compare draws all recordings, whole and byte by byte, and compares each row with the judge's. The rows of differs
// differ, for the reason there; same says whether two rows are the same otherwise.
func compare(t *testing.T, draw judge, same func(ours, theirs string) bool, differs map[string]string) {
	t.Helper()
	total, wrong := 0, 0
	for _, size := range [][2]int{{80, 24}, {120, 40}} {
		all := recordings(t, size[0], size[1])
		for i, want := range draw(t, size[0], size[1], all) {
			r := all[i]
			whole, bytewise := screen.New(r.cols, r.rows), screen.New(r.cols, r.rows)
			whole.Write(r.raw)
			for i := range r.raw {
				bytewise.Write(r.raw[i : i+1])
			}
			ours, pieces := whole.Snapshot(), bytewise.Snapshot()
			for y := range r.rows {
				total++
				got := ours.Row(y)
				if row := pieces.Row(y); row != got {
					t.Errorf("%s row %d is %q byte by byte, whole %q", r.name, y, row, got)
				}
				why, known := differs[fmt.Sprintf("%s %d", r.name, y)]
				switch equal := same(got, want[y]); {
				case equal && known:
					t.Errorf("%s row %d is as the other emulator shows it; it is listed as different: %s", r.name, y, why)
				case !equal && !known:
					t.Errorf("%s row %d is\n%q, the other emulator shows\n%q", r.name, y, got, want[y])
				}
				if known {
					wrong++
				}
			}
		}
	}
	if wrong*mostWrong > total {
		t.Errorf("%d of %d rows are listed as different, want at most one in %d", wrong, total, mostWrong)
	}
	t.Logf("%d of %d rows differ", wrong, total)
}

// recordings returns those of one size.
func recordings(t *testing.T, cols, rows int) []recording {
	t.Helper()
	size := fmt.Sprintf("-%dx%d", cols, rows)
	files, err := filepath.Glob("../../screen/testdata/*" + size + ".raw.gz")
	if err != nil || len(files) < 20 {
		t.Fatalf("there are %d recordings of %dx%d, want at least 20: %v", len(files), cols, rows, err)
	}
	var all []recording
	for _, file := range files {
		all = append(all, recording{strings.TrimSuffix(filepath.Base(file), ".raw.gz"), cols, rows, unzip(t, file)})
	}
	return all
}

func unzip(t *testing.T, file string) []byte {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}
