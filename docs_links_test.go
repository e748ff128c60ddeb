package ptyctl_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// link matches a link of Markdown to a file of this repository.
var link = regexp.MustCompile(`\]\(([^)#:\s]*)(#[^)\s]*)?\)`)

// TestDocsLinks checks that each link in a Markdown file leads to an existing file and
// heading.
func TestDocsLinks(t *testing.T) {
	links := 0
	for _, name := range markdown(t) {
		for _, m := range link.FindAllStringSubmatch(readText(t, name), -1) {
			links++
			target := filepath.Join(filepath.Dir(name), filepath.FromSlash(m[1]))
			if m[1] == "" {
				target = name
			}
			if _, err := os.Stat(target); err != nil {
				t.Errorf("%s links to %s: %v", name, m[1], err)
				continue
			}
			if anchor := strings.TrimPrefix(m[2], "#"); anchor != "" && !anchors(t, target)[anchor] {
				t.Errorf("%s links to %s%s, but %s has no such heading", name, m[1], m[2], target)
			}
		}
	}
	if links == 0 {
		t.Error("no Markdown file links to another")
	}
}

// outer matches an address outside of this repository.
var outer = regexp.MustCompile(`https?://[^][\s)<>"'\x60]+`)

// placeholder matches addresses that stand for a reader's own: names that RFC 2606 reserves, names without a dot, and
// numbers.
var placeholder = regexp.MustCompile(`^https?://([^/:.]+|[^/:]*\bexample(\.(com|net|org))?|[^/:]*\.(test|invalid)|[0-9.]+)(:|/|$)`)

// outerLinks returns every address that the Markdown files name outside of this repository. No test follows them.
func outerLinks(t *testing.T) string {
	pages := make(map[string][]string)
	for _, name := range markdown(t) {
		if name == filepath.FromSlash("docs/links.md") {
			continue
		}
		for _, address := range outer.FindAllString(readText(t, name), -1) {
			address = strings.TrimRight(address, ".,;:…")
			if page := filepath.ToSlash(name); !placeholder.MatchString(address) && !strings.Contains(address, "/OWNER/") && !slices.Contains(pages[address], page) {
				pages[address] = append(pages[address], page)
			}
		}
	}
	var b strings.Builder
	b.WriteString("| address | in |\n|---|---|\n")
	for _, address := range slices.Sorted(maps.Keys(pages)) {
		fmt.Fprintf(&b, "| %s | %s |\n", address, strings.Join(pages[address], ", "))
	}
	return b.String()
}

var (
	heading   = regexp.MustCompile(`(?m)^#+ (.+)$`)
	notInSlug = regexp.MustCompile(`[^a-z0-9 _-]`)
)

// anchors returns the link names of the headings of a Markdown file, in GitHub's form.
func anchors(t *testing.T, name string) map[string]bool {
	t.Helper()
	found := make(map[string]bool)
	for _, m := range heading.FindAllStringSubmatch(readText(t, name), -1) {
		slug := notInSlug.ReplaceAllString(strings.ToLower(m[1]), "")
		found[strings.ReplaceAll(slug, " ", "-")] = true
	}
	return found
}
