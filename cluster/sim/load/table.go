package load

import (
	"fmt"
	"math"
	"strings"
	"time"
)

// Measured are the costs that the tables use: medians of runs of the command at Costs.
var Measured = Costs{
	Took:    100 * time.Microsecond,
	Renewal: Cost{Leader: 49 * time.Microsecond, Other: 33 * time.Microsecond, In: 305, Out: 845},
	Deliver: Cost{Leader: 25 * time.Microsecond, Out: 360},
	Call:    Cost{Leader: 4400 * time.Nanosecond, Other: 2300 * time.Nanosecond, In: 2304, Out: 2304},
}

// Table returns the tables of docs/cluster-scale.md that this package calculates, as Markdown.
func Table() string {
	var s strings.Builder
	sizes := Sizes()
	head := func(first string) {
		fmt.Fprintf(&s, "| %s |", first)
		for _, c := range sizes {
			fmt.Fprintf(&s, " %s nodes |", count(float64(c.Nodes)))
		}
		s.WriteString("\n|---|" + strings.Repeat("---|", len(sizes)) + "\n")
	}
	row := func(name string, f func(c Cluster) string) {
		fmt.Fprintf(&s, "| %s |", name)
		for _, c := range sizes {
			fmt.Fprintf(&s, " %s |", f(c))
		}
		s.WriteString("\n")
	}
	of := func(c Cluster) []Part { return Of(c, Usual, Measured) }
	head("requests a second")
	for i, p := range of(sizes[0]) {
		row(fmt.Sprintf("%s (%s)", p.Name, p.Growth), func(c Cluster) string { return count(of(c)[i].Rate) })
	}
	row("writes of buckets, all", func(c Cluster) string {
		writes := 0.0
		for _, p := range of(c) {
			writes += p.Writes
		}
		return count(writes)
	})
	s.WriteString("\n")
	head("processors of the busiest server")
	for i, p := range of(sizes[0]) {
		row(p.Name, func(c Cluster) string { return processors(of(c)[i].Leader()) })
	}
	sum := func(c Cluster) (processors, bytes float64) {
		for _, p := range of(c) {
			processors += p.Leader()
			bytes += p.Bytes()
		}
		return processors, bytes
	}
	row("all", func(c Cluster) string { p, _ := sum(c); return processors(p) })
	row("bytes that it sends a second", func(c Cluster) string { _, b := sum(c); return size(b) })
	return s.String()
}

// Count returns a whole number with commas.
func Count(n int) string {
	text := fmt.Sprint(n)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

// count returns a number with two digits that count.
func count(n float64) string {
	if n < 10 {
		return strings.TrimSuffix(fmt.Sprintf("%.1f", n), ".0")
	}
	unit := math.Pow(10, math.Floor(math.Log10(n))-1)
	return Count(int(math.Round(n/unit) * unit))
}

func processors(n float64) string {
	switch {
	case n < 0.01:
		return "< 0.01"
	case n < 10:
		return fmt.Sprintf("%.2f", n)
	}
	return fmt.Sprintf("%.0f", n)
}

func size(n float64) string {
	for _, unit := range []string{"B", "kB", "MB"} {
		if n < 1000 {
			return fmt.Sprintf("%.3g %s", n, unit)
		}
		n /= 1000
	}
	return fmt.Sprintf("%.3g GB", n)
}
