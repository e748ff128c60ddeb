package metrics

import (
	"errors"
	"net/http"
	"slices"
	"strings"

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
	OAuthFailures      func() int64 // how often the keys of the issuer of access tokens could not be fetched

	More []Family // of others, such as those of a cluster; no name is one of this package's
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
	families []family // in the order of their names

	opens     *counters
	actions   *counters
	conflicts *counter
	commands  *counters
	exec      map[string]*histogram // by lane
	read      *histogram
	traffic   map[string]traffic // by protocol
}

// traffic counts the bytes of the sessions of one protocol. The counters are looked up
// once, because every piece of output changes them.
type traffic struct{ in, out, dropped *counter }

// lanes are the lanes of an exec, as its events name them.
var lanes = []string{"channel", "terminal"}

// New returns metrics that are all 0.
func New(o Options) *Metrics {
	o.Protocols = append(slices.Clone(o.Protocols), other)
	m := &Metrics{o: o, exec: make(map[string]*histogram), traffic: make(map[string]traffic)}
	m.opens = m.counters("ptyctl_opens_total", "Attempts to open a session, by outcome.", outcome, "protocol")
	m.actions = m.counters("ptyctl_actions_total", "Actions of callers, by outcome.", "action", outcome)
	m.commands = m.counters("ptyctl_commands_total", "Commands that have ended, by the way they ended.", "how", "lane")
	m.conflicts = m.counters("ptyctl_lock_conflicts_total", "Actions refused because another task held the lock.").with()
	bytes := m.counters("ptyctl_bytes_total", "Bytes sent to (out) and received from (in) the far sides.", "direction",
		"protocol")
	dropped := m.counters("ptyctl_dropped_bytes_total", "Bytes of output dropped from buffers before they were read.",
		"protocol")
	for _, p := range o.Protocols {
		m.traffic[p] = traffic{bytes.with("in", p), bytes.with("out", p), dropped.with(p)}
	}
	latency := &histograms{description: description{
		"ptyctl_command_duration_seconds", "Duration of commands from start to end.", []string{"lane"},
	}}
	for _, lane := range lanes {
		m.exec[lane] = newHistogram(exponential(0.001, 4, 11), lane) // to 17 minutes
		latency.of = append(latency.of, m.exec[lane])
	}
	m.read = newHistogram(exponential(0.0001, 4, 10)) // to 26 seconds
	m.families = append(m.families, latency, &histograms{description: description{
		"ptyctl_read_duration_seconds", "Duration of reads, including their wait for output.", nil,
	}, of: []*histogram{m.read}})
	if o.Sessions != nil {
		m.families = append(m.families, m.sessions())
	}
	sample(m, "gauge", "ptyctl_handshakes_waiting", "SSH connections that wait for a login slot.", o.HandshakesWaiting)
	sample(m, "counter", "ptyctl_audit_lost_lines_total", "Lines that the audit log has lost.", o.AuditLost)
	sample(m, "counter", "ptyctl_recordings_dropped_bytes_total", "Bytes of output that are missing in recordings.",
		o.RecordingsDropped)
	sample(m, "counter", "ptyctl_recordings_failures_total", "Times that a recording could not be written.",
		o.RecordingsFailures)
	sample(m, "counter", "ptyctl_notices_dropped_total", "Notices to people that were dropped because too many waited.",
		o.NoticesDropped)
	sample(m, "counter", "ptyctl_oauth_fetch_failures_total",
		"Times that the keys of the issuer of access tokens could not be fetched.", o.OAuthFailures)
	for _, f := range o.More {
		m.families = append(m.families, f)
	}
	slices.SortFunc(m.families, func(a, b family) int { return strings.Compare(a.about().name, b.about().name) })
	return m
}

// counters adds a family of counters.
func (m *Metrics) counters(name, help string, labels ...string) *counters {
	c := &counters{description: description{name, help, labels}}
	m.families = append(m.families, c)
	return c
}

// sample adds a family with one value, which f returns; nil: there is none.
func sample[T int | int64](m *Metrics, kind, name, help string, f func() T) {
	if f != nil {
		m.families = append(m.families, sampled{
			description{name, help, nil}, kind, func(yield func(float64, ...string)) { yield(float64(f())) },
		})
	}
}

// Handler serves the metrics in the text format of Prometheus, or in OpenMetrics if the client prefers it.
func (m *Metrics) Handler() http.Handler { return expose(m.families) }

// Observe counts e.
func (m *Metrics) Observe(e term.Event) {
	t := m.traffic[m.protocol(e.Protocol)]
	switch e.Verb {
	case term.VerbOutput:
		t.in.add(int64(e.Size))
		return
	case term.VerbRead:
		if e.Refused == nil {
			m.read.observe(e.Duration.Seconds())
			t.dropped.add(e.Dropped)
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
			m.opens.with(code(e.Refused), m.protocol(e.Protocol)).add(1)
		}
	case term.VerbFileRead:
		if e.Refused == nil {
			t.in.add(int64(e.Size))
		}
	case term.VerbWrite, term.VerbAnswer, term.VerbReply, term.VerbExec, term.VerbFileWrite:
		if e.Refused == nil {
			t.out.add(int64(e.Size))
		}
	}
	m.actions.with(string(e.Verb), code(e.Outcome())).add(1)
	if errors.Is(e.Outcome(), term.Locked) {
		m.conflicts.add(1)
	}
}

// state counts the outcome of opening a session.
func (m *Metrics) state(e term.Event) {
	switch {
	case e.State == "open":
		m.opens.with(code(nil), m.protocol(e.Protocol)).add(1)
	case e.From != "open" && e.Err != nil:
		m.opens.with(code(e.Err), m.protocol(e.Protocol)).add(1)
	case e.From != "open": // closed by a caller in the meantime
		m.opens.with(string(term.Canceled), m.protocol(e.Protocol)).add(1)
	}
}

// ended counts a command. Output of a command in the terminal is already counted as
// output of the session.
func (m *Metrics) ended(e term.Event, t traffic) {
	lane := lanes[0]
	if e.Detail != lane {
		lane = lanes[1]
	} else {
		t.in.add(int64(e.Size))
	}
	how := e.State
	if e.Err != nil && how == "ended" {
		how = "failed"
	}
	m.commands.with(how, lane).add(1)
	m.exec[lane].observe(e.Duration.Seconds())
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
