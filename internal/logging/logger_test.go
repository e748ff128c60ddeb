package logging

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"ptyctl/config"
	"ptyctl/term"
)

// TestLogRotates fills a log from many goroutines: no file is too long, not too many files are kept, and no remaining
// line is cut, missing or doubled.
func TestLogRotates(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	const maxBytes, keep, writers, lines = 65536, 3, 8, 400
	log, err := New(
		config.Logging{Level: config.LogInfo, Format: config.LogJSON, File: path, MaxBytes: maxBytes, Keep: keep},
	)
	if err != nil {
		t.Fatal(err)
	}
	filler := strings.Repeat("x", 100)
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			for i := range lines {
				log.Info("line", "id", fmt.Sprintf("%d-%d", w, i), "filler", filler)
			}
		})
	}
	wg.Wait()
	log.Close()

	names, err := filepath.Glob(path + "*")
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{path, path + ".1", path + ".2", path + ".3"}; !slices.Equal(names, want) {
		t.Fatalf("the files are %q, want %q", names, want)
	}
	next := make(map[string]int) // writer: the line that must come next
	slices.Reverse(names)        // the oldest first
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if len(text) > maxBytes {
			t.Errorf("%s has %d bytes, more than %d", name, len(text), maxBytes)
		}
		if info, err := os.Stat(name); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s has mode %v (%v), want 0600", name, info.Mode(), err)
		}
		for line := range strings.Lines(string(text)) {
			_, rest, _ := strings.Cut(line, `"id":"`)
			var w string
			var i int
			if id, _, ok := strings.Cut(rest, `"`); !ok || !strings.HasSuffix(line, filler+"\"}\n") {
				t.Fatalf("the line %q is cut", line)
			} else if writer, number, _ := strings.Cut(id, "-"); true {
				w = writer
				if _, err := fmt.Sscan(number, &i); err != nil {
					t.Fatal(err)
				}
			}
			if n, seen := next[w]; seen && i != n {
				t.Errorf("after line %d of writer %s comes %d", n-1, w, i)
			}
			next[w] = i + 1
		}
	}
	for w, n := range next {
		if n != lines {
			t.Errorf("the last line of writer %s is %d, want %d", w, n-1, lines-1)
		}
	}
}

// TestLogChangesPlace changes level, format and file under those who write: every line is in one of the files, whole.
func TestLogChangesPlace(t *testing.T) {
	dir := t.TempDir()
	at := func(n int) config.Logging {
		o := config.Logging{
			Level:    config.LogInfo,
			Format:   config.LogText,
			MaxBytes: 1 << 20,
			Keep:     1,
			File:     filepath.Join(dir, fmt.Sprint(n%2)),
		}
		if n%3 == 0 {
			o.Format = config.LogJSON
		}
		return o
	}
	log, err := New(at(0))
	if err != nil {
		t.Fatal(err)
	}
	const writers, lines = 4, 500
	var wg sync.WaitGroup
	for w := range writers {
		own := log.With("writer", w)
		wg.Go(func() {
			for i := range lines {
				own.Info("line", "number", i)
			}
		})
	}
	for n := range 50 {
		if err := log.Apply(at(n)); err != nil {
			t.Fatal(err)
		}
	}
	wg.Wait()
	if err := log.Apply(config.Logging{Level: "loud"}); err == nil {
		t.Error("an unknown level was accepted")
	}
	if err := log.Apply(config.Logging{Level: config.LogInfo, File: filepath.Join(dir, "no", "folder")}); err == nil {
		t.Error("a file that cannot be made was accepted")
	}
	log.Info("still here")
	log.Close()
	log.Info("too late")
	all := ""
	for n := range 2 {
		text, err := os.ReadFile(filepath.Join(dir, fmt.Sprint(n)))
		if err != nil {
			t.Fatal(err)
		}
		all += string(text)
	}
	if got, want := strings.Count(all, "\n"), writers*lines+1; got != want ||
		strings.Count(all, "writer") != writers*lines ||
		strings.Contains(all, "too late") {
		t.Errorf("%d lines were written, want %d", got, want)
	}
}

func TestLogShowsNoSecret(t *testing.T) {
	for _, format := range []config.LogFormat{config.LogText, config.LogJSON} {
		path := filepath.Join(t.TempDir(), "log")
		log, err := New(config.Logging{Level: config.LogDebug, Format: format, File: path, MaxBytes: 1 << 20, Keep: 1})
		if err != nil {
			t.Fatal(err)
		}
		ours, theirs := config.NewSecret("hunter2"), term.Secret("hunter2")
		holder := struct {
			A config.Secret
			B term.Secret
			C *config.Secret
			D []term.Secret
		}{ours, theirs, &ours, []term.Secret{theirs}}
		log.Info("x", "a", ours, "b", theirs, "c", holder, "d", &holder, slog.Group("g", "e", ours, "f", theirs))
		log.With("a", ours, "b", theirs).Debug(fmt.Sprint(holder))
		log.Close()
		text, err := os.ReadFile(path)
		if err != nil || strings.Contains(string(text), "hunter2") || !strings.Contains(string(text), "[redacted]") {
			t.Errorf("%v, the log has\n%s", err, text)
		}
	}
}
