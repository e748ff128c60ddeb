package metrics

import (
	"errors"
	"net/http"
	"slices"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"ptyctl/term"
)

// Options say what is counted besides the events. The zero value works.
type Options struct {
	Protocols []string // that have numbers of their own; all others are "other"

	// Asked at each scrape; nil: not shown.
	Sessions          func() []Session // those that have not ended
	HandshakesWaiting func() int
	AuditLost         func() int64 // lines that the audit log could not keep
}

// A Session is what is counted of a live one.
type Session struct{ Protocol, State string }

const (
	other   = "other"
	outcome = "outcome" // "ok", or the error_code
)

// Metrics is a term.Observer. Make it with New.
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

// traffic is what goes through the sessions of one protocol. It is counted for every piece of output.
type traffic struct{ in, out, dropped prometheus.Counter }

// The lanes of an exec, as its events name them.
var lanes = []string{"channel", "terminal"}

// New makes metrics that are all 0.
func New(o Options) *Metrics {
	o.Protocols = append(slices.Clone(o.Protocols), other)
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
	}
	m := &Metrics{
		o: o, registry: prometheus.NewRegistry(),
		opens: counter(
			"ptyctl_opens_total",
			"Sessions that were to be opened, by what became of it.",
			"protocol",
			outcome,
		),
		actions:  counter("ptyctl_actions_total", "Actions of callers, by what became of them.", "action", outcome),
		commands: counter("ptyctl_commands_total", "Commands that are over, by how they ended.", "lane", "how"),
		conflicts: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "ptyctl_lock_conflicts_total", Help: "Actions that were refused because another task held the lock.",
		}),
		exec: make(map[string]prometheus.Observer), traffic: make(map[string]traffic),
	}
	latency := prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: "ptyctl_command_duration_seconds", Help: "How long commands took, from start to end.",
		Buckets: prometheus.ExponentialBuckets(0.001, 4, 11), // to 17 minutes
	}, []string{"lane"})
	for _, lane := range lanes {
		m.exec[lane] = latency.WithLabelValues(lane)
	}
	read := prometheus.NewHistogram(prometheus.HistogramOpts{
		Name: "ptyctl_read_duration_seconds", Help: "How long reads took, with the time they were told to wait.",
		Buckets: prometheus.ExponentialBuckets(0.0001, 4, 10), // to 26 seconds
	})
	m.read = read
	bytes := counter("ptyctl_bytes_total", "Bytes to (out) and from (in) the far sides.", "protocol", "direction")
	dropped := counter(
		"ptyctl_dropped_bytes_total",
		"Bytes of output that were no longer held when somebody read them.",
		"protocol",
	)
	for _, p := range o.Protocols {
		m.traffic[p] = traffic{bytes.WithLabelValues(p, "in"), bytes.WithLabelValues(p, "out"), dropped.WithLabelValues(p)}
	}
	m.registry.MustRegister(m.opens, m.actions, m.commands, m.conflicts, latency, read, bytes, dropped)
	if o.Sessions != nil {
		m.registry.MustRegister(sessions{m})
	}
	if f := o.HandshakesWaiting; f != nil {
		m.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "ptyctl_handshakes_waiting", Help: "SSH connections that wait for their turn to log in.",
		}, func() float64 { return float64(f()) }))
	}
	if f := o.AuditLost; f != nil {
		m.registry.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{
			Name: "ptyctl_audit_lost_lines_total", Help: "Lines that the audit log could not keep.",
		}, func() float64 { return float64(f()) }))
	}
	return m
}

// Handler serves the numbers in the formats of Prometheus.
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
	case term.VerbQuestion, term.VerbGone, term.VerbPlan:
		return
	case term.VerbExecEnd:
		m.ended(e, t)
		return
	case term.VerbOpen:
		if e.Refused != nil { // how an open ends that was not refused, its state tells
			m.opens.WithLabelValues(m.protocol(e.Protocol), code(e.Refused)).Inc()
		}
	case term.VerbFileRead:
		if e.Refused == nil {
			t.in.Add(float64(e.Size))
		}
	case term.VerbWrite, term.VerbAnswer, term.VerbExec, term.VerbFileWrite:
		if e.Refused == nil {
			t.out.Add(float64(e.Size))
		}
	}
	m.actions.WithLabelValues(string(e.Verb), code(e.Outcome())).Inc()
	if errors.Is(e.Outcome(), term.Locked) {
		m.conflicts.Inc()
	}
}

// state counts how the opening of a session ends.
func (m *Metrics) state(e term.Event) {
	switch {
	case e.State == "open":
		m.opens.WithLabelValues(m.protocol(e.Protocol), code(nil)).Inc()
	case e.From != "open" && e.Err != nil:
		m.opens.WithLabelValues(m.protocol(e.Protocol), code(e.Err)).Inc()
	case e.From != "open": // closed by a caller meanwhile
		m.opens.WithLabelValues(m.protocol(e.Protocol), string(term.Canceled)).Inc()
	}
}

// ended counts a command. What it puts out in the terminal is counted there.
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

// protocol keeps what a caller may have made up out of the labels.
func (m *Metrics) protocol(name string) string {
	if slices.Contains(m.o.Protocols, name) {
		return name
	}
	return other
}

func code(err error) string {
	if err == nil {
		return "ok"
	}
	return string(term.KindOf(err))
}
