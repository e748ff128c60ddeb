package rivals

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/charmbracelet/x/vt"
	"github.com/hinshun/vt10x"

	"ptyctl/screen"
)

// A terminal is an emulator of a library: output is written to it, and text returns its rows.
type terminal struct {
	io.Writer
	text  func() string
	close func()
}

var libraries = []struct {
	name string
	open func(cols, rows int) terminal
}{
	{"screen", func(cols, rows int) terminal {
		s := screen.New(cols, rows)
		return terminal{s, func() string { return s.Snapshot().Text() }, func() {}}
	}},
	{"xvt", func(cols, rows int) terminal {
		e := vt.NewEmulator(cols, rows)
		done := make(chan struct{})
		go func() { // it waits for a reader of its answers
			defer close(done)
			io.Copy(io.Discard, e)
		}()
		return terminal{e, e.String, func() {
			e.Close()
			<-done
		}}
	}},
	{"vt10x", func(cols, rows int) terminal {
		v := vt10x.New(vt10x.WithSize(cols, rows))
		return terminal{v, v.String, func() {}}
	}},
}

// A recording is the output of a real program and the rows that xterm shows after it.
type recording struct {
	name       string
	cols, rows int
	raw        []byte
	lines      []string
}

func recordings(tb testing.TB) []recording {
	tb.Helper()
	files, err := filepath.Glob("../../../screen/testdata/*.raw.gz")
	if err != nil || len(files) == 0 {
		tb.Fatalf("there are no recordings: %v", err)
	}
	var all []recording
	for _, file := range files {
		r := recording{name: strings.TrimSuffix(filepath.Base(file), ".raw.gz")}
		if _, err := fmt.Sscanf(r.name[strings.LastIndexByte(r.name, '-')+1:], "%dx%d", &r.cols, &r.rows); err != nil {
			tb.Fatal(err)
		}
		f, err := os.Open(file)
		if err != nil {
			tb.Fatal(err)
		}
		z, err := gzip.NewReader(f)
		if err != nil {
			tb.Fatal(err)
		}
		if r.raw, err = io.ReadAll(z); err != nil {
			tb.Fatal(err)
		}
		f.Close()
		golden, err := os.ReadFile(strings.TrimSuffix(file, ".raw.gz") + ".txt")
		if err != nil {
			tb.Fatal(err)
		}
		r.lines = strings.Split(string(golden), "\n")[1:]
		all = append(all, r)
	}
	return all
}

// row returns a row of text, or "" below the last row.
func row(lines []string, y int) string {
	if y >= len(lines) {
		return ""
	}
	return strings.TrimRight(lines[y], " ")
}

// TestRows counts the rows that each library shows otherwise than xterm, fed whole and byte by byte.
func TestRows(t *testing.T) {
	for _, l := range libraries {
		total, whole, bytewise := 0, 0, 0
		for _, r := range recordings(t) {
			total += r.rows
			whole += wrong(r, l.open, len(r.raw))
			bytewise += wrong(r, l.open, 1)
		}
		t.Logf("%-6s shows %d of %d rows otherwise than xterm, fed byte by byte %d", l.name, whole, total, bytewise)
	}
}

func wrong(r recording, open func(cols, rows int) terminal, most int) (n int) {
	e := open(r.cols, r.rows)
	defer e.close()
	for rest := r.raw; len(rest) > 0; {
		k := min(most, len(rest))
		e.Write(rest[:k])
		rest = rest[k:]
	}
	lines := strings.Split(e.text(), "\n")
	for y := range r.rows {
		if row(lines, y) != row(r.lines, y) {
			n++
		}
	}
	return n
}

// TestMemory weighs a full screen of 120 by 40 after 1,000 lines.
func TestMemory(t *testing.T) {
	const n = 20
	for _, l := range libraries {
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		all := make([]terminal, n)
		for i := range all {
			all[i] = l.open(120, 40)
			for range 1000 {
				all[i].Write([]byte("2026-01-01T00:00:00Z INFO request served path=/api/v1/items status=200\r\n"))
			}
		}
		runtime.GC()
		runtime.ReadMemStats(&after)
		t.Logf("%-6s takes %d KiB per screen, scrollback included", l.name, (int64(after.HeapAlloc)-int64(before.HeapAlloc))/n>>10)
		for _, e := range all {
			e.close()
		}
	}
}

// BenchmarkRivals writes in pieces of 4 KiB, the usual size of a read from a PTY. Only figures of one run compare.
func BenchmarkRivals(b *testing.B) {
	var programs []byte
	for _, r := range recordings(b) {
		programs = append(append(programs, r.raw...), "\x1b[!p\x1b[?1049l\x1b[H\x1b[2J"...)
	}
	plain := "2026-01-01T00:00:00Z INFO request served path=/api/v1/items status=200 duration=1.532ms\r\n"
	coloured := "\x1b[90m2026-01-01T00:00:00Z\x1b[0m \x1b[1;32mINFO\x1b[0m request served " +
		"\x1b[36mpath=\x1b[0m/api/v1/items/17 \x1b[36mstatus=\x1b[0m200\r\n"
	for _, d := range []struct {
		name string
		data []byte
	}{
		{"programs", programs},
		{"plain", bytes.Repeat([]byte(plain), len(programs)/len(plain))},
		{"coloured", bytes.Repeat([]byte(coloured), len(programs)/len(coloured))},
	} {
		for _, l := range libraries {
			b.Run(d.name+"/"+l.name, func(b *testing.B) {
				e := l.open(120, 40)
				defer e.close()
				e.Write(d.data)
				b.SetBytes(int64(len(d.data)))
				b.ReportAllocs()
				for b.Loop() {
					for rest := d.data; len(rest) > 0; {
						n := min(4<<10, len(rest))
						e.Write(rest[:n])
						rest = rest[n:]
					}
				}
			})
		}
	}
}
