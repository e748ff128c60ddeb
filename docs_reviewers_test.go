package ptyctl_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	// shownBy matches a folder with the tests in it that a row of the table names: `audit`: `TestHead`, `FuzzVerify`.
	shownBy   = regexp.MustCompile("`([a-z0-9_/]+)`: (`(?:Test|Fuzz)[^;|]*)")
	testNamed = regexp.MustCompile("`((?:Test|Fuzz)\\w+)`")
)

// TestReviewersTable checks that each folder, file and test in docs/reviewers.md exists.
func TestReviewersTable(t *testing.T) {
	text := readText(t, "docs/reviewers.md")
	paths := codePath.FindAllStringSubmatch(text, -1)
	for _, m := range paths {
		if _, err := os.Stat(filepath.FromSlash(m[1])); err != nil && m[1] != "testdata/fuzz" {
			t.Errorf("docs/reviewers.md names %s: %v", m[1], err)
		}
	}
	tests := 0
	for _, m := range shownBy.FindAllStringSubmatch(text, -1) {
		files, err := filepath.Glob(filepath.Join(filepath.FromSlash(m[1]), "*_test.go"))
		if err != nil {
			t.Fatal(err)
		}
		var code strings.Builder
		for _, name := range files {
			code.WriteString(readText(t, name))
		}
		for _, named := range testNamed.FindAllStringSubmatch(m[2], -1) {
			tests++
			if !strings.Contains(code.String(), "\nfunc "+named[1]+"(") {
				t.Errorf("docs/reviewers.md says that %s has %s, which it has not", m[1], named[1])
			}
		}
	}
	if len(paths) < 40 || tests < 60 {
		t.Errorf("docs/reviewers.md names %d paths and %d tests, want at least 40 and 60", len(paths), tests)
	}
}
