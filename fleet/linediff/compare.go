package linediff

import (
	"strconv"
	"strings"
)

// Options bound the text of a difference. The zero value has one line of context and no other bound.
type Options struct {
	Context int // lines before and after each change; 0: 1, negative: none
	Hunks   int // most hunks; 0: all
	Lines   int // most lines of all hunks; 0: all
}

// A Diff is the difference of two texts.
type Diff struct {
	Text         string // of the hunks that are shown; "" if the texts are equal
	Removed      int    // lines of the first text that the second has not
	Added        int    // and the other way round
	More         int    // removed and added lines that are not in Text
	TooDifferent bool   // of more edits than are looked for: lines that have moved are in neither count
}

// maxEdits is the most removed and added lines.
const maxEdits = 1000

// Lines cuts a text into lines without their line feeds. If the last line has none, it is followed by an own line
// that says so, as otherwise two texts could look the same.
func Lines(text string) []string {
	if text == "" {
		return nil
	}
	lines := strings.Split(text, "\n")
	if last := len(lines) - 1; lines[last] == "" {
		return lines[:last]
	}
	return append(lines, NoLineFeed)
}

// NoLineFeed is the line of Lines for a text without a line feed at its end.
const NoLineFeed = `\ no line feed at the end`

// Compare returns the difference of two texts.
func Compare(a, b []string, o Options) Diff {
	edits, ok := script(a, b)
	if !ok {
		return Diff{Removed: beyond(a, b), Added: beyond(b, a), TooDifferent: true}
	}
	var d Diff
	for _, e := range edits {
		d.Removed += e.removed
		d.Added += e.added
	}
	context := o.Context
	if context == 0 {
		context = 1
	}
	d.write(a, b, edits, max(context, 0), o)
	return d
}

// beyond returns how many lines of a text the other has not, each as often as it is there.
func beyond(text, other []string) (n int) {
	has := make(map[string]int, len(other))
	for _, line := range other {
		has[line]++
	}
	for _, line := range text {
		if has[line]--; has[line] < 0 {
			n++
		}
	}
	return n
}

// An edit replaces removed lines of the first text, from a on, by added lines of the second, from b on.
type edit struct{ a, b, removed, added int }

// write sets the text, and the number of lines that are not in it.
func (d *Diff) write(a, b []string, edits []edit, context int, o Options) {
	var text strings.Builder
	hunks, lines := 0, 0
	for i := 0; i < len(edits); {
		j := i + 1 // edits that share context are one hunk
		for j < len(edits) && edits[j].a-(edits[j-1].a+edits[j-1].removed) <= 2*context {
			j++
		}
		hunk := hunkLines(a, b, edits[i:j], context)
		left := len(hunk)
		if o.Lines > 0 {
			left = min(left, o.Lines-lines)
		}
		if o.Hunks > 0 && hunks == o.Hunks || left <= 0 {
			break
		}
		first := max(0, edits[i].a-context)
		if len(a) == 0 {
			first = max(0, edits[i].b-context)
		}
		text.WriteString("@@ " + strconv.Itoa(first+1) + "\n")
		for _, line := range hunk[:left] {
			text.WriteString(line + "\n")
			if line[0] != ' ' {
				d.More--
			}
		}
		hunks, lines, i = hunks+1, lines+left, j
		if left < len(hunk) {
			break
		}
	}
	d.Text = text.String()
	d.More += d.Removed + d.Added
}

// hunkLines returns the lines of edits that are near to each other, with their context.
func hunkLines(a, b []string, edits []edit, context int) []string {
	var lines []string
	at := max(0, edits[0].a-context)
	keep := func(to int) {
		for ; at < min(to, len(a)); at++ {
			lines = append(lines, " "+a[at])
		}
	}
	for _, e := range edits {
		keep(e.a)
		for _, line := range a[e.a : e.a+e.removed] {
			lines = append(lines, "-"+line)
		}
		for _, line := range b[e.b : e.b+e.added] {
			lines = append(lines, "+"+line)
		}
		at = e.a + e.removed
	}
	keep(at + context)
	return lines
}
