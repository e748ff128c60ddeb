package metrics_test

import (
	"compress/gzip"
	"io"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"

	"ptyctl/metrics"
	"ptyctl/term"
)

// newBusy returns metrics that all have values.
func newBusy() *metrics.Metrics {
	three := func() int64 { return 3 }
	m := metrics.New(metrics.Options{
		Protocols: []string{"ssh", "telnet"},
		Sessions: func() []metrics.Session {
			return []metrics.Session{{Protocol: "ssh", State: "open"}, {Protocol: "x", State: "connecting"}}
		},
		HandshakesWaiting: func() int { return 5 },
		AuditLost:         three, RecordingsDropped: func() int64 { return 12_345_678_901 }, RecordingsFailures: three, NoticesDropped: three, OAuthFailures: three,
	})
	for _, e := range []term.Event{
		{Verb: term.VerbOutput, Size: 12_345_678},
		{Verb: term.VerbWrite, Size: 7},
		{Verb: term.VerbWrite, Refused: &term.Error{Kind: term.Locked}},
		{Verb: term.VerbState, State: "open"},
		{Verb: term.VerbOpen, Refused: &term.Error{Kind: term.PolicyDenied}},
		{Verb: term.VerbRead, Dropped: 9, Duration: 100 * time.Microsecond}, // the bound of a bucket
		{Verb: term.VerbRead, Duration: time.Hour},
		{Verb: term.VerbExecEnd, Detail: "channel", State: "ended", Size: 4, Duration: 1_234_567_891},
		{Verb: term.VerbExecEnd, Detail: "terminal", State: "timeout", Duration: 30 * time.Second},
	} {
		e.Protocol = "ssh"
		m.Observe(e)
	}
	return m
}

// TestExposed compares all that is exposed with what client_golang has exposed for the same events, byte by byte, in
// the formats that clients ask for.
func TestExposed(t *testing.T) {
	const text, open = "text/plain; version=0.0.4; charset=utf-8; escaping=underscores", "application/openmetrics-text; version=1.0.0; charset=utf-8; escaping=underscores"
	const prometheus = "application/openmetrics-text;version=1.0.0;q=0.6,application/openmetrics-text;version=0.0.1;q=0.5," +
		"text/plain;version=1.0.0;q=0.4,text/plain;version=0.0.4;q=0.3,*/*;q=0.2"
	for _, tt := range []struct{ accept, kind, file string }{
		{"", text, "text.txt"},
		{"*/*", text, "text.txt"},
		{"text/plain", text, "text.txt"},
		{"text/html,application/xml;q=0.9,*/*;q=0.8", text, "text.txt"},
		{"application/openmetrics-text", "", "open.txt"},
		{"application/openmetrics-text;version=1.0.0", open, "open.txt"},
		{"text/plain;version=0.0.4;q=0.7,application/openmetrics-text;version=1.0.0;q=0.3", text, "text.txt"},
		{"application/openmetrics-text;version=9.0.0", text, "text.txt"},
		{"application/openmetrics-text;version=1.0.0;q=nonsense,;;", "", ""},
		{prometheus, open, "open.txt"},
	} {
		for _, encoding := range []string{"", "gzip", "deflate, gzip;q=0.5"} {
			r := httptest.NewRequest("GET", "/metrics", nil)
			r.Header.Set("Accept", tt.accept)
			r.Header.Set("Accept-Encoding", encoding)
			w := httptest.NewRecorder()
			newBusy().Handler().ServeHTTP(w, r)
			body := io.Reader(w.Body)
			if encoded := w.Header().Get("Content-Encoding"); (encoded == "gzip") != (encoding != "") {
				t.Errorf("Accept-Encoding %q: Content-Encoding = %q", encoding, encoded)
			} else if encoded != "" {
				unzipped, err := gzip.NewReader(body)
				if err != nil {
					t.Fatal(err)
				}
				body = unzipped
			}
			got, err := io.ReadAll(body)
			if err != nil || w.Code != 200 {
				t.Fatalf("Accept %q: status %d, %v", tt.accept, w.Code, err)
			}
			if kind := w.Header().Get("Content-Type"); tt.kind != "" && kind != tt.kind {
				t.Errorf("Accept %q: Content-Type = %q, want %q", tt.accept, kind, tt.kind)
			}
			if tt.file == "" {
				continue
			}
			path := filepath.Join("testdata", tt.file)
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if string(got) != string(want) {
				t.Errorf("Accept %q exposes\n%s\nwant\n%s", tt.accept, got, want)
			}
		}
	}
}
