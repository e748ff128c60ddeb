package groups

import (
	"fmt"
	"slices"
	"strings"

	"ptyctl/fleet/linediff"
)

// A Stream is one stream of a group. It is shown in one of four ways: as its text, as its difference from the first
// group's, as the same, or by a note.
type Stream struct {
	Text string `json:"text,omitempty"` // of a long one the begin and the end, and between them a line that says so
	Diff string `json:"diff,omitempty"` // against the stream of the first group, as of package linediff
	Same bool   `json:"same,omitempty"` // as that of the first group, which is not empty
	Note string `json:"note,omitempty"` // a remark that follows the name of the stream

	Cut   bool  `json:"cut,omitempty"`   // something is left out of Text or Diff
	Bytes int64 `json:"bytes,omitempty"` // of all of it, if it is cut
	Lines int64 `json:"lines,omitempty"` // likewise
}

// Notes of a stream.
const (
	noteNone     = "is empty" // and that of the first group is not
	noteBlank    = "has only an empty line"
	noteLineEnds = "differs only at ends of lines"
	noteElse     = "differs only where it is left out"
	noteHidden   = "is not shown" // there is no room for it
)

// minOutput is the least that a group's output may have, however full a report is.
const minOutput = 80

// short is an output, in bytes, in which the number of a line says where it is. Differences from it need no context.
const short = 400

// minLine is the least length of a shortened line. cutMark is about the length of the note on a cut text, with its
// left-out bytes and lines.
const (
	minLine = 20
	cutMark = 60
)

// fill sets the streams of the groups. If the text becomes longer than l.Bytes, the smallest groups lose their outputs
// again, and then the first a part of its own.
func (r *Report) fill(sets []answers, l Limits) {
	if len(sets) == 0 {
		return
	}
	room := l.Bytes - len(r.Text())
	share := max(minOutput, room)
	if len(sets) > 1 {
		share = max(minOutput, room/2)
	}
	r.Groups[0].showFirst(sets[0], share)
	room -= r.Groups[0].size()
	context := func(first Stream) int {
		if first.Cut || len(first.Text) > short {
			return 1
		}
		return -1
	}
	out, err := context(r.Groups[0].Stdout), context(r.Groups[0].Stderr)
	for i := 1; i < len(sets); i++ {
		g, a := &r.Groups[i], sets[i]
		g.Stdout, g.Stderr = both(
			func(most int) Stream { return a.stdout.against(sets[0].stdout, most, out, l) },
			func(most int) Stream { return a.stderr.against(sets[0].stderr, most, err, l) }, max(minOutput, room/(len(sets)-i)))
		room -= g.size()
	}
	for i := len(sets) - 1; i > 0 && len(r.Text()) > l.Bytes; i-- {
		r.Groups[i].hide()
	}
	if over := len(r.Text()) - l.Bytes; over > 0 {
		r.Groups[0].showFirst(sets[0], max(minOutput, r.Groups[0].size()-over))
	}
}

// showFirst sets the streams of the first group.
func (g *Group) showFirst(a answers, share int) {
	g.Stdout, g.Stderr = both(a.stdout.show, a.stderr.show, share)
}

// hide takes outputs away.
func (g *Group) hide() {
	for _, s := range []*Stream{&g.Stdout, &g.Stderr} {
		if s.Text != "" || s.Diff != "" {
			*s = Stream{Note: noteHidden}
		}
	}
}

// size returns about how many bytes of the report the streams of a group need.
func (g Group) size() int { return g.Stdout.size() + g.Stderr.size() }

// both shows two streams within a share. One that needs less than half of it leaves the rest to the other.
func both(out, err func(most int) Stream, share int) (Stream, Stream) {
	o, e := out(share), err(share)
	switch half := share / 2; {
	case o.size()+e.size() <= share:
		return o, e
	case e.size() <= half:
		return out(share - e.size()), e
	case o.size() <= half:
		return o, err(share - o.size())
	default:
		return out(half), err(half)
	}
}

// size returns about how many bytes of the report a stream needs.
func (s Stream) size() int {
	n := 0
	for _, text := range []string{s.Text, s.Diff} {
		if text != "" {
			n += len(text) + len(indent)*(strings.Count(text, "\n")+1) + 1
		}
	}
	if s.Cut {
		n += cutMark / 2
	}
	return n + len(s.Note)
}

// show returns the text of a stream within so many bytes.
func (o output) show(most int) Stream {
	begin := cutLines(string(o.head))
	var tail []string
	if o.tail != nil {
		tail = cutLines(string(o.tail))
	}
	if o.tail == nil && size(begin) <= most {
		text := Stream{Text: strings.Join(begin, "\n")}
		if text.Text == "" && o.bytes > 0 {
			text.Note = noteBlank
		}
		return text
	}
	if tail == nil {
		tail = begin
	}
	most = max(2*minLine, most-cutMark)
	longest := max(minLine, most/4)
	head := fitting(slices.Values(begin), len(begin), most*2/3, longest)
	end := fitting(backward(tail), len(tail), most/3, longest)
	if o.tail == nil {
		end = end[:min(len(end), len(begin)-len(head))]
	}
	slices.Reverse(end)
	s := Stream{Cut: true, Bytes: o.bytes, Lines: o.lines}
	if o.unended() {
		s.Lines++
	}
	if left := s.Lines - int64(len(head)) - int64(len(end)); left > 0 {
		head = append(head, "["+lines(left)+" left out]")
	}
	s.Text = strings.Join(append(head, end...), "\n")
	return s
}

// unended reports whether the last line has no line feed.
func (o output) unended() bool {
	last := o.tail
	if last == nil {
		last = o.head
	}
	return len(last) > 0 && last[len(last)-1] != '\n'
}

// size returns the bytes of indented lines.
func size(lines []string) int {
	n := 0
	for _, line := range lines {
		n += len(indent) + len(line) + 1
	}
	return n
}

// backward returns lines from the last to the first.
func backward(lines []string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for _, line := range slices.Backward(lines) {
			if !yield(line) {
				return
			}
		}
	}
}

// fitting returns the first lines that need no more than so many bytes, each shortened to the longest. There is at
// least one.
func fitting(lines func(yield func(string) bool), n, most, longest int) []string {
	list := make([]string, 0, min(n, 64))
	for line := range lines {
		line = clip(line, longest)
		if most -= len(indent) + len(line) + 1; most < 0 && len(list) > 0 {
			break
		}
		list = append(list, line)
	}
	return list
}

// against shows a stream beside that of the first group.
func (o output) against(first output, most, context int, l Limits) Stream {
	switch {
	case o.digest == first.digest && o.bytes == 0:
		return Stream{}
	case o.digest == first.digest:
		return Stream{Same: true}
	case l.whole:
		return o.show(most)
	case o.bytes == 0:
		return Stream{Note: noteNone}
	}
	text := o.show(most)
	if first.bytes == 0 {
		return text
	}
	a, b := first.parts(), o.parts()
	if slices.Equal(a, b) {
		if o.tail == nil {
			return Stream{Note: noteLineEnds}
		}
		return Stream{Note: noteElse, Cut: true, Bytes: o.bytes, Lines: o.lines}
	}
	d := linediff.Compare(a, b, linediff.Options{Hunks: l.Hunks, Context: context})
	if d.TooDifferent {
		return text
	}
	diff := shorten(d, most)
	if diff.Cut = diff.Cut || o.tail != nil || first.tail != nil; diff.Cut {
		diff.Bytes, diff.Lines = o.bytes, o.lines
	}
	// A difference that is complete is better than a text that is not, and if neither is, it says more.
	if text.Cut || !diff.Cut && diff.size() < text.size() {
		return diff
	}
	return text
}

// shorten shows a difference within so many bytes.
func shorten(d linediff.Diff, most int) Stream {
	text := strings.Split(strings.TrimSuffix(d.Text, "\n"), "\n")
	more := d.More
	if size(text) > most {
		most = max(2*minLine, most-cutMark)
		kept := fitting(slices.Values(text), len(text), most, max(minLine, most/3))
		for _, line := range text[len(kept):] {
			if line[0] == '-' || line[0] == '+' {
				more++
			}
		}
		text = kept
	}
	if more > 0 {
		text = append(text, "["+lines(int64(more))+" more]")
	}
	return Stream{Diff: strings.Join(text, "\n"), Cut: more > 0}
}

// lines counts lines for people.
func lines(n int64) string {
	if n == 1 {
		return "1 line"
	}
	return fmt.Sprintf("%d lines", n)
}
