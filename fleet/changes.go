package fleet

import (
	"fmt"
	"io"
	"math"
	"strings"

	"ptyctl/fleet/groups"
	"ptyctl/fleet/linediff"
	"ptyctl/fleet/mask"
)

// Changes compares the answers of two runs host by host, and returns the hosts with the same change as one group: its
// stdout is the change, empty if there is none, and its exit code 1 if there is one. A host without an exit code in one
// of the runs is a failure. n counts the hosts of both runs.
func Changes(before, after *Run) (set *groups.Set, n int) {
	set = groups.New(groups.Options{})
	labels := before.Labels()
	for _, label := range after.Labels() {
		if before.find(label) == nil {
			labels = append(labels, label)
		}
	}
	volatile := before.r.Normalize == groups.Volatile || after.r.Normalize == groups.Volatile
	for _, label := range labels {
		a := set.Answer(label)
		old, now := before.find(label), after.find(label)
		switch why := missing(before, after, label); {
		case why != "":
			a.Fail("not_compared", why)
		default:
			change := changeOf(before, after, old, now, volatile)
			_, _ = io.WriteString(a.Stdout, change)
			a.Exit(min(len(change), 1))
		}
	}
	return set, len(labels)
}

// missing says why there are no two answers to compare, or "".
func missing(before, after *Run, label string) string {
	for _, one := range []struct {
		run  *Run
		name string
	}{{before, "before"}, {after, "after"}} {
		switch res := one.run.Result(label); {
		case res.State == "":
			return "not in the run " + one.name
		case res.State != Exited && res.Code != "":
			return one.name + ": " + res.Code
		case res.State != Exited:
			return one.name + ": " + string(res.State)
		}
	}
	return ""
}

// changeOf returns what differs between two answers of a host, as lines.
func changeOf(before, after *Run, old, now *host, volatile bool) string {
	var b strings.Builder
	if was, is := before.Result(old.Label).Exit.Code, after.Result(now.Label).Exit.Code; was != is {
		fmt.Fprintf(&b, "exit %d -> %d\n", was, is)
	}
	for _, s := range []struct {
		name     string
		old, now *Stream
	}{{"", old.stdout, now.stdout}, {"stderr:\n", old.stderr, now.stderr}} {
		if s.old.SHA256() == s.now.SHA256() {
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

// kept returns the lines of a stream that are kept.
func kept(s *Stream, h *host, volatile bool) (lines []string) {
	var text []byte
	for at := int64(0); ; {
		p := s.From(at, math.MaxInt32)
		if p.Dropped > 0 {
			text = fmt.Appendf(text, "\n[... %d bytes not kept ...]\n", p.Dropped)
		}
		text = append(text, p.Data...)
		if at = p.Next(); at >= p.Total {
			break
		}
	}
	m := mask.New(append([]string{h.Label}, h.Names...))
	lines = linediff.Lines(string(text))
	for i := range lines {
		if volatile {
			lines[i] = string(m.Line([]byte(lines[i])))
		}
	}
	return lines
}
