package setup

import (
	"fmt"
	"strings"
)

// around is how many lines before and after a change are shown.
const around = 3

// Diff returns the change as diff -u shows it, in one part: the lines between the first and the last that differ.
func (c *Change) Diff() string {
	was, is := split(c.file.text), split(c.text)
	from := 0
	for from < min(len(was), len(is)) && was[from] == is[from] {
		from++
	}
	rest := 0
	for rest < min(len(was), len(is))-from && was[len(was)-1-rest] == is[len(is)-1-rest] {
		rest++
	}
	before := max(0, from-around)
	after := min(rest, around)
	old, fresh := was[from:len(was)-rest], is[from:len(is)-rest]
	var b strings.Builder
	fmt.Fprintf(&b, "--- %s\n+++ %s\n@@ from line %d on @@\n", c.name(), c.file.Path, before+1)
	show := func(mark string, lines []string) {
		for _, line := range lines {
			if line != "" {
				b.WriteString(mark + strings.TrimRight(line, "\r\n") + "\n")
			}
		}
	}
	show(" ", was[before:from])
	show("-", old)
	show("+", fresh)
	show(" ", was[len(was)-rest:len(was)-rest+after])
	return b.String()
}

func (c *Change) name() string {
	if !c.file.there {
		return "/dev/null"
	}
	return c.file.Path
}
