//go:build unix

package audit

import (
	"path/filepath"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"ptyctl/term"
)

// startLog starts a log with FsyncAlways and another function in place of fsync(2).
func startLog(t *testing.T, path string, sync func() error) *Log {
	t.Helper()
	o := Options{Path: path, Fsync: FsyncAlways}.withDefaults()
	l := &Log{o: o, queue: make(chan request, o.Queue), stop: make(chan struct{}), done: make(chan struct{})}
	l.file = &file{path: path, max: o.MaxBytes, keep: 1}
	if err := l.start(); err != nil {
		t.Fatal(err)
	}
	l.file.sync = sync
	go l.run()
	return l
}

// With FsyncAlways, a line that an action waits for is on the disk before the action, and all others are there soon:
// several with one call.
func TestFsyncAlways(t *testing.T) {
	path := filepath.Join(folder(t), "audit.jsonl")
	synctest.Test(t, func(t *testing.T) {
		calls := 0
		l := startLog(t, path, func() error { calls++; return nil })
		for i, step := range []struct {
			journal bool
			after   time.Duration
			want    int
		}{
			{true, 0, 1},
			{false, 0, 1},
			{false, syncSoon - 1, 1},
			{false, 1, 2}, // the two before it, and it
			{false, time.Hour, 3},
			{true, 0, 4},
			{false, 0, 4},
			{true, 0, 5}, // with the line before it
			{false, syncSoon - 1, 5},
			{false, time.Hour, 6},
		} {
			if step.journal {
				if err := l.Journal(event("s")); err != nil {
					t.Fatal(err)
				}
			} else {
				l.Observe(event("s"))
			}
			synctest.Wait()
			time.Sleep(step.after)
			synctest.Wait()
			if calls != step.want {
				t.Errorf("calls of fsync after step %d = %d, want %d", i, calls, step.want)
			}
		}
		for range 2 * maxBatch { // it never waits for more lines than that
			l.Observe(event("s"))
			synctest.Wait()
		}
		if calls != 7 {
			t.Errorf("calls of fsync after %d lines = %d, want 7", 2*maxBatch, calls)
		}
		closeLog(t, l)
	})
}

// Lines that could not be forced to the disk are lost, and are counted; the end of a session is written again.
func TestFsyncFails(t *testing.T) {
	path := filepath.Join(folder(t), "audit.jsonl")
	synctest.Test(t, func(t *testing.T) {
		var fails error = syscall.EIO
		l := startLog(t, path, func() error { return fails })
		l.Observe(event("s"))
		end := event("s")
		end.Verb = term.VerbClose
		l.Observe(end)
		synctest.Wait()
		if l.Lost() != 0 {
			t.Errorf("lost lines before fsync = %d, want 0", l.Lost())
		}
		time.Sleep(syncSoon)
		synctest.Wait()
		if l.Lost() != 1 {
			t.Errorf("lost lines after fsync = %d, want 1", l.Lost())
		}
		fails = nil
		closeLog(t, l)
	})
	closes := 0
	for _, n := range entries(t, path) {
		if n.Event == string(term.VerbClose) {
			closes++
		}
	}
	if closes != 2 {
		t.Errorf("lines of the close = %d, want one that fsync did not force, and one more", closes)
	}
	if r := verified(t, path); r.Lost != 1 {
		t.Errorf("report = %+v, want 1 lost line", r)
	}
}
