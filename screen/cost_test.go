package screen_test

import (
	"runtime"
	"testing"

	"ptyctl/screen"
)

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
