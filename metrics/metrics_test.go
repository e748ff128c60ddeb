package metrics_test

import (
	"io"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"ptyctl/internal/leaktest"
	"ptyctl/metrics"
	"ptyctl/term"
)

func TestMain(m *testing.M) { os.Exit(leaktest.Main(m)) }

// scrape returns the lines with values other than 0.
func scrape(tb testing.TB, m *metrics.Metrics) []string {
	tb.Helper()
	w := httptest.NewRecorder()
	m.Handler().ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	body, err := io.ReadAll(w.Result().Body)
	if err != nil || w.Code != 200 {
		tb.Fatalf("%d, %v", w.Code, err)
	}
	leaktest.Output(tb, "metrics", body)
	var lines []string
	for line := range strings.Lines(string(body)) {
		if line = strings.TrimSpace(line); !strings.HasPrefix(line, "#") && !strings.HasSuffix(line, " 0") &&
			!strings.Contains(line, "_bucket") {
			lines = append(lines, line)
		}
	}
	slices.Sort(lines)
	return lines
}

func TestEvents(t *testing.T) {
	refused := func(k term.Kind) error { return &term.Error{Kind: k} }
	for _, c := range []struct {
		name   string
		events []term.Event
		want   []string
	}{
		{"nothing", nil, nil},
		{"output", []term.Event{{Verb: term.VerbOutput, Size: 3}, {Verb: term.VerbOutput, Size: 4}}, []string{`ptyctl_bytes_total{direction="in",protocol="ssh"} 7`}},
		{"write", []term.Event{{Verb: term.VerbWrite, Size: 3}, {
			Verb: term.VerbWrite, Size: 5,
			Refused: refused(term.Locked),
		}, {Verb: term.VerbWrite, Size: 2, Err: refused(term.IOError)}}, []string{
			`ptyctl_actions_total{action="write",outcome="IO_ERROR"} 1`, `ptyctl_actions_total{action="write",outcome="LOCKED"} 1`, `ptyctl_actions_total{action="write",outcome="ok"} 1`,
			`ptyctl_bytes_total{direction="out",protocol="ssh"} 5`, `ptyctl_lock_conflicts_total 1`,
		}},
		{"opened", []term.Event{
			{Verb: term.VerbOpen},
			{Verb: term.VerbState, State: "open", From: "connecting"},
			{Verb: term.VerbState, State: "error", From: "open", Err: refused(term.IOError)},
		}, []string{
			`ptyctl_actions_total{action="open",outcome="ok"} 1`, `ptyctl_opens_total{outcome="ok",protocol="ssh"} 1`,
		}},
		{"not opened", []term.Event{
			{Verb: term.VerbOpen},
			{Verb: term.VerbState, State: "error", From: "authenticating", Err: refused(term.AuthFailed)},
			{Verb: term.VerbOpen},
			{Verb: term.VerbState, State: "closed", From: "connecting"},
			{Verb: term.VerbOpen, Refused: refused(term.LimitExceeded)},
		}, []string{
			`ptyctl_actions_total{action="open",outcome="LIMIT_EXCEEDED"} 1`, `ptyctl_actions_total{action="open",outcome="ok"} 2`,
			`ptyctl_opens_total{outcome="AUTH_FAILED",protocol="ssh"} 1`, `ptyctl_opens_total{outcome="CANCELED",protocol="ssh"} 1`, `ptyctl_opens_total{outcome="LIMIT_EXCEEDED",protocol="ssh"} 1`,
		}},
		{"commands", []term.Event{
			{Verb: term.VerbExec, Size: 2},
			{Verb: term.VerbExecEnd, Detail: "channel", State: "ended", Size: 10, Duration: time.Second},
			{Verb: term.VerbExecEnd, Detail: "terminal", State: "timeout", Size: 10, Duration: 2 * time.Second},
			{Verb: term.VerbExecEnd, Detail: "terminal", State: "ended", Err: refused(term.IOError)},
		}, []string{
			`ptyctl_actions_total{action="exec",outcome="ok"} 1`, `ptyctl_bytes_total{direction="in",protocol="ssh"} 10`, `ptyctl_bytes_total{direction="out",protocol="ssh"} 2`,
			`ptyctl_command_duration_seconds_count{lane="channel"} 1`, `ptyctl_command_duration_seconds_count{lane="terminal"} 2`,
			`ptyctl_command_duration_seconds_sum{lane="channel"} 1`, `ptyctl_command_duration_seconds_sum{lane="terminal"} 2`,
			`ptyctl_commands_total{how="ended",lane="channel"} 1`, `ptyctl_commands_total{how="failed",lane="terminal"} 1`, `ptyctl_commands_total{how="timeout",lane="terminal"} 1`,
		}},
		{"reads", []term.Event{{Verb: term.VerbRead, Size: 3, Dropped: 9, Duration: time.Second}}, []string{
			`ptyctl_dropped_bytes_total{protocol="ssh"} 9`, `ptyctl_read_duration_seconds_count 1`, `ptyctl_read_duration_seconds_sum 1`,
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := metrics.New(metrics.Options{Protocols: []string{"ssh"}})
			for _, e := range c.events {
				e.Protocol = "ssh"
				m.Observe(e)
			}
			if got := scrape(t, m); !slices.Equal(got, c.want) {
				t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(c.want, "\n"))
			}
		})
	}
}

func TestScraped(t *testing.T) {
	m := metrics.New(metrics.Options{
		Protocols: []string{"ssh", "telnet"},
		Sessions: func() []metrics.Session {
			return []metrics.Session{{"ssh", "open"}, {"ssh", "open"}, {"telnet", "authenticating"}, {"x", "open"}}
		},
		HandshakesWaiting: func() int { return 5 },
		AuditLost:         func() int64 { return 6 },
	})
	want := []string{
		`ptyctl_audit_lost_lines_total 6`, `ptyctl_handshakes_waiting 5`, `ptyctl_sessions{protocol="other",state="open"} 1`,
		`ptyctl_sessions{protocol="ssh",state="open"} 2`, `ptyctl_sessions{protocol="telnet",state="authenticating"} 1`,
	}
	if got := scrape(t, m); !slices.Equal(got, want) {
		t.Errorf("got\n%s", strings.Join(got, "\n"))
	}
}

// Text that a caller or a remote host chooses never becomes a label, for any event.
func TestLabelsAreBounded(t *testing.T) {
	const chosen = "evil-1138"
	leaktest.Secret(t, chosen)
	m := metrics.New(
		metrics.Options{
			Protocols: []string{"ssh"},
			Sessions:  func() []metrics.Session { return []metrics.Session{{chosen, chosen}} },
		},
	)
	for _, v := range []term.Verb{
		term.VerbOpen, term.VerbWrite, term.VerbAnswer, term.VerbExec, term.VerbSignal, term.VerbResize, term.VerbExpect,
		term.VerbLock, term.VerbUnlock, term.VerbHeartbeat, term.VerbTakeOver, term.VerbClose, term.VerbOutput, term.VerbRead,
	} {
		for _, err := range []error{nil, &term.Error{Kind: term.Locked, Msg: chosen}, io.EOF} {
			actor := term.Actor{Transport: chosen, Client: chosen, Version: chosen, Token: chosen, Task: chosen}
			m.Observe(
				term.Event{
					Verb:     v,
					Session:  chosen,
					Protocol: chosen,
					Host:     chosen,
					Actor:    actor,
					Command:  chosen,
					Exec:     chosen,
					Detail:   chosen,
					Data:     []byte(chosen),
					Err:      err,
				},
			)
		}
	}
	m.Observe(
		term.Event{
			Verb:     term.VerbState,
			State:    "error",
			From:     "connecting",
			Protocol: chosen,
			Session:  chosen,
			Detail:   chosen,
		},
	)
	m.Observe(term.Event{Verb: term.VerbExecEnd, State: "ended", Protocol: chosen, Detail: chosen})
	label := regexp.MustCompile(`(\w+)="`)
	for _, line := range scrape(t, m) {
		if strings.Contains(line, chosen) {
			t.Errorf("a label was chosen by a caller: %s", line)
		}
		for _, l := range label.FindAllStringSubmatch(line, -1) {
			if !slices.Contains([]string{"protocol", "state", "action", "outcome", "lane", "how", "direction"}, l[1]) {
				t.Errorf("label %s: %s", l[1], line)
			}
		}
	}
}

func TestConcurrent(t *testing.T) {
	m := metrics.New(metrics.Options{Protocols: []string{"ssh"}})
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 1000 {
				m.Observe(term.Event{Verb: term.VerbOutput, Protocol: "ssh", Size: 2})
			}
		})
	}
	scrape(t, m)
	wg.Wait()
	if got := scrape(t, m); len(got) != 1 || got[0] != `ptyctl_bytes_total{direction="in",protocol="ssh"} 16000` {
		t.Errorf("metrics after the events = %q, want none of the chosen texts", got)
	}
}

func BenchmarkObserveOutput(b *testing.B) {
	m := metrics.New(metrics.Options{Protocols: []string{"ssh"}})
	e := term.Event{Verb: term.VerbOutput, Protocol: "ssh", Size: 4096}
	for b.Loop() {
		m.Observe(e)
	}
}
