package agent

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"text/tabwriter"
	"time"
)

// A row is the cost of a task in each arm.
type row struct {
	task         string
	kind         kind
	lacks        string
	ptyctl, bash cost
	fleet        *cost // with the tool for many hosts; nil: as ptyctl
	members      map[string]int
	took         time.Duration
}

// printTable prints the costs, their totals, and where the bytes of ptyctl's results went.
func printTable(to io.Writer, rows []row) {
	out := tabwriter.NewWriter(to, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(out, "task\tptyctl calls\tbytes\tBash calls\tbytes\tcalls x\tbytes x\t")
	var all, fleet, same, whole [2]cost
	members := make(map[string]int)
	for _, r := range rows {
		name := r.task
		if r.kind != plain {
			name = "(" + name + ")"
		}
		if r.lacks != "" {
			name += " *"
		}
		printCosts(out, name, r.ptyctl, r.bash)
		if r.fleet != nil {
			printCosts(out, name+" by ptyctl_fleet", *r.fleet, r.bash)
		}
		all[0].add(r.ptyctl)
		all[1].add(r.bash)
		fleet[0].add(r.best())
		fleet[1].add(r.bash)
		if r.kind == plain {
			same[0].add(r.ptyctl)
			same[1].add(r.bash)
		}
		if r.kind == plain && r.lacks == "" {
			whole[0].add(r.ptyctl)
			whole[1].add(r.bash)
		}
		for name, n := range r.members {
			members[name] += n
		}
	}
	printCosts(out, "all", all[0], all[1])
	printCosts(out, "all, with ptyctl_fleet", fleet[0], fleet[1])
	printCosts(out, "without full-screen programs and many hosts", same[0], same[1])
	printCosts(out, "of these, what both can do", whole[0], whole[1])
	out.Flush()
	for _, r := range rows {
		if r.lacks != "" {
			fmt.Fprintf(to, "* %s: Bash, ssh and tmux cannot %s\n", r.task, r.lacks)
		}
	}
	fmt.Fprintln(to, "\nbytes of ptyctl's results by member:")
	sum := 0
	for _, n := range members {
		sum += n
	}
	names := slices.SortedFunc(maps.Keys(members), func(a, b string) int { return cmp.Compare(members[b], members[a]) })
	for _, name := range names {
		fmt.Fprintf(out, "%s\t%d\t%.1f %%\t\n", name, members[name], 100*float64(members[name])/float64(sum))
	}
	out.Flush()
}

func printCosts(to io.Writer, name string, p, b cost) {
	fmt.Fprintf(to, "%s\t%d\t%d\t%d\t%d\t%s\t%s\t\n", name, p.calls, p.bytes, b.calls, b.bytes,
		ratio(p.calls, b.calls), ratio(p.bytes, b.bytes))
}

// best is the cost with the set of tools for many hosts.
func (r row) best() cost {
	if r.fleet != nil {
		return *r.fleet
	}
	return r.ptyctl
}

func (c *cost) add(d cost) { c.calls, c.bytes = c.calls+d.calls, c.bytes+d.bytes }

// ratio is a to b, where there is a b.
func ratio(a, b int) string {
	if b == 0 {
		return "-"
	}
	return fmt.Sprintf("%.2f", float64(a)/float64(b))
}
