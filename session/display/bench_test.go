package display_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"ptyctl/buffer"
	"ptyctl/session/display"
	"ptyctl/vt"
)

// BenchmarkShow measures the cost that a screen which no one looks at adds to the way of output: "without" is
// the modes and the buffer, "with" the screen as well, and "drawn" the screen if each piece were drawn when it comes.
// Only figures of one run compare.
func BenchmarkShow(b *testing.B) {
	var table bytes.Buffer
	for frame := range 50 {
		for row := range 40 {
			fmt.Fprintf(&table, "\x1b[%d;1H\x1b[32m%6d\x1b[m root\x1b[6C\x1b[1m%5.1f\x1b[m process-%d --option\x1b[K",
				row+1, frame*row, float64(row), row)
		}
	}
	for _, kind := range []struct{ name, text string }{
		{"plain", strings.Repeat("-rw-r--r-- 1 root root 1379 Jan  1 00:00 a-file-with-a-name-of-some-length.txt\r\n", 5000)},
		{"colours", strings.Repeat("-rw-r--r-- 1 root root 1379 Jan  1 00:00 \x1b[0m\x1b[01;34mname\x1b[0m\r\n", 5000)},
		{"utf8", strings.Repeat("日本語のログ行です。ファイルが見つかりません。\r\n", 5000)},
		{"table", table.String()},
		{"letters", strings.Repeat("y\r\n", 50000)},
		{"reset", strings.Repeat("\x1bc", 50000)},
		{"align", strings.Repeat("\x1b#8", 50000)},
		{"frames", strings.Repeat("\x1b[?2026hx\x1b[?2026l", 5000)},
	} {
		for _, way := range []string{"without", "with", "drawn"} {
			b.Run(kind.name+"/"+way, func(b *testing.B) {
				d := display.New(120, 40)
				buf := buffer.New(buffer.Options{MaxBytes: 1 << 20})
				var modes vt.Tracker
				b.SetBytes(int64(len(kind.text)))
				b.ReportAllocs()
				for b.Loop() {
					for text := []byte(kind.text); len(text) > 0; {
						p := text[:min(len(text), 16<<10)]
						text = text[len(p):]
						if way != "without" {
							d.Show(p, nil)
						}
						if way == "drawn" {
							d.Replies()
						}
						_, _ = modes.Write(p)
						_, _ = buf.Write(p)
					}
				}
			})
		}
	}
}
