//go:build unix

package daemon

import (
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ptyctl/internal/rundir"
)

// A daemon removes the files of unused configurations when it starts. Files that a process holds stay, and so do the
// files of others and young logs.
func TestSweep(t *testing.T) {
	dir, err := os.MkdirTemp("/tmp", "ptyctl-sweep-") //nolint:usetesting // short, for sockets
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	old := time.Now().Add(-2 * keepLog)
	file := func(name string) string {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, old, old); err != nil {
			t.Fatal(err)
		}
		return path
	}
	socket := func(name string, stale bool) {
		t.Helper()
		l, err := net.ListenUnix("unix", &net.UnixAddr{Name: filepath.Join(dir, name), Net: "unix"})
		if err != nil {
			t.Fatal(err)
		}
		if stale {
			l.SetUnlinkOnClose(false)
			_ = l.Close()
			return
		}
		t.Cleanup(func() { _ = l.Close() })
	}
	gone := []string{"d-1-dead.log", "d-1-dead.lock", "d-1-dead.sock", "d-1-only.log", "d-7-other.sock", "d-1-young.lock"}
	for _, name := range gone {
		if strings.HasSuffix(name, ".sock") {
			socket(name, true)
		} else {
			file(name)
		}
	}
	file("d-1-live.log")
	socket("d-1-live.sock", false)
	file("d-1-starts.log")
	unlock, err := rundir.TryPath(filepath.Join(dir, "d-1-starts.lock"))
	if err != nil {
		t.Fatal(err)
	}
	defer unlock()
	file("d-1-reloaded.log")
	defer Place{dir: dir, name: "d-1-reloaded"}.HoldLog()()
	young := file("d-1-young.log")
	if err := os.Chtimes(young, time.Now(), time.Now()); err != nil {
		t.Fatal(err)
	}
	file("d-1-file.sock")
	file("notes.log")
	file("d-1.log")
	stays := []string{
		"d-1-live.log", "d-1-live.sock", "d-1-starts.log", "d-1-starts.lock", "d-1-reloaded.log", "d-1-young.log",
		"d-1-file.sock", "notes.log", "d-1.log", "d-1-mine.log", "d-1-mine.sock",
	}
	if os.Getuid() == 0 {
		for _, name := range []string{"d-1-foreign.log", "d-1-theirs.lock", "d-1-theirs.log"} {
			if err := os.Chown(file(name), 61139, 61139); err != nil {
				t.Fatal(err)
			}
			stays = append(stays, name)
		}
	}
	file("d-1-mine.log")

	l, err := Listen(Place{dir: dir, name: "d-1-mine"}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for _, name := range stays {
		if _, err := os.Lstat(filepath.Join(dir, name)); err != nil {
			t.Errorf("%s: %v, want it left alone", name, err)
		}
	}
	for _, name := range gone {
		if _, err := os.Lstat(filepath.Join(dir, name)); err == nil {
			t.Errorf("%s is there, want it removed", name)
		}
	}
}
