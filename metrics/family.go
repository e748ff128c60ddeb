package metrics

import (
	"math"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
)

// A family is the values of one metric name.
type family interface {
	about() description
	samples(*exposition)
}

// A description is what is said about a family before its values.
type description struct {
	name, help string
	labels     []string // in alphabetical order
}

func (d description) about() description { return d }

// counters are a counter for each set of label values that was seen.
type counters struct {
	description

	mu     sync.Mutex
	values map[string]*counter // by the label values, joined
}

// A counter only grows.
type counter struct {
	labels []string // values
	n      atomic.Uint64
}

// add adds n to the counter. A negative n, which no event has, adds nothing.
func (c *counter) add(n int64) { c.n.Add(uint64(max(n, 0))) }

// with returns the counter of these label values, in the order of the labels.
func (c *counters) with(labels ...string) *counter {
	key := strings.Join(labels, "\xff") // no value has it: all are of fixed sets
	c.mu.Lock()
	defer c.mu.Unlock()
	v := c.values[key]
	if v == nil {
		v = &counter{labels: labels}
		if c.values == nil {
			c.values = make(map[string]*counter)
		}
		c.values[key] = v
	}
	return v
}

func (c *counters) samples(to *exposition) {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := make([]*counter, 0, len(c.values))
	for _, v := range c.values {
		all = append(all, v)
	}
	slices.SortFunc(all, func(a, b *counter) int { return slices.Compare(a.labels, b.labels) })
	to.head(c.description, "counter")
	for _, v := range all {
		to.sample(c.description, v.labels, float64(v.n.Load()))
	}
}

// A sampled family has values that are asked for at each scrape.
type sampled struct {
	description

	kind string // "counter" or "gauge"
	each func(yield func(v float64, labels ...string))
}

func (s sampled) samples(to *exposition) {
	to.head(s.description, s.kind)
	s.each(func(v float64, labels ...string) { to.sample(s.description, labels, v) })
}

// histograms are a histogram for each value of a label, or a single one without labels.
type histograms struct {
	description

	of []*histogram // in the order of their labels
}

// A histogram counts durations in seconds by size.
type histogram struct {
	labels []string
	bounds []float64 // the largest value of each bucket; one more bucket has all above

	mu     sync.Mutex
	counts []uint64
	sum    float64
}

// exponential returns n bounds, each factor times the one before.
func exponential(first, factor float64, n int) []float64 {
	bounds := make([]float64, n)
	for i := range bounds {
		bounds[i] = first
		first *= factor
	}
	return bounds
}

func newHistogram(bounds []float64, labels ...string) *histogram {
	return &histogram{labels: labels, bounds: bounds, counts: make([]uint64, len(bounds)+1)}
}

func (h *histogram) observe(v float64) {
	i, _ := slices.BinarySearch(h.bounds, v)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.counts[i]++
	h.sum += v
}

func (h *histograms) samples(to *exposition) {
	to.head(h.description, "histogram")
	for _, one := range h.of {
		one.mu.Lock()
		counts, sum := slices.Clone(one.counts), one.sum
		one.mu.Unlock()
		total := uint64(0)
		for i, n := range counts {
			total += n
			bound := math.Inf(1)
			if i < len(one.bounds) {
				bound = one.bounds[i]
			}
			to.bucket(h.description, one.labels, bound, total)
		}
		to.total(h.description, one.labels, sum, total)
	}
}
