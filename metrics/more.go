package metrics

import (
	"slices"
	"time"
)

// A Family is the values of one metric name, for Options.More. Sampled and Durations make one.
type Family interface{ family }

// Sampled returns a family whose values are asked for at each scrape. kind is "counter", for a name that ends in _total,
// or "gauge"; labels are in alphabetical order, and each yields a value for them.
func Sampled(kind, name, help string, labels []string, each func(yield func(v float64, labels ...string))) Family {
	return sampled{description{name, help, labels}, kind, each}
}

// Durations are histograms of seconds, one for each value of a label. Make them with NewDurations.
type Durations struct {
	histograms
	by map[string]*histogram
}

// NewDurations returns histograms from 0.1 ms to 26 s. All values of the label are known from the start.
func NewDurations(name, help, label string, values ...string) *Durations {
	d := &Durations{histograms: histograms{description: description{name, help, []string{label}}}, by: make(map[string]*histogram)}
	for _, v := range slices.Sorted(slices.Values(values)) {
		d.by[v] = newHistogram(exponential(0.0001, 4, 10), v)
		d.of = append(d.of, d.by[v])
	}
	return d
}

// Observe counts a duration. A value that NewDurations was not given counts nowhere.
func (d *Durations) Observe(value string, took time.Duration) {
	if h := d.by[value]; h != nil {
		h.observe(took.Seconds())
	}
}
