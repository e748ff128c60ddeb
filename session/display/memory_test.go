package display_test

import (
	"runtime"
	"strings"
	"testing"

	"ptyctl/session/display"
)

// The screens of idle sessions are small: before someone asks for one it is a copy of some output.
func TestMemoryOfIdleScreens(t *testing.T) {
	prompt := []byte("Last login: Wed Nov 25\r\n\x1b]0;alice@web1: ~\a\x1b[01;32malice@web1\x1b[0m:~$ ")
	full := []byte(strings.Repeat("-rw-r--r-- 1 root root 1379 Jan  1 00:00 a-file-with-a-name-of-some-length.txt\r\n", 50))
	for _, tc := range []struct {
		name   string
		out    []byte
		looked bool
		most   int64 // KiB for each
	}{
		{"silent", nil, false, 1},
		{"a prompt", prompt, false, 1},
		{"a prompt that was looked at", prompt, true, 130},
		{"a full screen", full, false, 5},
		{"a full screen that was looked at", full, true, 140},
	} {
		const n = 200
		displays := make([]*display.Display, n)
		before := heap()
		for i := range displays {
			displays[i] = display.New(120, 40)
			displays[i].Show(tc.out, nil)
			if tc.looked {
				displays[i].View(0)
			}
		}
		each := (heap() - before) / n >> 10
		t.Logf("%s: %d KiB", tc.name, each)
		if each > tc.most {
			t.Errorf("%s: a display takes %d KiB, want at most %d", tc.name, each, tc.most)
		}
		runtime.KeepAlive(displays)
	}
}

func heap() int64 {
	var m runtime.MemStats
	for range 2 { // a pool keeps its items for one collection
		runtime.GC()
	}
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
