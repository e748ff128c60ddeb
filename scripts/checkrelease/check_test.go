package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

var day = time.Date(2030, 2, 1, 12, 0, 0, 0, time.UTC)

const changelog = "# Changelog\n\n## [Unreleased]\n\n## [0.2.0] - 2030-01-31\n\n### Added\n\n- a change\n"

// repository makes a git repository with one commit that has a CHANGELOG.md.
func repository(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	writeFile(t, filepath.Join(dir, "CHANGELOG.md"), changelog)
	for _, args := range [][]string{{"init", "-q"}, {"add", "."}, {"commit", "-q", "-m", "one"}} {
		runGit(t, dir, args...)
	}
	return dir
}

func runGit(t *testing.T, dir string, args ...string) {
	t.Helper()
	cmd := exec.Command("git", append([]string{"-c", "user.name=a", "-c", "user.email=a@example.com"}, args...)...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("git %q: %v\n%s", args, err, out)
	}
}

func writeFile(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestRun(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(dir string)
		args   []string
		want   string // "": no error
	}{
		{"a good release", func(string) {}, nil, ""},
		{"its own tag", func(dir string) { runGit(t, dir, "tag", "v0.2.0") }, nil, ""},
		{"a changed file", func(dir string) { writeFile(t, filepath.Join(dir, "CHANGELOG.md"), changelog+"- another\n") }, nil, "the tree has changes ( M CHANGELOG.md)"},
		{"a new file", func(dir string) { writeFile(t, filepath.Join(dir, "new"), "") }, nil, "DIRTY=1"},
		{"a new file, as a try", func(dir string) { writeFile(t, filepath.Join(dir, "new"), "") }, []string{"-dirty"}, ""},
		{"another's tag", func(dir string) {
			runGit(t, dir, "tag", "v0.2.0")
			runGit(t, dir, "commit", "-q", "--allow-empty", "-m", "two")
		}, nil, "the tag v0.2.0 is commit "},
		{"an older version", func(string) {}, []string{"-version", "v0.1.0"}, `write the line "## [0.1.0] - 2030-02-01" below "## [Unreleased]"`},
		{"http", func(string) {}, []string{"-url", "http://example.com"}, "https://"},
	} {
		dir := repository(t)
		c.change(dir)
		args := append([]string{"-version", "v0.2.0", "-url", "https://example.com/ptyctl", "-root", dir}, c.args...)
		err := run(t.Context(), args, day)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: run = %v, want %q", c.name, err, c.want)
		}
	}
}

func TestCheckVersion(t *testing.T) {
	for version, good := range map[string]bool{
		"v0.2.0": true, "v1.0.0-rc.1": true, "v10.20.30-alpha": true, "v1.0.0-beta.0": true, "v1.0.0-rc1": false, "v1.0.0-pre.1": false,
		"0.2.0": false, "v0.2": false, "v01.2.3": false, "v1.2.3-": false, "v1.2.3-01": false, "v1.2.3+build": false, "v1.2.3-a..b": false,
		"v1.2.3 ": false, "v1.2.3\n": false, "": false, "v1.2.3-rc_1": false, "v1.2.3-$(id)": false,
	} {
		if err := checkVersion(version); (err == nil) != good {
			t.Errorf("checkVersion(%q) = %v, want good: %t", version, err, good)
		}
	}
}

func TestCheckURL(t *testing.T) {
	for address, good := range map[string]bool{
		"https://example.com/ptyctl": true, "https://example.com": true, "https://example.com:8443/a/v1.2.3/": true,
		"https://github.com/OWNER/ptyctl/releases/download/v0.2.0": true,
		"http://example.com": false, "https://": false, "https://user@example.com": false, "https://example.com/?a": false,
		"https://example.com/a#b": false, "https://example.com/a%20b": false, "https://example.com/'": false, "example.com": false, "": false,
		"https://example.com/\"#{x}": false, "https://example.com//a": false,
	} {
		if err := checkURL(address); (err == nil) != good {
			t.Errorf("checkURL(%q) = %v, want good: %t", address, err, good)
		}
	}
}

func TestCheckChangelog(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{changelog, ""},
		{strings.Replace(changelog, "## [0.2.0] - 2030-01-31\n", "", 1), `write the line "## [0.2.0] - 2030-02-01" below "## [Unreleased]"`},
		{strings.Replace(changelog, " - 2030-01-31", "", 1), "has no date"},
		{strings.Replace(changelog, "- a change", "", 1), "lists no change"},
		{strings.Replace(changelog, "- a change", "## [0.1.0] - 2029-01-01\n\n- a change", 1), "lists no change"},
		{strings.Replace(changelog, "0.2.0", "0x2.0", 1), "no section"},
	} {
		if err := checkChangelog(c.text, "v0.2.0", day); (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("checkChangelog(%q) = %v, want %q", c.text, err, c.want)
		}
	}
}
