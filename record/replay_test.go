package record

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"ptyctl/screen"
	"ptyctl/screen/screentest"
	"ptyctl/term"
)

// programs returns the outputs of programs that package screen is tested with, by name and size of the terminal: in
// task test one of each kind, in task test:long all.
func programs(tb testing.TB) map[string][]byte {
	tb.Helper()
	files, err := filepath.Glob("../screen/testdata/*-80x24.raw.gz")
	if err != nil || len(files) < 20 {
		tb.Fatalf("%d outputs of programs: %v", len(files), err)
	}
	all := make(map[string][]byte)
	for _, name := range files {
		program, _, _ := strings.Cut(filepath.Base(name), "-")
		few := []string{"bash", "dialog", "emoji", "gdb", "less", "progress", "tmux", "vim", "vttest1"}
		if os.Getenv("PTYCTL_LONG") == "" && !slices.Contains(few, program) {
			continue
		}
		f, err := os.Open(name)
		if err != nil {
			tb.Fatal(err)
		}
		z, err := gzip.NewReader(f)
		if err != nil {
			tb.Fatal(err)
		}
		raw, err := io.ReadAll(z)
		_ = f.Close()
		if err != nil {
			tb.Fatal(err)
		}
		all[strings.TrimSuffix(filepath.Base(name), ".raw.gz")] = raw
	}
	return all
}

// TestReplay: at each marker, a replay looks like the terminal when the call was made, though commands were drawn in
// between, and the output came in pieces.
func TestReplay(t *testing.T) {
	for name, raw := range programs(t) {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var cols, rows int
				if _, err := fmt.Sscanf(name[strings.LastIndexByte(name, '-')+1:], "%dx%d", &cols, &rows); err != nil {
					t.Fatal(err)
				}
				rng := rand.New(rand.NewPCG(uint64(len(raw)), 7))
				live := screen.New(cols, rows)
				var want []string // by marker
				var b bytes.Buffer
				r := New(&b, Options{})
				opening(r, cols, rows)
				want = append(want, screentest.Looks(live.Snapshot()), screentest.Looks(live.Snapshot()))
				call := func(calls int, do func()) {
					for range calls {
						want = append(want, screentest.Looks(live.Snapshot()))
					}
					do()
				}
				for rest, n := raw, 0; len(rest) > 0; n++ {
					piece := rest[:min(len(rest), 1+rng.IntN(max(len(raw)/8, 2)))]
					rest = rest[len(piece):]
					_, _ = live.Write(piece)
					r.Observe(term.Event{Verb: term.VerbOutput, Data: piece})
					time.Sleep(time.Duration(rng.IntN(1200)) * time.Millisecond)
					if live.Drawing() { // a frame that is never finished is shown after a second
						time.Sleep(1100 * time.Millisecond)
					}
					switch n % 3 {
					case 0:
						call(1, func() { r.Observe(term.Event{Verb: term.VerbWrite, Size: 1, Actor: actor}) })
					case 1:
						call(2, func() { ran(r, fmt.Sprintf("exec-%d", n), "uptime", "up \x1b[31m1 day\n", "", 0) })
					}
				}
				if err := r.Close(); err != nil {
					t.Fatal(err)
				}
				path := filepath.Join(t.TempDir(), "a.cast")
				if err := os.WriteFile(path, b.Bytes(), 0o600); err != nil {
					t.Fatal(err)
				}
				p, err := Play(path)
				if err != nil {
					t.Fatal(err)
				}
				defer p.Close()
				view, shown := Terminal, 0
				for {
					e, err := p.Next()
					if errors.Is(err, io.EOF) {
						break
					}
					if err != nil {
						t.Fatal(err)
					}
					if e.Code == codeOutput {
						view = e.View
						if p.Shown.Drawing() || p.Terminal.Drawing() {
							time.Sleep(1100 * time.Millisecond)
						}
					}
					if e.Code != codeMarker || p.Markers > len(want) || strings.Contains(e.Text, "not UTF-8") {
						continue
					}
					if got := screentest.Looks(p.Terminal.Snapshot()); got != want[p.Markers-1] {
						t.Fatalf("terminal at marker %d (%s):\n%s\nwant\n%s", p.Markers, e.Text, got, want[p.Markers-1])
					}
					if view == Terminal {
						shown++
						if got := screentest.Looks(p.Shown.Snapshot()); got != want[p.Markers-1] {
							t.Fatalf("shown at marker %d (%s):\n%s\nwant\n%s", p.Markers, e.Text, got, want[p.Markers-1])
						}
					}
				}
				if p.Markers < len(want) || shown < len(want)/3 {
					t.Errorf("%d markers, at %d of which the terminal is shown; want %d", p.Markers, shown, len(want))
				}
			})
		})
	}
}
