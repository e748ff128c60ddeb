package groups

import (
	"fmt"
	"strings"
)

// indent begins each line of an output. Lines of the report itself begin with none or one space.
const indent = "  "

// Text returns the report as lines for people and models.
func (r Report) Text() string {
	var b strings.Builder
	for _, g := range r.Groups {
		g.write(&b)
	}
	if r.More > 0 {
		answers := "answers"
		if r.More == 1 {
			answers = "answer"
		}
		fmt.Fprintf(&b, "%d more %s, exit %s: %s\n", r.More, answers, r.Rest.Exits, r.Rest.Names)
	}
	for _, f := range r.Failures {
		fmt.Fprintf(&b, "failed: %s: %s", f.Code, f.Names)
		if f.Last != "" {
			fmt.Fprintf(&b, "; last line: %s", f.Last)
		}
		b.WriteByte('\n')
	}
	for _, n := range r.NotRun {
		fmt.Fprintf(&b, "not run: %s\n", n)
	}
	for _, n := range r.Running {
		fmt.Fprintf(&b, "running: %s\n", n)
	}
	return b.String()
}

// String returns the hosts, their number if it is not 1, and the reason.
func (n Names) String() string {
	text := n.Hosts
	if n.N > 1 {
		text += fmt.Sprintf(" (%d)", n.N)
	}
	if n.Reason != "" {
		text += ": " + n.Reason
	}
	return text
}

// write writes a group: a line about it, and then its output.
func (g Group) write(b *strings.Builder) {
	fmt.Fprintf(b, "%s: exit %d", g.Names, g.Exit)
	switch out, err := g.Stdout, g.Stderr; {
	case out == Stream{} && err == Stream{}:
		b.WriteString(", no output")
	case out.Same && (err.Same || err == Stream{}), err.Same && out == Stream{}:
		b.WriteString(", same output")
	default:
		b.WriteString(out.note("stdout") + err.note("stderr"))
	}
	b.WriteByte('\n')
	g.Stdout.write(b, "")
	g.Stderr.write(b, " stderr:\n")
}

// note returns the remark on a stream before its lines.
func (s Stream) note(name string) string {
	text := ""
	switch {
	case s.Same:
		text = ", same " + name
	case s.Note == noteNone:
		text = ", no " + name
	case s.Note != "":
		text = ", " + name + " " + s.Note
	case s.Diff != "":
		text = ", " + name + " differs"
	}
	if s.Cut {
		text += fmt.Sprintf(", %d bytes of %s", s.Bytes, name)
	}
	return text
}

// write writes the lines of a stream after a line with its name.
func (s Stream) write(b *strings.Builder, name string) {
	if s.Text == "" && s.Diff == "" {
		return
	}
	b.WriteString(name)
	writeLines(b, s.Text)
	writeLines(b, s.Diff)
}

// writeLines writes indented lines.
func writeLines(b *strings.Builder, text string) {
	if text == "" {
		return
	}
	for line := range strings.SplitSeq(text, "\n") {
		b.WriteString(indent + line + "\n")
	}
}
