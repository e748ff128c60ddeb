package main

import (
	"fmt"
	"io"
	"time"

	"ptyctl/cluster/sim"
	"ptyctl/cluster/sim/load"
)

// faults prints the effects of n histories of each fault on leases, and fails if a promise was broken.
func faults(out io.Writer, n int) error {
	fmt.Fprintln(out, "| fault | acquired | lost | calls not done | writes after a take-over | with a fence | broken promises |")
	fmt.Fprintln(out, "|---|---|---|---|---|---|---|")
	var first *sim.Violation
	line := func(name string, c sim.Config) {
		r := sim.Sum(c, n)
		undone := 100 * float64(r.Unavailable) / float64(max(r.Calls, 1))
		fmt.Fprintf(
			out, "| %s | %d | %d | %.1f%% | %d | %d | %d |\n", name, r.Acquired, r.Lost, undone, r.Late, r.Unfenced, len(r.Violations),
		)
		if first == nil && len(r.Violations) > 0 {
			first = &r.Violations[0]
		}
	}
	line("none", sim.Config{})
	for _, f := range sim.AllFaults() {
		line(f.String(), sim.Config{Faults: []sim.Fault{f}, Boottime: true})
	}
	line("all of them", sim.Config{Faults: sim.AllFaults(), Boottime: true})
	line("all of them, one server", sim.Config{Faults: sim.AllFaults(), Boottime: true, Servers: 1})
	line("all of them, five servers", sim.Config{Faults: sim.AllFaults(), Boottime: true, Servers: 5})
	line("all of them, a TTL of 2 s", sim.Config{Faults: sim.AllFaults(), Boottime: true, TTL: 2 * time.Second})
	if first != nil {
		return fmt.Errorf("seed %d, after %v: %s", first.Seed, first.At, first.What)
	}
	return nil
}

// clocks prints in how many of n histories a jump of a server's clock, or a clock that stops, has broken a promise.
func clocks(out io.Writer, n int) {
	fmt.Fprintln(out, "| clock | histories with a broken promise |")
	fmt.Fprintln(out, "|---|---|")
	line := func(name string, c sim.Config) {
		broken := 0
		for seed := range uint64(n) {
			c.Seed = seed
			if len(sim.Run(c).Violations) > 0 {
				broken++
			}
		}
		fmt.Fprintf(out, "| %s | %d of %d |\n", name, broken, n)
	}
	for _, jump := range []float64{1, 4.9, 6, 12, 20, 28, 40, 60} {
		d := time.Duration(jump * float64(time.Second))
		line(fmt.Sprintf("of a NATS server, by %v", d), sim.Config{Jump: d, Faults: []sim.Fault{sim.JumpServer, sim.CutNode}})
	}
	for _, jump := range []time.Duration{6 * time.Second, 20 * time.Second, 40 * time.Second} {
		line(
			fmt.Sprintf("of a NATS server, by %v, and an expired key is taken at once", jump),
			sim.Config{Jump: jump, Break: sim.Impatient, Faults: []sim.Fault{sim.JumpServer, sim.CutNode}},
		)
	}
	line("of nodes, by up to an hour", sim.Config{Faults: []sim.Fault{sim.JumpNode, sim.JumpNode, sim.CutNode}})
	suspend := sim.Config{Faults: []sim.Fault{sim.Suspend, sim.Suspend}}
	line("of a node that is suspended, CLOCK_MONOTONIC", suspend)
	suspend.Boottime = true
	line("of a node that is suspended, CLOCK_BOOTTIME", suspend)
}

// storms prints the fate of many leases at one leader. A write takes the leader as long as in the benchmark.
func storms(out io.Writer) {
	write := load.Measured.Took
	fmt.Fprintf(out, "A write takes the leader %v: %.0f a second.\n\n", write, 1/write.Seconds())
	fmt.Fprintln(out, "| leases | load | storm | most work waiting | 90 s later | most requests/s | leases lost |")
	fmt.Fprintln(out, "|---|---|---|---|---|---|---|")
	for _, leases := range []int{3000, 30_000, 45_000, 60_000, 100_000} {
		for _, s := range []struct {
			name string
			c    sim.Storm
		}{
			{"an election of 9 s", sim.Storm{Gap: 9 * time.Second}},
			{"a leader that stops for 9 s", sim.Storm{Gap: 9 * time.Second, Silent: true}},
			{"9 s, with spread renewals", sim.Storm{Gap: 9 * time.Second, Spread: 10}},
		} {
			s.c.Leases, s.c.Write = leases, write
			r := s.c.Run()
			fmt.Fprintf(
				out, "| %s | %.0f%% | %s | %.1f s | %.1f s | %s | %s |\n", load.Count(leases), 100*write.Seconds()*float64(leases)/5, s.name,
				r.Work.Seconds(), r.After.Seconds(), load.Count(r.Most), load.Count(r.Lost),
			)
		}
	}
	fmt.Fprintln(out)
	fmt.Fprintln(out, "| consoles taken | how | most work waiting | acquired | not done in 10 s | last after |")
	fmt.Fprintln(out, "|---|---|---|---|---|---|")
	for _, s := range []struct {
		name string
		c    sim.Storm
	}{
		{"the 100 nodes of a site are lost, 900 take over", sim.Storm{Acquires: 10_000, Nodes: 900, Over: time.Second}},
		{"300 nodes start", sim.Storm{Acquires: 30_000, Nodes: 300, Over: time.Second}},
		{"1,000 nodes start", sim.Storm{Acquires: 100_000, Nodes: 1000, Over: time.Second}},
		{"1,000 nodes start, 4 calls at a time each", sim.Storm{Acquires: 100_000, Nodes: 1000, Over: time.Second, At: 4}},
	} {
		s.c.Write = write
		r := s.c.Run()
		fmt.Fprintf(
			out, "| %s | %s | %.1f s | %s | %s | %.1f s |\n", load.Count(s.c.Acquires), s.name, r.Work.Seconds(), load.Count(r.Acquired),
			load.Count(r.Failed), r.Last.Seconds(),
		)
	}
}
