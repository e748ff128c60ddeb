package vt_test

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"ptyctl/vt"
)

const benchChunk = 4 << 10 // the usual size of one read from a PTY

func plainLog(testing.TB) []byte {
	return bytes.Repeat(
		[]byte("2026-01-01T00:00:00Z INFO request served path=/api/v1/items status=200 duration=1.532ms\r\n"),
		12_000,
	)
}

func colouredLog(testing.TB) []byte {
	var b bytes.Buffer
	for i := range 12_000 {
		fmt.Fprintf(
			&b,
			"\x1b[90m2026-01-01T00:00:00Z\x1b[0m \x1b[1;32mINFO\x1b[0m request served \x1b[36mpath=\x1b[0m/api/v1/items/%d \x1b[36mstatus=\x1b[0m200\r\n",
			i,
		)
	}
	return b.Bytes()
}

// tui imitates a table that is redrawn every second: positions, colours and short texts.
func tui(testing.TB) []byte {
	var b bytes.Buffer
	for frame := range 120 {
		b.WriteString("\x1b[?25l\x1b[H")
		for row := range 40 {
			fmt.Fprintf(
				&b,
				"\x1b[%d;1H\x1b[32m%6d\x1b[m root\x1b[6C\x1b[1m%5.1f\x1b[m\x1b[48;5;24m process-%d --option\x1b[m\x1b[K\x1b[%d;70H%s",
				row+1,
				frame*row,
				float64(row),
				row,
				row+1,
				strings.Repeat("|", row%10),
			)
		}
		b.WriteString("\x1b[?25h")
	}
	return b.Bytes()
}

func progress(testing.TB) []byte {
	var b bytes.Buffer
	for i := range 10_000 {
		fmt.Fprintf(&b, "\rdownloading %3d%% [%-40s]", i%100, strings.Repeat("=", i%40))
		if i%100 == 99 {
			b.WriteString("\r\n")
		}
	}
	return b.Bytes()
}

func cjkLog(testing.TB) []byte {
	return bytes.Repeat([]byte("\x1b[33m警告\x1b[0m 日本語のログ行です。ファイルが見つかりません。\r\n"), 12_000)
}

var benchData = []struct {
	name string
	data func(tb testing.TB) []byte
}{
	{"plain", plainLog},
	{"coloured", colouredLog},
	{"tui", tui},
	{"programs", programs},
	{"progress", progress},
	{"cjk", cjkLog},
}

func BenchmarkParser(b *testing.B) {
	eachChunk(b, func(b *testing.B) func([]byte) {
		var p vt.Parser
		return func(chunk []byte) {
			for t, rest := p.Next(chunk); t != nil; t, rest = p.Next(rest) {
			}
		}
	})
}

func BenchmarkCleaner(b *testing.B) {
	for _, cols := range []int{0, 120} {
		b.Run(fmt.Sprintf("cols=%d", cols), func(b *testing.B) {
			eachChunk(b, func(b *testing.B) func([]byte) {
				c := vt.Cleaner{Cols: cols}
				out := make([]byte, 0, 16<<10)
				return func(chunk []byte) { out = c.Append(out[:0], chunk) }
			})
		})
	}
}

func BenchmarkTracker(b *testing.B) {
	eachChunk(b, func(b *testing.B) func([]byte) {
		var t vt.Tracker
		return func(chunk []byte) { t.Write(chunk) }
	})
}

// programs returns the recorded output of real full-screen programs.
func programs(tb testing.TB) []byte {
	tb.Helper()
	return bytes.Repeat(slices.Concat(recording(tb, "top"), recording(tb, "vim"), recording(tb, "less")), 200)
}

func eachChunk(b *testing.B, with func(b *testing.B) func([]byte)) {
	for _, d := range benchData {
		b.Run(d.name, func(b *testing.B) {
			data := d.data(b)
			f := with(b)
			b.SetBytes(int64(len(data)))
			b.ReportAllocs()
			for b.Loop() {
				for rest := data; len(rest) > 0; {
					n := min(benchChunk, len(rest))
					f(rest[:n])
					rest = rest[n:]
				}
			}
		})
	}
}

// The input is the most expensive one known: each sequence moves the whole line.
func BenchmarkCleanerHostile(b *testing.B) {
	data := append(bytes.Repeat([]byte("x"), 4000), bytes.Repeat([]byte("\r\x1b[@x"), 20_000)...)
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		var c vt.Cleaner
		c.Append(nil, data)
	}
}

func BenchmarkLastLine(b *testing.B) {
	raw := []byte("\x1b[?2004h\x1b]0;me@host: ~\x07\x1b[01;32mme@host\x1b[00m:\x1b[01;34m~/src\x1b[00m$ ")
	b.ReportAllocs()
	for b.Loop() {
		vt.LastLine(raw)
	}
}
