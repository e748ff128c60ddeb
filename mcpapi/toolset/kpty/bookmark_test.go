package kpty

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"ptyctl/mcpapi/identity"
	"ptyctl/session"
	"ptyctl/term"
)

// A bookmark is removed after its session.
func TestBookmarksEnd(t *testing.T) {
	a := newAgent(t, setting{sessions: session.Config{Retention: time.Nanosecond}})
	b := NewBookmarks()
	listed := func(s *session.Session) bool {
		now, err := a.manager.Get(s.ID())
		return err == nil && now == s
	}
	var last *session.Session
	for range 4 {
		id := a.spawn("/bin/cat")
		s, err := a.manager.Get(id)
		if err != nil {
			t.Fatal(err)
		}
		if last != nil {
			a.ok(`{"action":"kill","session_id":%s}`, last.ID())
			for slices.ContainsFunc(a.manager.List(), func(i session.Info) bool { return i.ID == last.ID() }) {
				time.Sleep(time.Millisecond)
			}
		}
		m := b.get(reading{s: s}, listed)
		m.move(7)
		if m.move(3); b.get(reading{s: s}, listed).place() != 7 {
			t.Error("bookmark moved from 7 to 3, want it to stay at 7")
		}
		if b.get(reading{s, reader{onlyReads: true, client: term.Principal{Token: "r"}}}, listed).place() != 0 {
			t.Error("a read-only caller shares the agent's bookmark, want its own at 0")
		}
		if len(b.of) != 2 {
			t.Errorf("bookmarks = %d, want 2", len(b.of))
		}
		last = s
	}
}

// Callers that may only read take no output away from the agent or from each other.
func TestReadersApart(t *testing.T) {
	a := newAgent(t, setting{})
	one, other := identity.Caller{
		Transport: "http",
		Token:     "one",
		ReadOnly:  true,
	}, identity.Caller{
		Transport: "http",
		Token:     "other",
		ReadOnly:  true,
	}
	id := a.spawn("/bin/cat")
	readers := []*agent{a.as(one), a.as(other), a}
	say := func(word string) { a.ok(`{"action":"write","session_id":%s,"data":%s}`, id, word+"\n") }
	for _, word := range []string{"first", "second"} {
		say(word)
		for _, reader := range readers {
			// The word comes twice: the terminal's echo and the answer of cat.
			all := reader.until(id, word+"\n"+word+"\n")
			if strings.Contains(all, "first") != (word == "first") {
				t.Errorf("read after %s = %q, want only new output", word, all)
			}
		}
	}

	_, answer := readers[0].start(
		"tools/call",
		fmt.Sprintf(`{"name":"k_pty","arguments":{"action":"read","session_id":%q,"timeout_ms":30000}}`, id),
	)
	s, err := a.manager.Get(id)
	if err != nil {
		t.Fatal(err)
	}
	for s.Info().Readers == 0 {
		time.Sleep(time.Millisecond)
	}
	say("third")
	a.until(id, "third")
	if r := readers[0].reply(<-answer); !strings.HasPrefix("third\nthird\n", r.Output) || r.Output == "" {
		t.Errorf("waiting read = %s, want output third", r.text)
	}
	readers[1].until(id, "third")
	all := a.as(one).ok(`{"action":"read","session_id":%s,"timeout_ms":300}`, id).Output
	if strings.Contains(all, "second") {
		t.Errorf("read with the same token on another connection = %q, want no output read before", all)
	}
}
