package fleetrun

import (
	"encoding/json"
	"fmt"
	"strings"

	"ptyctl/fleet/groups"
	"ptyctl/fleet/saved"
	"ptyctl/internal/tty"
)

// mostChanges is how many different changes a person is shown.
const mostChanges = 100

// Changes are the differences between two answers of hosts, as JSON. Hosts are nodesets.
type changes struct {
	Hosts       int      `json:"hosts"`
	Unchanged   *hosts   `json:"unchanged,omitempty"`
	Changed     []change `json:"changed,omitempty"`
	More        *hosts   `json:"more,omitempty"` // changed, and not shown how
	NotCompared []hosts  `json:"not_compared,omitempty"`
}

type hosts struct {
	Hosts  string `json:"hosts"`
	N      int    `json:"n"`
	Reason string `json:"reason,omitempty"`
}

type change struct {
	hosts
	Change    string `json:"change"` // lines as of diff
	Truncated bool   `json:"truncated,omitempty"`
}

// ShowChanges shows the differences between two answers of hosts. Hosts with the same change are shown together. same
// reports whether all hosts were compared, without a change.
func (o Options) ShowChanges(before, after *saved.Answers, normalize groups.Normalize) (same bool, err error) {
	set, n := saved.Changes(before, after, normalize)
	c := newChanges(set.Report(groups.Limits{Bytes: maxShown, Odd: mostChanges, Hunks: mostChanges, HostBytes: 10_000}), n)
	same = len(c.Changed) == 0 && c.More == nil && len(c.NotCompared) == 0
	if o.JSON {
		e := json.NewEncoder(o.Out)
		e.SetEscapeHTML(false)
		return same, e.Encode(c)
	}
	_, err = fmt.Fprint(o.Out, c)
	return same, err
}

// newChanges reads a report of changes.
func newChanges(r groups.Report, n int) changes {
	c := changes{Hosts: n}
	for _, g := range r.Groups {
		one := hosts{Hosts: g.Hosts, N: g.N}
		if g.Exit == 0 {
			c.Unchanged = &one
			continue
		}
		c.Changed = append(c.Changed, change{one, g.Stdout.Text, g.Stdout.Cut})
	}
	if r.Rest.N > 0 {
		c.More = &hosts{Hosts: r.Rest.Hosts, N: r.Rest.N}
	}
	for _, f := range r.Failures {
		c.NotCompared = append(c.NotCompared, hosts{f.Hosts, f.N, f.Reason})
	}
	return c
}

// String is the text for people.
func (c changes) String() string {
	var b strings.Builder
	head := func(h hosts, what string) {
		fmt.Fprintf(&b, "%s (%d): %s\n", tty.Printable(h.Hosts), h.N, what)
	}
	if c.Unchanged != nil {
		head(*c.Unchanged, "unchanged")
	}
	for _, one := range c.Changed {
		head(one.hosts, "changed")
		indent(&b, one.Change)
		if one.Truncated {
			b.WriteString("  [more is left out]\n")
		}
	}
	if c.More != nil {
		head(*c.More, "changed, not shown")
	}
	for _, one := range c.NotCompared {
		head(one, "not compared: "+tty.Printable(one.Reason))
	}
	return b.String()
}
