package logging

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestLogShared has two loggers on one file, as two processes: both follow when it is renamed, and no file is too long.
func TestLogShared(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	const max, keep, lines = 10_000, 100, 300
	var files [2]*logFile
	for i := range files {
		f, err := openLogFile(path, max, keep)
		if err != nil {
			t.Fatal(err)
		}
		files[i] = f
	}
	for i := range lines {
		for j, f := range files {
			if _, err := fmt.Fprintf(f, "%d-%d %s\n", j, i, strings.Repeat("x", 90)); err != nil {
				t.Fatal(err)
			}
		}
	}
	total := 0
	names, err := filepath.Glob(path + "*")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil || len(text) > max+200 {
			t.Errorf("%s has %d bytes, %v", name, len(text), err)
		}
		total += strings.Count(string(text), "\n")
	}
	if total != 2*lines || len(names) > 2*lines*100/max+2 {
		t.Errorf("%d files have %d lines, want %d", len(names), total, 2*lines)
	}
	for _, f := range files {
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestLogIsNotStdout gives stdout a file, and the log the same one by another name.
func TestLogIsNotStdout(t *testing.T) {
	dir := t.TempDir()
	out, err := os.Create(filepath.Join(dir, "out"))
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	link := filepath.Join(dir, "link")
	if err := os.Symlink(out.Name(), link); err != nil {
		t.Fatal(err)
	}
	stdout := os.Stdout
	os.Stdout = out
	defer func() { os.Stdout = stdout }()
	if f, err := openLogFile(link, 1<<20, 1); err == nil || !strings.Contains(err.Error(), "stdout") {
		t.Errorf("got %v, %v; want a refusal", f, err)
	}
	f, err := openLogFile(os.DevNull, 1<<20, 1)
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if _, err := f.Write(make([]byte, 1<<20)); err != nil {
			t.Error(err)
		}
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
}
