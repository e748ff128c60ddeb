package screen_test

import (
	"bytes"
	"fmt"
	"runtime"
	"testing"

	"ptyctl/screen"
	"ptyctl/vt"
)

const benchChunk = 4 << 10 // the usual size of one read from a PTY

var benchData = []struct {
	name string
	data func(tb testing.TB) []byte
}{
	{"plain", plainLog},
	{"coloured", colouredLog},
	{"programs", programs},
	{"table", table},
	{"cjk", cjkLog},
}

func plainLog(testing.TB) []byte {
	return bytes.Repeat(
		[]byte("2026-01-01T00:00:00Z INFO request served path=/api/v1/items status=200 duration=1.532ms\r\n"),
		12_000,
	)
}

func colouredLog(testing.TB) []byte {
	return bytes.Repeat([]byte("\x1b[90m2026-01-01T00:00:00Z\x1b[0m \x1b[1;32mINFO\x1b[0m request served "+
		"\x1b[36mpath=\x1b[0m/api/v1/items/17 \x1b[36mstatus=\x1b[0m200\r\n"), 12_000)
}

func cjkLog(testing.TB) []byte {
	return bytes.Repeat([]byte("\x1b[33m警告\x1b[0m 日本語のログ行です。ファイルが見つかりません。\r\n"), 12_000)
}

// table is redrawn every second, as by top.
func table(testing.TB) []byte {
	var b bytes.Buffer
	for frame := range 120 {
		b.WriteString("\x1b[?25l\x1b[H")
		for row := range 40 {
			fmt.Fprintf(&b, "\x1b[%d;1H\x1b[32m%6d\x1b[m root\x1b[6C\x1b[1m%5.1f\x1b[m\x1b[48;5;24m process-%d --option\x1b[m\x1b[K",
				row+1, frame*row, float64(row), row)
		}
		b.WriteString("\x1b[?25h")
	}
	return b.Bytes()
}

// programs is the output of all recorded programs, until there is enough of it.
func programs(tb testing.TB) []byte {
	tb.Helper()
	var all []byte
	for _, r := range recordings(tb) {
		all = append(append(all, r.raw...), "\x1b[!p\x1b[?1049l\x1b[H\x1b[2J"...)
	}
	return bytes.Repeat(all, 1+1<<20/len(all))
}

func eachChunk(b *testing.B, data []byte, f func([]byte)) {
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		for rest := data; len(rest) > 0; {
			n := min(benchChunk, len(rest))
			f(rest[:n])
			rest = rest[n:]
		}
	}
}

// BenchmarkWrite compares the screen with the least work of any emulator: copying the bytes, and splitting them into
// tokens. Speeds are for one core; only those of one run compare.
func BenchmarkWrite(b *testing.B) {
	for _, d := range benchData {
		data := d.data(b)
		b.Run(d.name+"/screen", func(b *testing.B) {
			s := screen.New(120, 40)
			eachChunk(b, data, func(p []byte) { s.Write(p) })
		})
		b.Run(d.name+"/parser", func(b *testing.B) {
			var p vt.Parser
			eachChunk(b, data, func(chunk []byte) {
				for t, rest := p.Next(chunk); t != nil; t, rest = p.Next(rest) {
				}
			})
		})
		b.Run(d.name+"/copy", func(b *testing.B) {
			to := make([]byte, benchChunk)
			eachChunk(b, data, func(p []byte) { copy(to, p) })
		})
	}
}

func BenchmarkDiff(b *testing.B) {
	s := screen.New(120, 40)
	s.Write(table(b))
	b.ReportAllocs()
	for version := uint64(0); b.Loop(); {
		s.Write([]byte("\x1b[7;30Hx"))
		version = s.Diff(version).Version
	}
}

// The pump writes to a screen for every byte of every session.
func TestNoAllocation(t *testing.T) {
	for _, d := range benchData {
		data := d.data(t)
		data = data[:min(len(data), 256<<10)]
		s := screen.New(120, 40)
		s.Write(data)
		allocs := testing.AllocsPerRun(3, func() {
			for rest := data; len(rest) > 0; {
				n := min(benchChunk, len(rest))
				s.Write(rest[:n])
				rest = rest[n:]
			}
		})
		// Titles and answers to questions are new each time.
		if perKiB := allocs / float64(len(data)>>10); perKiB > 0.5 {
			t.Errorf("%s: %.2f allocations per KiB, want none but those of titles", d.name, perKiB)
		}
	}
}

func TestMemory(t *testing.T) {
	const n, limit = 200, 130 << 10
	screens := make([]*screen.Screen, n)
	line := plainLog(t)[:85]
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	for i := range screens {
		screens[i] = screen.New(120, 40)
		for range 39 { // a full screen, and nothing in the scrollback
			screens[i].Write(line)
			screens[i].Write([]byte("\r\n"))
		}
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	each := (int64(after.HeapAlloc) - int64(before.HeapAlloc)) / n
	t.Logf("%d bytes per screen of 120x40", each)
	if each > limit {
		t.Errorf("a screen of 120x40 takes %d bytes, want at most %d", each, limit)
	}
	runtime.KeepAlive(screens)
}
