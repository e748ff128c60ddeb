package fleet

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"ptyctl/fleet/groups"
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
		if change := lineChanges(kept(s.old, old, volatile), kept(s.now, now, volatile)); change != "" {
			b.WriteString(s.name + change)
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
	for line := range bytes.Lines(text) {
		line = bytes.TrimSuffix(line, []byte("\n"))
		if volatile {
			line = m.Line(line)
		}
		lines = append(lines, string(line))
	}
	return lines
}

// maxCompared bounds the work of a comparison: the product of the numbers of lines in which two outputs differ.
const maxCompared = 4 << 20

// lineChanges returns the lines that differ, with a minus where they are old and a plus where they are new, without
// context.
func lineChanges(old, now []string) string {
	for len(old) > 0 && len(now) > 0 && old[0] == now[0] {
		old, now = old[1:], now[1:]
	}
	for len(old) > 0 && len(now) > 0 && old[len(old)-1] == now[len(now)-1] {
		old, now = old[:len(old)-1], now[:len(now)-1]
	}
	var b strings.Builder
	switch {
	case len(old) == 0 && len(now) == 0: // they differ in the last line end alone, or in what is not kept
		return ""
	case len(old)*len(now) > maxCompared:
		fmt.Fprintf(&b, "%d lines are now %d others\n", len(old), len(now))
		return b.String()
	}
	// common[i][j] is the length of the longest common subsequence of old[i:] and now[j:].
	common := make([][]int32, len(old)+1)
	for i := range common {
		common[i] = make([]int32, len(now)+1)
	}
	for i := range slices.Backward(old) {
		for j := range slices.Backward(now) {
			if old[i] == now[j] {
				common[i][j] = common[i+1][j+1] + 1
			} else {
				common[i][j] = max(common[i+1][j], common[i][j+1])
			}
		}
	}
	i, j := 0, 0
	for i < len(old) || j < len(now) {
		switch {
		case i < len(old) && j < len(now) && old[i] == now[j]:
			i++
			j++
		case j == len(now) || i < len(old) && common[i+1][j] >= common[i][j+1]:
			b.WriteString("-" + old[i] + "\n")
			i++
		default:
			b.WriteString("+" + now[j] + "\n")
			j++
		}
	}
	return b.String()
}
