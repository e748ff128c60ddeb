package ptyctl_test

import (
	"io/fs"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestTaskfile: each test that task test leaves out of the run with the race detector is declared once, in a package in
// which task test runs it without the detector.
func TestTaskfile(t *testing.T) {
	text := readText(t, "Taskfile.yml")
	setting := func(pattern string) string {
		found := regexp.MustCompile(`(?m)^  ` + pattern + `$`).FindStringSubmatch(text)
		if found == nil {
			t.Fatalf("Taskfile.yml has no line %q", pattern)
		}
		return found[1]
	}
	tests := regexp.MustCompile(`(?m)^func (` + setting(`COMPUTING_TESTS: \^\((.*)\)\$`) + `)\(`)
	packages := strings.Fields(setting(`COMPUTING_IN: (.*)`))
	declared := make(map[string][]string)
	err := filepath.WalkDir(".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(name, "_test.go") {
			return err
		}
		for _, found := range tests.FindAllStringSubmatch(readText(t, name), -1) {
			folder := path.Dir(filepath.ToSlash(name))
			if declared[found[1]] = append(declared[found[1]], folder); folder != "." {
				folder = "./" + folder
			}
			if !slices.Contains(packages, folder) {
				t.Errorf("Taskfile.yml: COMPUTING_IN lacks %s, which has %s", folder, found[1])
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for name := range strings.SplitSeq(setting(`COMPUTING_TESTS: \^\((.*)\)\$`), "|") {
		if len(declared[name]) != 1 {
			t.Errorf("Taskfile.yml: %s of COMPUTING_TESTS is in the packages %v, want one", name, declared[name])
		}
	}
}
