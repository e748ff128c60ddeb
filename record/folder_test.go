package record

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// again runs the test in several processes at a time, with a folder, and returns their output.
func again(t *testing.T, dir string, processes int) string {
	t.Helper()
	var wg sync.WaitGroup
	var mu sync.Mutex
	var all strings.Builder
	for range processes {
		wg.Go(func() {
			cmd := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$")
			cmd.Env = append(os.Environ(), "RECORD_TEST_DIR="+dir)
			out, err := cmd.CombinedOutput()
			if err != nil {
				t.Errorf("a process of %d ended with %v: %s", processes, err, out)
			}
			mu.Lock()
			defer mu.Unlock()
			all.Write(out)
		})
	}
	wg.Wait()
	return all.String()
}

// TestDirProcesses: the limits hold when several processes write to one folder.
func TestDirProcesses(t *testing.T) {
	const maxTotal, processes = 1 << 20, 3
	if dir := os.Getenv("RECORD_TEST_DIR"); dir != "" {
		d := newDir(t, DirOptions{Path: dir, MaxTotal: maxTotal, MaxFiles: 12})
		for i := range 10 {
			id := fmt.Sprintf("p%d-%d", os.Getpid(), i)
			live(d, id, strings.Repeat("x", 64<<10))
			if err := d.session(id, false, time.Now()).Recorder.Close(); err != nil {
				t.Error(err)
			}
		}
		return
	}
	dir := folderFor(t)
	done := make(chan struct{})
	go func() { defer close(done); again(t, dir, processes) }()
	for over := false; !over; {
		select {
		case <-done:
			over = true
		case <-time.After(10 * time.Millisecond):
		}
		all, err := recordings(dir)
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
		var size int64
		for _, s := range all {
			size += s.size
		}
		if size > maxTotal+processes*(70<<10) || len(all) > 12 {
			t.Fatalf("%d recordings of %d bytes", len(all), size)
		}
	}
	for _, s := range list(t, dir) {
		if rep, err := Verify(s.Path, nil); err != nil || !rep.Ended {
			t.Errorf("%s: %+v, %v", s.Path, rep, err)
		}
	}
}

// TestDirProcessesAge: several processes remove recordings that are too old, each once, but none that one of them
// still writes.
func TestDirProcessesAge(t *testing.T) {
	const processes, each = 3, 8
	old := time.Now().Add(-2 * time.Hour)
	o := DirOptions{Path: os.Getenv("RECORD_TEST_DIR"), MaxAge: time.Hour}
	o.Noted = func(n Note) {
		if n.Removed {
			fmt.Printf("removed %s: %s\n", filepath.Base(n.Path), n.Why)
		}
	}
	if o.Path == "" {
		o.Path = folderFor(t)
		out := again(t, o.Path, processes)
		var last strings.Builder
		o.Noted = func(n Note) {
			if n.Removed {
				fmt.Fprintf(&last, "removed %s: %s\n", filepath.Base(n.Path), n.Why)
			}
		}
		newDir(t, o)
		out += last.String()
		times := make(map[string]int)
		for line := range strings.Lines(out) {
			if name, ok := strings.CutPrefix(line, "removed "); ok {
				times[strings.TrimSpace(name)]++
			}
		}
		for name, n := range times {
			if n != 1 || !strings.HasSuffix(name, ": age") || strings.Contains(name, "live") {
				t.Errorf("%q was removed %d times, want once, for its age, and none that is live", name, n)
			}
		}
		if len(times) != processes*each {
			t.Errorf("%d recordings were removed, want %d:\n%s", len(times), processes*each, out)
		}
		if all := list(t, o.Path); len(all) != processes {
			t.Errorf("%d recordings are left, want the %d that were written until the end: %+v", len(all), processes, all)
		}
		return
	}
	d := newDir(t, o)
	record := func(id string) *tapeFile {
		live(d, id, strings.Repeat("x", 1<<10))
		return d.session(id, false, time.Now())
	}
	age := func(tape *tapeFile) {
		tape.file.mu.Lock()
		defer tape.file.mu.Unlock()
		if err := os.Chtimes(tape.file.path, old, old); err != nil {
			t.Errorf("a recording is gone that this process has written: %v", err)
		}
	}
	kept := record(fmt.Sprintf("live%d", os.Getpid()))
	if err := kept.file.open(); err != nil {
		t.Fatal(err)
	}
	for i := range each {
		done := record(fmt.Sprintf("p%d-%d", os.Getpid(), i))
		if err := done.Recorder.Close(); err != nil {
			t.Error(err)
		}
		age(kept) // it is idle, and not over
	}
	all, err := recordings(o.Path)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range all { // of all processes: each process ages them while others look for old ones
		if !strings.Contains(s.name, "live") {
			_ = os.Chtimes(filepath.Join(o.Path, s.name), old, old)
		}
	}
	if err := d.folder.prune(); err != nil {
		t.Error(err)
	}
	age(kept)
}
