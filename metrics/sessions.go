package metrics

import "github.com/prometheus/client_golang/prometheus"

// sessions counts the live sessions at each scrape. Gauges that events change could drift
// away from the truth.
type sessions struct{ m *Metrics }

var sessionsDesc = prometheus.NewDesc(
	"ptyctl_sessions",
	"Sessions that have not ended.",
	[]string{"protocol", "state"},
	nil,
)

// liveStates are the states of a session that has not ended.
var liveStates = []string{"connecting", "authenticating", "open"}

// Describe implements prometheus.Collector.
func (sessions) Describe(to chan<- *prometheus.Desc) { to <- sessionsDesc }

// Collect implements prometheus.Collector. A protocol without sessions has the value 0,
// so that an alert can compare it.
func (c sessions) Collect(to chan<- prometheus.Metric) {
	count := make(map[Session]int)
	for _, s := range c.m.o.Sessions() {
		count[Session{c.m.protocol(s.Protocol), s.State}]++
	}
	for _, p := range c.m.o.Protocols {
		for _, state := range liveStates {
			to <- prometheus.MustNewConstMetric(sessionsDesc, prometheus.GaugeValue, float64(count[Session{p, state}]), p, state)
		}
	}
}
