package session_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"ptyctl/session"
)

// found renders a result as "number:text" lines, matches marked with *.
func found(r session.SearchResult) string {
	var b strings.Builder
	for _, l := range r.Lines {
		mark := ""
		if l.Match {
			mark = "*"
		}
		fmt.Fprintf(&b, "%d%s:%s ", l.Number, mark, l.Text)
	}
	return strings.TrimSpace(b.String())
}

func TestSearch(t *testing.T) {
	s, far := start(t, 0, session.Options{BufferBytes: 1 << 10})
	const text = "one\r\ntwo\nthree\nfour\nfive\nthirty"
	go func() { _, _ = far.Write([]byte(text)) }()
	s.Read(t.Context(), session.ReadRequest{Cursor: 0, Until: re("thirty$"), Timeout: 10 * time.Second})

	for _, c := range []struct {
		r    session.SearchRequest
		want string
		more bool
	}{
		{session.SearchRequest{Pattern: re("o")}, "1*:one 2*:two 4*:four", false},
		{session.SearchRequest{Pattern: re("^th")}, "3*:three 6*:thirty", false},
		{session.SearchRequest{Pattern: re("four"), Context: 1}, "3:three 4*:four 5:five", false},
		{session.SearchRequest{Pattern: re("two|four"), Context: 1}, "1:one 2*:two 3:three 4*:four 5:five", false},
		{session.SearchRequest{Pattern: re("e$"), Max: 2}, "1*:one 3*:three", true},
		{session.SearchRequest{Pattern: re("e$"), Cursor: 9}, "3*:three 5*:five", false},
		{session.SearchRequest{Pattern: re("nothing")}, "", false},
		{session.SearchRequest{Pattern: re(""), Cursor: 1 << 40}, "", false},
	} {
		got := s.Search(t.Context(), c.r)
		if found(got) != c.want || got.More != c.more {
			t.Errorf("%v from %d: %q, more %t; want %q, %t", c.r.Pattern, c.r.Cursor, found(got), got.More, c.want, c.more)
		}
		if got.More {
			c.r.Cursor = got.Next
			if rest := s.Search(t.Context(), c.r); found(rest) != "5*:five" || rest.More {
				t.Errorf("the rest: %q", found(rest))
			}
		}
	}
}

// What is dropped is said, and numbers count from what is held.
func TestSearchDropped(t *testing.T) {
	s, far := start(t, 0, session.Options{BufferBytes: 64})
	go func() { _, _ = far.Write([]byte(strings.Repeat("0123456\n", 100) + "end")) }()
	s.Read(t.Context(), session.ReadRequest{Cursor: 0, Until: re("end$"), Timeout: 10 * time.Second})
	got := s.Search(t.Context(), session.SearchRequest{Pattern: re("6$|end"), Max: 1000})
	if got.Dropped != 803-64 || got.Matches != 9 {
		t.Errorf("dropped %d, %d matches: %s", got.Dropped, got.Matches, found(got))
	}
}
