package metrics

import (
	"errors"
	"net/http"
	"slices"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"ptyctl/term"
)

// Options select metrics besides those of events. The zero value works.
type Options struct {
	Protocols []string // protocols with their own label values; all others are "other"

	// Called at each scrape; nil: the metric is missing.
	Sessions func() []Session // live sessions
	// HandshakesWaiting returns the number of SSH connections that wait for a login slot.
	HandshakesWaiting func() int
	AuditLost         func() int64 // lines that the audit log has lost

	RecordingsDropped  func() int64 // bytes of output that are missing in recordings
	RecordingsFailures func() int64 // how often a recording could not be written
	NoticesDropped     func() int64 // that people did not get; nil: none are sent
}

// A Session holds the labels of a live session.
type Session struct{ Protocol, State string }

// Values and names of labels.
const (
	other   = "other"
	outcome = "outcome" // "ok", or an error code
)

// Metrics is a term.Observer. Use New to make one.
type Metrics struct {
	o        Options
	registry *prometheus.Registry

	opens     *prometheus.CounterVec
	actions   *prometheus.CounterVec
	conflicts prometheus.Counter
	commands  *prometheus.CounterVec
	exec      map[string]prometheus.Observer // by lane
	read      prometheus.Observer
	traffic   map[string]traffic // by protocol
}

// traffic counts the bytes of the sessions of one protocol. The counters are looked up
// once, because every piece of output changes them.
type traffic struct{ in, out, dropped prometheus.Counter }

// lanes are the lanes of an exec, as its events name them.
var lanes = []string{"channel", "terminal"}

// New returns metrics that are all 0.
func New(o Options) *Metrics {
	o.Protocols = append(slices.Clone(o.Protocols), other)
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
	}
	m := &Metrics{
		o: o, registry: prometheus.NewRegistry(),
		opens:    counter("ptyctl_opens_total", "Attempts to open a session, by outcome.", "protocol", outcome),
		actions:  counter("ptyctl_actions_total", "Actions of callers, by outcome.", "action", outcome),
		commands: counter("ptyctl_commands_total", "Commands that have ended, by the way they ended.", "lane", "how"),
		conflicts: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "ptyctl_lock_conflicts_total", Help: "Actions refused because another task held the lock.",
		}),
		exec: make(map[string]prometheus.Observer), traffic: make(map[string]traffic),
	}
	latency := prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: "ptyctl_command_duration_seconds", Help: "Duration of commands from start to end.",
		Buckets: prometheus.ExponentialBuckets(0.001, 4, 11), // to 17 minutes
	}, []string{"lane"})
	for _, lane := range lanes {
		m.exec[lane] = latency.WithLabelValues(lane)
	}
	read := prometheus.NewHistogram(prometheus.HistogramOpts{
		Name: "ptyctl_read_duration_seconds", Help: "Duration of reads, including their wait for output.",
		Buckets: prometheus.ExponentialBuckets(0.0001, 4, 10), // to 26 seconds
	})
	m.read = read
	bytes := counter("ptyctl_bytes_total", "Bytes sent to (out) and received from (in) the far sides.", "protocol",
		"direction")
	dropped := counter("ptyctl_dropped_bytes_total", "Bytes of output dropped from buffers before they were read.",
		"protocol")
	for _, p := range o.Protocols {
		m.traffic[p] = traffic{
			bytes.WithLabelValues(p, "in"),
			bytes.WithLabelValues(p, "out"),
			dropped.WithLabelValues(p),
		}
	}
	m.registry.MustRegister(m.opens, m.actions, m.commands, m.conflicts, latency, read, bytes, dropped)
	if o.Sessions != nil {
		m.registry.MustRegister(sessions{m})
	}
	if f := o.HandshakesWaiting; f != nil {
		m.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "ptyctl_handshakes_waiting", Help: "SSH connections that wait for a login slot.",
		}, func() float64 { return float64(f()) }))
	}
	if f := o.AuditLost; f != nil {
		m.registry.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{
			Name: "ptyctl_audit_lost_lines_total", Help: "Lines that the audit log has lost.",
		}, func() float64 { return float64(f()) }))
	}
	if f := o.RecordingsDropped; f != nil {
		m.registry.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{
			Name: "ptyctl_recordings_dropped_bytes_total", Help: "Bytes of output that are missing in recordings.",
		}, func() float64 { return float64(f()) }))
	}
	if f := o.RecordingsFailures; f != nil {
		m.registry.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{
			Name: "ptyctl_recordings_failures_total", Help: "Times that a recording could not be written.",
		}, func() float64 { return float64(f()) }))
	}
	if f := o.NoticesDropped; f != nil {
		m.registry.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{
			Name: "ptyctl_notices_dropped_total", Help: "Notices to people that were dropped because too many waited.",
		}, func() float64 { return float64(f()) }))
	}
	return m
}

// Handler serves the metrics in the formats of Prometheus and OpenMetrics.
func (m *Metrics) Handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{Registry: nil, EnableOpenMetrics: true})
}

// Observe counts e.
func (m *Metrics) Observe(e term.Event) {
	t := m.traffic[m.protocol(e.Protocol)]
	switch e.Verb {
	case term.VerbOutput:
		t.in.Add(float64(e.Size))
		return
	case term.VerbRead:
		if e.Refused == nil {
			m.read.Observe(e.Duration.Seconds())
			t.dropped.Add(float64(e.Dropped))
		}
		return
	case term.VerbState:
		m.state(e)
		return
	case term.VerbQuestion, term.VerbConsent, term.VerbGone, term.VerbPlan, term.VerbOrphan:
		return
	case term.VerbExecEnd:
		m.ended(e, t)
		return
	case term.VerbOpen:
		if e.Refused != nil { // the state of the session tells how any other open ends
			m.opens.WithLabelValues(m.protocol(e.Protocol), code(e.Refused)).Inc()
		}
	case term.VerbFileRead:
		if e.Refused == nil {
			t.in.Add(float64(e.Size))
		}
	case term.VerbWrite, term.VerbAnswer, term.VerbReply, term.VerbExec, term.VerbFileWrite:
		if e.Refused == nil {
			t.out.Add(float64(e.Size))
		}
	}
	m.actions.WithLabelValues(string(e.Verb), code(e.Outcome())).Inc()
	if errors.Is(e.Outcome(), term.Locked) {
		m.conflicts.Inc()
	}
}

// state counts the outcome of opening a session.
func (m *Metrics) state(e term.Event) {
	switch {
	case e.State == "open":
		m.opens.WithLabelValues(m.protocol(e.Protocol), code(nil)).Inc()
	case e.From != "open" && e.Err != nil:
		m.opens.WithLabelValues(m.protocol(e.Protocol), code(e.Err)).Inc()
	case e.From != "open": // closed by a caller in the meantime
		m.opens.WithLabelValues(m.protocol(e.Protocol), string(term.Canceled)).Inc()
	}
}

// ended counts a command. Output of a command in the terminal is already counted as
// output of the session.
func (m *Metrics) ended(e term.Event, t traffic) {
	lane := lanes[0]
	if e.Detail != lane {
		lane = lanes[1]
	} else {
		t.in.Add(float64(e.Size))
	}
	how := e.State
	if e.Err != nil && how == "ended" {
		how = "failed"
	}
	m.commands.WithLabelValues(lane, how).Inc()
	m.exec[lane].Observe(e.Duration.Seconds())
}

// protocol returns a label value for a protocol. A caller may invent names, so unknown
// ones must become "other".
func (m *Metrics) protocol(name string) string {
	if slices.Contains(m.o.Protocols, name) {
		return name
	}
	return other
}

// code returns the label value for an error: its kind, or "ok".
func code(err error) string {
	if err == nil {
		return "ok"
	}
	return string(term.KindOf(err))
}
