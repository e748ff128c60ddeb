package sshconfig

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Relative Include paths must start in ~/.ssh, or next to the system's file.
func TestIncludeAnchors(t *testing.T) {
	o := options(t)
	o.UserFile = write(t, o.HomeDir, ".ssh/config", "Include rel ~/tilde\n")
	write(t, o.HomeDir, ".ssh/rel", "User rel\n")
	write(t, o.HomeDir, "tilde", "Port 2200\n")
	dir := t.TempDir()
	o.SystemFile = write(t, dir, "ssh_config", "Include ssh_config.d/*.conf\nInclude ~/tilde\n")
	write(t, dir, "ssh_config.d/10.conf", "BatchMode yes\n")
	cfg := evaluate(t, o)
	if cfg.User != "rel" || cfg.Port != 2200 || !cfg.BatchMode {
		t.Errorf("User %q, Port %d, BatchMode %t", cfg.User, cfg.Port, cfg.BatchMode)
	}
	if w := warned(cfg, "cannot include from a home directory"); w == nil || w.Origin.Line != 2 {
		t.Errorf("warnings %v", cfg.Warnings)
	}
	if got := cfg.Origin("BatchMode"); got.Source != SystemFile || filepath.Base(got.File) != "10.conf" {
		t.Errorf("origin %+v", got)
	}

	// A caller's file uses the same folder as the user's.
	o.CallerFile = write(t, dir, "caller", "Include rel\n")
	if cfg := evaluate(t, o); cfg.User != "rel" || !cfg.Origin("User").Caller() {
		t.Errorf("User %q from %s", cfg.User, cfg.Origin("User"))
	}
}

func TestIncludeDepth(t *testing.T) {
	dir := t.TempDir()
	for i := 1; i <= 17; i++ {
		write(t, dir, fmt.Sprint(i), fmt.Sprintf("Include %s/%d\n", dir, i+1))
	}
	write(t, dir, "17", "User bob\n")
	o := options(t)
	o.UserFile = filepath.Join(dir, "1") // 17 is 16 levels below
	if cfg := evaluate(t, o); cfg.User != "bob" {
		t.Errorf("User = %q", cfg.User)
	}
	write(t, dir, "17", fmt.Sprintf("Include %s/18\n", dir))
	var fileError *FileError
	if _, err := Evaluate(t.Context(), o); !errors.As(err, &fileError) {
		t.Errorf("error %v", err)
	}
}

// Evaluation must end soon for files that include each other many times.
func TestIncludeBomb(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "16", "User bob\n")
	for i := range 16 {
		line := fmt.Sprintf("Include %s/%d\n", dir, i+1)
		write(t, dir, fmt.Sprint(i), strings.Repeat(line, 10))
	}
	o := options(t)
	o.UserFile = filepath.Join(dir, "0")
	var fileError *FileError
	if _, err := Evaluate(t.Context(), o); !errors.As(err, &fileError) ||
		!strings.Contains(err.Error(), "files are included") {
		t.Errorf("error %v", err)
	}
}

func TestUnusualFiles(t *testing.T) {
	dir := t.TempDir()
	o := options(t)
	o.UserFile = write(t, dir, "user", "User bob\n")

	o.CallerFile = os.DevNull
	if cfg := evaluate(t, o); cfg.User != "me" {
		t.Errorf("%s: User = %q", os.DevNull, cfg.User)
	}
	o.CallerFile = dir
	if cfg := evaluate(t, o); cfg.User != "me" {
		t.Errorf("a directory: User = %q", cfg.User)
	}
	var fileError *FileError
	o.CallerFile = write(t, dir, "large", strings.Repeat("# comment\n", maxBytes/10+1))
	if _, err := Evaluate(t.Context(), o); !errors.As(err, &fileError) {
		t.Errorf("a large file: %v", err)
	}
}

func TestCanceled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	o := options(t)
	o.UserFile = write(t, t.TempDir(), "user", "User bob\n")
	if _, err := Evaluate(ctx, o); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}

// The limit must cover all files together, not each one.
func TestTotalSize(t *testing.T) {
	dir := t.TempDir()
	for i := range 3 {
		write(t, dir, fmt.Sprint(i), strings.Repeat("# comment\n", maxBytes/20))
	}
	o := options(t)
	o.UserFile = write(t, t.TempDir(), "config", "Include "+dir+"/*\n")
	var fileError *FileError
	if _, err := Evaluate(t.Context(), o); !errors.As(err, &fileError) {
		t.Errorf("error %v", err)
	}
}

func TestMissingFiles(t *testing.T) {
	o := options(t)
	o.UserFile = filepath.Join(write(t, t.TempDir(), "file", ""), "below")
	o.SystemFile = write(t, t.TempDir(), "system", "Include "+o.UserFile+"\nUser bob\n")
	if cfg := evaluate(t, o); cfg.User != "bob" {
		t.Errorf("User = %q", cfg.User)
	}
}

// Both passes must see the same text of a file, and report each warning once.
func TestWarningsOnce(t *testing.T) {
	o := options(t)
	o.UserFile = write(t, t.TempDir(), "user", "Frob 1\nHost bar\nFrob 2\nMatch final\nFrob 3\n")
	cfg := evaluate(t, o)
	var lines []string
	for _, w := range cfg.Warnings {
		lines = append(lines, fmt.Sprint(w.Origin.Line, w.Applies))
	}
	if got := strings.Join(lines, ", "); got != "1 true, 3 false, 5 true" {
		t.Errorf("warnings at %s", got)
	}
}

func TestGlob(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"a/1.conf", "a/2.conf", "a/.3.conf", "b/1.conf", "b/x", "[/y"} {
		write(t, dir, name, "")
	}
	for _, tt := range []struct {
		pattern string
		want    string
	}{
		{"a/*.conf", "a/1.conf a/2.conf"},
		{"*/1.conf", "a/1.conf b/1.conf"},
		{"?/[!1].conf", "a/2.conf"},
		{"a/.*", "a/.3.conf"},
		{"none/*", ""},
		{"*/x/y", ""},
		{"b/x", "b/x"},
		{"*/x", "b/x"},
	} {
		e := &evaluator{}
		got, err := e.glob(filepath.Join(dir, tt.pattern))
		if err != nil {
			t.Errorf("%s: %v", tt.pattern, err)
			continue
		}
		var names []string
		for _, path := range got {
			rel, err := filepath.Rel(dir, path)
			if err != nil {
				t.Fatal(err)
			}
			names = append(names, filepath.ToSlash(rel))
		}
		if s := strings.Join(names, " "); s != tt.want {
			t.Errorf("%s: %s, want %s", tt.pattern, s, tt.want)
		}
	}
	e := &evaluator{}
	if _, err := e.glob(dir + "/[a"); err == nil {
		t.Error("an unclosed bracket is accepted")
	}
	e.budget.entries = maxEntries
	if _, err := e.glob(dir + "/*"); err == nil {
		t.Error("the budget is not kept")
	}
}
