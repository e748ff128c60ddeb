// Package metrics counts what sessions do, for Prometheus.
//
//	m := metrics.New(metrics.Options{Protocols: []string{"ssh", "telnet"}})
//	sessions := session.NewManager(session.Config{Observers: []term.Observer{m}})
//	http.Handle("/metrics", m.Handler())
//
// It is an Observer of atomic counters: it never waits and drops nothing. Its registry is its own, so that it serves
// these numbers and no others. No label holds a host, a session, a device, or anything else that a caller or a remote
// host can choose: each has a fixed set of values.
package metrics
