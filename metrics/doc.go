// Package metrics counts the events of sessions for Prometheus.
//
//	m := metrics.New(metrics.Options{Protocols: []string{"ssh", "telnet"}})
//	sessions := session.NewManager(session.Config{Observers: []term.Observer{m}})
//	http.Handle("/metrics", m.Handler())
//
// Metrics is a term.Observer with atomic counters, so it never blocks and loses no event.
// It has its own registry and serves no other metrics. Labels have fixed sets of values.
// They must not hold a text that a caller or a remote host can choose, for example a
// host, a session or a device.
package metrics
