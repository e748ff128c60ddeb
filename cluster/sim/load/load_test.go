package load

import (
	"os"
	"strings"
	"testing"
	"time"
)

// TestPage: docs/cluster-scale.md has the tables that the command prints.
func TestPage(t *testing.T) {
	page, err := os.ReadFile("../../../docs/cluster-scale.md")
	if err != nil {
		t.Fatal(err)
	}
	for table := range strings.SplitSeq(Table(), "\n\n") {
		if !strings.Contains(string(page), table) {
			t.Errorf("docs/cluster-scale.md has another table than go run ./sim/scale load:\n%s", table)
		}
	}
}

// TestGrowth: each part grows as its name says when there are ten times as many nodes, consoles and sessions.
func TestGrowth(t *testing.T) {
	const many = 1000 // so many that a node more or less makes no difference
	small := Of(Cluster{Nodes: many, Consoles: 100 * many, Sessions: 1000 * many, Servers: 3}, Usual, Measured)
	large := Of(Cluster{Nodes: 10 * many, Consoles: 1000 * many, Sessions: 10_000 * many, Servers: 3}, Usual, Measured)
	for i, p := range small {
		want := 10.0
		if p.Growth == "nodes²" || p.Growth == "sessions × nodes" {
			want = 100
		}
		if got := large[i].Rate / p.Rate; got < want*0.99 || got > want*1.01 {
			t.Errorf("%s (%s) grows %.2f times", p.Name, p.Growth, got)
		}
	}
}

// TestRates: 100,000 leases of 30 s are renewed 20,000 times a second.
func TestRates(t *testing.T) {
	parts := Of(Cluster{Nodes: 1000, Consoles: 100_000, Sessions: 1_000_000, Servers: 3}, Usual, Measured)
	if r := parts[0]; r.Rate != 20_000 || r.Writes != 20_000 || r.Leader() < 0.5 {
		t.Errorf("the renewals are %+v, want 20,000 a second, each a write, and half a processor of the leader at least", r)
	}
	if one := (Part{Rate: 10, Cost: Cost{Leader: time.Millisecond, Out: 7}}); one.Leader() != 0.01 || one.Bytes() != 70 {
		t.Errorf("a part of 10 requests of a millisecond and 7 bytes needs %v processors and %v bytes", one.Leader(), one.Bytes())
	}
}

func TestNumbers(t *testing.T) {
	for want, is := range map[string]string{
		"1.8": count(1.8), "2": count(2), "130": count(127.6), "43,000": count(42_512), "1,234,567": Count(1234567), "7": Count(7),
		"< 0.01": processors(0.001), "4.30": processors(4.3), "12": processors(12.4), "341 MB": size(341e6), "999 B": size(999),
	} {
		if is != want {
			t.Errorf("%q, want %q", is, want)
		}
	}
}
