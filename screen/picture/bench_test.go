package picture_test

import (
	"fmt"
	"strings"
	"testing"

	"ptyctl/screen"
	"ptyctl/screen/picture"
)

// costly is a full screen of the greatest size in which each cell has colours and a character
// of its own.
func costly() *screen.Snapshot {
	var b strings.Builder
	for i := range picture.MaxCols * picture.MaxRows {
		fmt.Fprintf(&b, "\x1b[38;2;%d;%d;7;48;2;%d;9;%dm%c", i%251, i/251, i%241, i/241, rune(0x3400+i))
	}
	return snapshot(picture.MaxCols, picture.MaxRows, b.String())
}

func BenchmarkEncode(b *testing.B) {
	recorded := recordings(b)
	for _, c := range []struct {
		name   string
		screen *screen.Snapshot
		height int
	}{
		{"vim-80x24", recorded["vim-80x24"], 0},
		{"mc-120x40", recorded["mc-120x40"], 0},
		{"costly-200x60", costly(), 0},
		{"costly-200x60-at-32", costly(), picture.MaxHeight},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				var n counter
				if err := picture.Encode(&n, c.screen, picture.Options{Height: c.height}); err != nil {
					b.Fatal(err)
				}
				b.ReportMetric(float64(n), "file-bytes")
			}
		})
	}
}

// counter counts the bytes of a file.
type counter int

func (n *counter) Write(p []byte) (int, error) {
	*n += counter(len(p))
	return len(p), nil
}
