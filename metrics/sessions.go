package metrics

import "slices"

// liveStates are the states of a session that has not ended, in alphabetical order.
var liveStates = []string{"authenticating", "connecting", "open"}

// sessions counts the live sessions at each scrape. Gauges that events change could drift
// away from the truth. A protocol without sessions has the value 0, so that an alert can compare it.
func (m *Metrics) sessions() family {
	d := description{"ptyctl_sessions", "Sessions that have not ended.", []string{"protocol", "state"}}
	return sampled{d, "gauge", func(yield func(float64, ...string)) {
		count := make(map[Session]int)
		for _, s := range m.o.Sessions() {
			count[Session{m.protocol(s.Protocol), s.State}]++
		}
		for _, p := range slices.Sorted(slices.Values(m.o.Protocols)) {
			for _, state := range liveStates {
				yield(float64(count[Session{p, state}]), p, state)
			}
		}
	}}
}
