package saved

import (
	"fmt"
	"io"
	"strings"

	"ptyctl/fleet/groups"
	"ptyctl/fleet/linediff"
	"ptyctl/fleet/mask"
)

// Changes compares two Answers host by host, and returns the hosts with the same change as one group: its stdout is
// the change or empty, and its exit code is 1 if there is a change. A host without an exit code in one of them is a
// failure. With groups.Volatile, values that change from moment to moment are masked. n counts the hosts of both.
func Changes(before, after *Answers, normalize groups.Normalize) (set *groups.Set, n int) {
	set = groups.New(groups.Options{Whole: true}) // the change of a change is no help
	old := make(map[string]*Answer, len(before.Hosts))
	var labels []string
	for i := range before.Hosts {
		a := &before.Hosts[i]
		old[a.Label] = a
		labels = append(labels, a.Label)
	}
	now := make(map[string]*Answer, len(after.Hosts))
	for i := range after.Hosts {
		a := &after.Hosts[i]
		if now[a.Label] = a; old[a.Label] == nil {
			labels = append(labels, a.Label)
		}
	}
	for _, label := range labels {
		answer := set.Answer(label)
		if why := missing(old[label], now[label]); why != "" {
			answer.Fail("not_compared", why)
			continue
		}
		change := changeOf(old[label], now[label], normalize == groups.Volatile)
		_, _ = io.WriteString(answer.Stdout, change)
		answer.Exit(min(len(change), 1))
	}
	return set, len(labels)
}

// missing says why there are no two answers to compare, or "".
func missing(before, after *Answer) string {
	for _, one := range []struct {
		answer *Answer
		name   string
	}{{before, "before"}, {after, "after"}} {
		switch {
		case one.answer == nil:
			return "not in the run " + one.name
		case one.answer.Exit == nil:
			return one.name + ": " + one.answer.Code
		}
	}
	return ""
}

// changeOf returns the difference between two answers of a host, as lines.
func changeOf(old, now *Answer, volatile bool) string {
	var b strings.Builder
	if *old.Exit != *now.Exit {
		fmt.Fprintf(&b, "exit %d -> %d\n", *old.Exit, *now.Exit)
	}
	for _, s := range []struct {
		name     string
		old, now Output
	}{{"", old.Stdout, now.Stdout}, {"stderr:\n", old.Stderr, now.Stderr}} {
		if s.old.Sum == s.now.Sum {
			continue
		}
		d := linediff.Compare(kept(s.old, old, volatile), kept(s.now, now, volatile), linediff.Options{Context: -1})
		switch {
		case d.TooDifferent:
			fmt.Fprintf(&b, "%sall of it differs\n", s.name)
		case d.Text != "":
			b.WriteString(s.name + d.Text)
		case !volatile:
			fmt.Fprintf(&b, "%sit differs only in bytes that are not kept\n", s.name)
		}
	}
	return b.String()
}

// kept returns the lines of an output that are kept.
func kept(o Output, of *Answer, volatile bool) []string {
	text := string(o.Head)
	if n := o.dropped(); n > 0 {
		text += fmt.Sprintf("\n[... %d bytes not kept ...]\n", n)
	}
	lines := linediff.Lines(text + string(o.Tail))
	if volatile {
		m := mask.New(append([]string{of.Label}, of.Names...))
		for i := range lines {
			lines[i] = string(m.Line([]byte(lines[i])))
		}
	}
	return lines
}
