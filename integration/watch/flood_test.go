package watch

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"ptyctl/internal/lab"
)

// peak returns the most memory that a process has had, in bytes.
func peak(tb testing.TB, pid int) (bytes int64) {
	tb.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		tb.Fatal(err)
	}
	_, after, _ := strings.Cut(string(status), "VmHWM:")
	if _, err := fmt.Sscanf(after, "%d kB", &bytes); err != nil {
		tb.Fatalf("/proc/%d/status has no VmHWM: %v", pid, err)
	}
	return bytes << 10
}

// A flood of 60 MB is followed to its end by a tile, and so are an editor and htop beside it. Neither the process that
// has the sessions, nor ptyctl watch, nor the page keeps it: the page draws at most 30 frames a second, and the last one
// at once.
func TestFlood(t *testing.T) {
	h := lab.NewHome(t)
	c := h.Connect(t)
	id := openLocal(t, c, "sh")
	vim := openLocal(t, c, "vim", "-N", "-u", "NONE")
	openLocal(t, c, "sh", "-c", "exec htop -p $$")
	p := startPage(t, h)
	b := newTab(t, 1280, 860)
	b.open(p.link())
	types := func(line string) {
		c.Call(t, lab.ToolIO, `{"action":"write","session_id":%s,"data":%s}`, id, line+"\r")
	}
	types("seq 1 200000; echo warm-u''p")
	b.shows(".tile .screen", "warm-up")
	b.shows(".tile .screen", "F10Quit")
	const heap = `performance.memory.usedJSHeapSize`
	server, page, browser := peak(t, c.PID), peak(t, p.cmd.Process.Pid), evaluate[int64](b, heap)
	evaluate[bool](b, fmt.Sprintf(`(() => {
		window.frames = 0
		window.tile = [...document.querySelectorAll('.tile')].find(e => e.innerText.includes(%q)).querySelector('.screen')
		window.tile.addEventListener('drawn', () => window.frames++)
		return true
	})()`, id))
	began := time.Now()
	types("seq 1 8000000; echo all-d''one") // 62,888,896 bytes
	c.Call(t, lab.ToolIO, `{"action":"write","session_id":%s,"data":"iwritten meanwhile\u001b"}`, vim)
	b.shows(".tile .screen", "written meanwhile")
	b.wait("the end of the flood", `window.tile.innerText.includes('all-done')`)
	took := time.Since(began)
	if frames, most := evaluate[int](b, `window.frames`), int(35*took.Seconds())+5; frames > most {
		t.Errorf("the tile has drawn %d frames of the flood in %v, want at most %d", frames, took, most)
	}
	const most = 24 << 20
	for name, grown := range map[string]int64{
		"ptyctl mcp":   peak(t, c.PID) - server,
		"ptyctl watch": peak(t, p.cmd.Process.Pid) - page,
		"the page":     evaluate[int64](b, heap) - browser,
	} {
		if grown > most {
			t.Errorf("%s has grown by %d bytes in a flood of 60 MB that is watched, want at most %d", name, grown, most)
		}
	}
	b.clean()
}

// BenchmarkLatency measures the time from the call that writes to a program, over its output, to the browser's
// picture of it, in milliseconds.
func BenchmarkLatency(b *testing.B) {
	for name, flood := range map[string]bool{"quiet": false, "beside a flood": true} {
		b.Run(name, func(b *testing.B) { latency(b, flood) })
	}
}

func latency(b *testing.B, flood bool) {
	h := lab.NewHome(b)
	c := h.Connect(b)
	id := openLocal(b, c, "cat")
	if flood {
		other := openLocal(b, c, "sh")
		c.Call(b, lab.ToolIO, `{"action":"write","session_id":%s,"data":"while :; do seq 1 100000; done\r"}`, other)
	}
	page := newTab(b, 1280, 860)
	page.open(startPage(b, h).link())
	page.shows(".tile .name", id)
	evaluate[bool](page, `(() => {
		window.times = []
		const seen = new Set()
		for (const s of document.querySelectorAll('.tile .screen')) s.addEventListener('drawn', () => {
			for (const [, at] of s.textContent.matchAll(/T(\d{13})/g)) if (!seen.has(at)) {
				seen.add(at); window.times.push(Date.now() - Number(at))
			}
		})
		return true
	})()`)
	for b.Loop() {
		now := fmt.Sprintf("T%d\r", time.Now().UnixMilli())
		c.Call(b, lab.ToolIO, `{"action":"write","session_id":%s,"data":%s}`, id, now)
		time.Sleep(40 * time.Millisecond) // a program that draws, and no flood
	}
	time.Sleep(200 * time.Millisecond)
	var times []float64
	page.run("read the times", chromedp.Evaluate(`window.times`, &times))
	if len(times) == 0 {
		b.Fatal("the browser has shown none of the writes")
	}
	slices.Sort(times)
	b.ReportMetric(times[len(times)/2], "ms-p50")
	b.ReportMetric(times[len(times)*95/100], "ms-p95")
	b.ReportMetric(times[len(times)-1], "ms-max")
}
