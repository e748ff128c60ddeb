package text_test

import (
	"context"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"ptyctl/session"
	"ptyctl/session/internal/sessiontest"
	"ptyctl/term"
)

// writing is a command that writes the texts it gets, to stdout, or behind a ! to stderr, until they end.
func writing(next <-chan string) func(context.Context, term.ExecRequest, io.Writer, io.Writer) (term.Exit, error) {
	return func(_ context.Context, _ term.ExecRequest, stdout, stderr io.Writer) (term.Exit, error) {
		for text := range next {
			if errs, ok := strings.CutPrefix(text, "!"); ok {
				_, _ = io.WriteString(stderr, errs)
			} else {
				_, _ = io.WriteString(stdout, text)
			}
		}
		return term.Exit{Known: true, Code: 3}, nil
	}
}

// While a command runs, each result has the whole lines that are new; a line is judged with all of it, also if another
// result has had its beginning.
func TestExecMatchGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		next := make(chan string, 1)
		next <- "a1\nb1\na"
		s := sessiontest.StartExec(t, writing(next), session.Options{})
		f := &session.Filter{Pattern: re("^a"), Clean: true}
		got := sessiontest.Run(t, s, session.ExecRequest{Command: "x", Timeout: time.Hour, Wait: time.Second, Match: f})
		check := func(step string, want string, matches, lines int) {
			t.Helper()
			l := got.StdoutLines
			if l == nil || string(l.Text) != want || l.Matches != matches || l.Lines != lines {
				t.Errorf("%s: %+v; want %q, %d of %d lines", step, l, want, matches, lines)
			}
		}
		more := func(text string, r session.ContinueRequest) {
			t.Helper()
			if text != "" {
				next <- text
			}
			synctest.Wait()
			r.New = true
			var err error
			if got, err = s.ContinueExec(t.Context(), got.ID, r); err != nil {
				t.Fatal(err)
			}
		}
		check("the start", "a1\n", 1, 2)
		more("", session.ContinueRequest{Match: f})
		check("nothing new", "", 0, 0)
		more("2\nb2\n", session.ContinueRequest{})
		check("the line whose beginning is known", "a2\n", 1, 2)
		more("b3\na3\n", session.ContinueRequest{Match: &session.Filter{Pattern: re("^b"), Context: 1}})
		check("another filter", "b3\na3\n", 1, 2)
		more("c\na4\nb4\nc\n", session.ContinueRequest{})
		check("that filter, with its context", "a4\nb4\nc\n", 1, 4)
		other, err := s.ContinueExec(term.WithActor(t.Context(), term.Actor{Transport: "http", Token: "other"}), got.ID, session.ContinueRequest{New: true})
		if l := other.StdoutLines; err != nil || l == nil || string(l.Text) != "a1\na2\na3\na4\n" || l.Lines != 10 {
			t.Errorf("another caller: %+v, %v; want the lines that the first filter leaves", l, err)
		}
		more("b5", session.ContinueRequest{})
		check("an unfinished line", "", 0, 0)
		k, err := s.ReadExec(t.Context(), got.ID, "stdout", session.ReadRequest{NoWait: true})
		if err != nil || string(k.Data) != "a1\nb1\na2\nb2\nb3\na3\nc\na4\nb4\nc\nb5" {
			t.Errorf("a read: %q, %v; want all lines", k.Data, err)
		}
		close(next)
		more("", session.ContinueRequest{})
		check("the end", "b5", 1, 1)
		if got.Done != session.DoneExitStatus || got.Exit.Code != 3 || got.ID == "" {
			t.Errorf("the end: %s, exit %d, id %q; want exit status 3, and an id for the other lines", got.Done, got.Exit.Code, got.ID)
		}
	})
}

// A stderr that is short comes whole; bytes no longer held are counted.
func TestExecMatchOfBothStreams(t *testing.T) {
	for _, c := range []struct {
		name, out, errs string
		keep            int
		stdout          string
		lines           int
		unsearched      int64
		filtered        bool
		id              bool
	}{
		{"all lines match", "a\na\n", "", 0, "a\na\n", 2, 0, false, false},
		{"some do", "a\nb\n", "", 0, "a\n", 2, 0, false, true},
		{"a short stderr", "a\n", strings.Repeat("b\n", 1000), 0, "a\n", 1, 0, false, false},
		{"a long stderr", "a\n", strings.Repeat("b\n", 1001), 0, "a\n", 1, 0, true, true},
		{"more than is held", strings.Repeat("a1234567890\n", 10_000), "", 1200, "", 5461 + 1 + 99, 120_000 - 65_536 - 1200 + 12, false, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				next := make(chan string, 2)
				next <- c.out
				next <- "!" + c.errs
				close(next)
				s := sessiontest.StartExec(t, writing(next), session.Options{ExecBytes: c.keep})
				got := sessiontest.Run(t, s, session.ExecRequest{
					Command: "x", MaxOutput: 1 << 20, Match: &session.Filter{Pattern: re("^a"), Clean: true},
				})
				l := got.StdoutLines
				if c.stdout != "" && string(l.Text) != c.stdout || l.Unsearched != c.unsearched || got.Exit.Code != 3 {
					t.Errorf("stdout is %.100q of %d lines, %d bytes unsearched; want %q, %d", l.Text, l.Lines, l.Unsearched, c.stdout, c.unsearched)
				}
				if l.Lines != c.lines {
					t.Errorf("stdout has %d lines, want %d", l.Lines, c.lines)
				}
				if (got.StderrLines != nil) != c.filtered || !c.filtered && string(got.Stderr.Bytes()) != c.errs {
					t.Errorf("stderr is filtered %v, want %v; %d bytes of %d", got.StderrLines != nil, c.filtered, len(got.Stderr.Bytes()), len(c.errs))
				}
				if (got.ID != "") != c.id {
					t.Errorf("id %q, want one: %v", got.ID, c.id)
				}
			})
		})
	}
}

// BenchmarkExecMatch compares a result with the lines that match with one that has the two ends of 1 MiB.
func BenchmarkExecMatch(b *testing.B) {
	var out strings.Builder
	for i := 0; out.Len() < 1<<20-100; i++ {
		fmt.Fprintf(&out, "2026-01-02T03:04:05Z host app[%d]: request %d took %d ms\n", i%97, i, i%1000)
	}
	next := make(chan string, 1)
	next <- out.String()
	close(next)
	s := sessiontest.StartExec(b, writing(next), session.Options{})
	got, err := s.Exec(b.Context(), session.ExecRequest{Command: "x"})
	if err != nil {
		b.Fatal(err)
	}
	result := func(f *session.Filter) {
		if _, err := s.ContinueExec(b.Context(), got.ID, session.ContinueRequest{Match: f}); err != nil {
			b.Fatal(err)
		}
	}
	var filtered, plain time.Duration
	for b.Loop() {
		filtered += since(func() { result(&session.Filter{Pattern: re(`took 99\d ms`), Clean: true}) })
		plain += since(func() { result(nil) })
	}
	b.ReportMetric(float64(filtered.Milliseconds())/float64(b.N), "ms/filtered")
	b.ReportMetric(float64(plain.Microseconds())/float64(b.N), "us/plain")
}
