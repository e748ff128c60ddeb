package groups

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"ptyctl/fleet/nodeset"
)

// A Report shows the answers of a set at one time.
type Report struct {
	Hosts    int       `json:"hosts"`
	Groups   []Group   `json:"groups,omitempty"` // the largest first, of equally large ones that with the first host
	More     int       `json:"more,omitempty"`   // further groups, without their output
	Rest     Rest      `json:"rest,omitzero"`    // their hosts
	Failures []Failure `json:"failures,omitempty"`
	NotRun   []Names   `json:"not_run,omitempty"`
	Running  []Names   `json:"running,omitempty"` // at most one
}

// Names are hosts, as a nodeset and as their number.
type Names struct {
	Hosts  string `json:"hosts"` // of package nodeset; it ends with … if it leaves hosts out
	N      int    `json:"n"`
	Reason string `json:"reason,omitempty"` // of hosts on which nothing was run

	labels []string
}

// Labels returns all the hosts, sorted.
func (n Names) Labels() []string { return n.labels }

// A Group has the hosts with one answer.
type Group struct {
	Names
	Exit   int    `json:"exit_code"`
	Stdout Stream `json:"stdout,omitzero"`
	Stderr Stream `json:"stderr,omitzero"`
}

// Rest has the hosts of the groups without a shown output.
type Rest struct {
	Names
	Exits string `json:"exit_codes"` // for example 0,1,127
}

// A Failure has the hosts without an exit code, by code and reason.
type Failure struct {
	Names
	Code string `json:"error_code"`
	Last string `json:"last_line,omitempty"` // of the output of the first host that has one
}

// Limits bound a report. The zero value has the defaults.
type Limits struct {
	Bytes     int // of the text, if the names of the hosts and the first output leave room; 0: 2000
	Odd       int // groups besides the first that are shown with their output; 0: 5
	Hunks     int // of one difference; 0: 5
	HostBytes int // of one nodeset; 0: 200

	whole bool // Options.Whole
}

// Bounds of the lists of a report.
const (
	maxFailures = 6
	maxReasons  = 3
	maxReason   = 160 // bytes
)

// Report returns the answers so far. It may be called while others arrive.
func (s *Set) Report(l Limits) Report {
	l = Limits{
		cmp.Or(max(l.Bytes, 0), 2000), cmp.Or(max(l.Odd, 0), 5), cmp.Or(max(l.Hunks, 0), 5), cmp.Or(max(l.HostBytes, 0), 200),
		s.o.Whole,
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var r Report
	sets := s.sorted()
	shown := sets[:min(len(sets), 1+l.Odd)]
	failures := s.failed()
	// Nodesets, reasons and last lines share half of the report.
	entries := len(shown) + 3*min(len(failures), maxFailures) + 2*min(len(s.notRun), maxReasons) + 2
	names := min(l.HostBytes, max(24, l.Bytes/2/entries))
	reason := min(maxReason, max(32, l.Bytes/2/entries))

	for _, g := range shown {
		r.Groups = append(r.Groups, Group{Names: fold(g.labels, names), Exit: g.exit})
	}
	r.More, r.Rest = len(sets)-len(shown), rest(sets[len(shown):], names)
	r.Failures = mergeFailures(failures, names, reason)
	r.NotRun = s.notRunNames(names, reason)
	var running []string
	for a := range s.running {
		running = append(running, a.label)
	}
	if len(running) > 0 {
		r.Running = []Names{fold(running, names)}
	}
	r.count()
	r.fill(shown, l)
	return r
}

// count sets the number of all hosts.
func (r *Report) count() {
	r.Hosts = r.Rest.N
	for _, g := range r.Groups {
		r.Hosts += g.N
	}
	for _, f := range r.Failures {
		r.Hosts += f.N
	}
	for _, n := range slices.Concat(r.NotRun, r.Running) {
		r.Hosts += n.N
	}
}

// An answers is a group with its key.
type answers struct {
	*group
	exit int
}

// sorted returns the groups in the order of the report.
func (s *Set) sorted() []answers {
	var list []answers
	for k, g := range s.groups {
		slices.SortFunc(g.labels, nodeset.Compare)
		list = append(list, answers{g, k.exit})
	}
	slices.SortFunc(list, func(a, b answers) int {
		return cmp.Or(
			cmp.Compare(len(b.labels), len(a.labels)), nodeset.Compare(a.labels[0], b.labels[0]), cmp.Compare(a.exit, b.exit),
			slices.Compare(a.stdout.sum[:], b.stdout.sum[:]), slices.Compare(a.stderr.sum[:], b.stderr.sum[:]),
		)
	})
	return list
}

// rest returns the hosts of groups that are not shown.
func rest(sets []answers, names int) Rest {
	var labels []string
	var exits []int
	for _, g := range sets {
		labels, exits = append(labels, g.labels...), append(exits, g.exit)
	}
	slices.Sort(exits)
	var text []string
	for _, e := range slices.Compact(exits) {
		text = append(text, strconv.Itoa(e))
	}
	return Rest{fold(labels, names), clip(strings.Join(text, ","), 40)}
}

// A failedSet is the hosts of one failure.
type failedSet struct {
	failure
	*failed
	reasons int // how many there are
}

// failed returns the failures, those with the most hosts first.
func (s *Set) failed() []failedSet {
	var list []failedSet
	for f, g := range s.failures {
		slices.SortFunc(g.labels, nodeset.Compare)
		list = append(list, failedSet{f, g, 1})
	}
	slices.SortFunc(list, func(a, b failedSet) int {
		return cmp.Or(
			cmp.Compare(len(b.labels), len(a.labels)), strings.Compare(a.code, b.code),
			nodeset.Compare(a.labels[0], b.labels[0]), strings.Compare(a.reason, b.reason),
		)
	})
	return list
}

// mergeFailures returns the failures of a report. If there are many, those with few hosts are one for each code, or one
// for all.
func mergeFailures(list []failedSet, names, reason int) []Failure {
	if len(list) > maxFailures {
		list = merge(list, func(f failedSet) string { return f.code })
	}
	if len(list) > maxFailures {
		last := maxFailures - 1
		list = append(list[:last], merge(list[last:], func(failedSet) string { return "several codes" })...)
	}
	var failures []Failure
	for _, f := range list {
		failure := Failure{Names: fold(f.labels, names), Code: clip(visible(f.code), 60)}
		failure.Reason = visible(f.reason)
		if f.reasons > 1 {
			failure.Reason = fmt.Sprintf("%d reasons, one is: %s", f.reasons, failure.Reason)
		}
		failure.Reason = clip(failure.Reason, reason)
		for _, label := range failure.labels {
			if failure.Last = clip(f.last[label], reason); failure.Last != "" {
				break
			}
		}
		failures = append(failures, failure)
	}
	return failures
}

// merge joins failures with the same code, which replaces their own.
func merge(list []failedSet, code func(failedSet) string) []failedSet {
	var merged []failedSet
	at := make(map[string]int)
	for _, f := range list {
		c := code(f)
		i, ok := at[c]
		if !ok {
			i = len(merged)
			at[c] = i
			merged = append(merged, failedSet{failure{c, f.reason}, &failed{last: make(map[string]string)}, 0})
		}
		merged[i].reasons += f.reasons
		merged[i].labels = append(merged[i].labels, f.labels...)
		maps.Copy(merged[i].last, f.last)
	}
	for i := range merged {
		slices.SortFunc(merged[i].labels, nodeset.Compare)
	}
	slices.SortStableFunc(merged, func(a, b failedSet) int { return cmp.Compare(len(b.labels), len(a.labels)) })
	return merged
}

// notRunNames returns the hosts on which nothing was started, by reason.
func (s *Set) notRunNames(names, reason int) []Names {
	var list []Names
	for why, labels := range s.notRun {
		if len(labels) == 0 {
			continue
		}
		n := fold(labels, names)
		n.Reason = why
		list = append(list, n)
	}
	slices.SortFunc(list, func(a, b Names) int {
		return cmp.Or(cmp.Compare(b.N, a.N), strings.Compare(a.Reason, b.Reason))
	})
	if len(list) > maxReasons {
		var labels []string
		for _, n := range list[maxReasons-1:] {
			labels = append(labels, n.labels...)
		}
		others := fold(labels, names)
		others.Reason = fmt.Sprintf("%d reasons, one is: %s", len(list)-maxReasons+1, list[maxReasons-1].Reason)
		list = append(list[:maxReasons-1], others)
	}
	for i := range list {
		list[i].Reason = clip(visible(list[i].Reason), reason)
	}
	return list
}

// fold returns hosts with a nodeset of at most so many bytes.
func fold(labels []string, most int) Names {
	labels = slices.Clone(labels)
	slices.SortFunc(labels, nodeset.Compare)
	n := Names{Hosts: nodeset.Fold(labels), N: len(labels), labels: labels}
	if len(n.Hosts) <= most {
		return n
	}
	const more = ",…"
	low, high := 0, len(labels)-1 // so many hosts fit, and more do not
	for low < high {
		middle := (low + high + 1) / 2
		if len(nodeset.Fold(labels[:middle]))+len(more) <= most {
			low = middle
		} else {
			high = middle - 1
		}
	}
	if n.Hosts = nodeset.Fold(labels[:low]) + more; low == 0 {
		n.Hosts = clip(labels[0], most)
	}
	return n
}
