package session

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"ptyctl/term"
)

// A session that nobody wants any more is gone at once with its memory, and is told of as gone once; one that lives stays,
// and so does another that has got its name.
func TestForget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		told := new(collector)
		m := NewManager(
			Config{
				MaxSessions: 2,
				Retention:   time.Minute,
				Observers:   []term.Observer{told},
				Dialers: map[string]term.Dialer{
					"local": func(context.Context, term.Target, term.Prompter, term.Approve) (term.Transport, error) {
						return newFakeProgram("", 0), nil
					},
				},
			},
		)
		open := func() *Session {
			t.Helper()
			r, err := m.Open(
				t.Context(),
				OpenRequest{
					ID:     "pty_a1b2c3d4",
					Target: term.Target{Protocol: "local", Local: term.LocalOptions{Argv: []string{"sh"}}},
				},
			)
			if err != nil {
				t.Fatal(err)
			}
			return r.Session
		}
		there := func() bool {
			s, err := m.Get("pty_a1b2c3d4")
			return err == nil && s != nil
		}
		s := open()
		if m.Forget(s); !there() {
			t.Error("a session that lives was forgotten")
		}
		s.Close(t.Context(), CloseOptions{})
		if m.Forget(s); there() || m.Buffered() != 0 {
			t.Errorf("closed and forgotten: there %t, %d bytes are held", there(), m.Buffered())
		}
		m.Forget(s)

		ended := open()
		_ = ended.link.Load().Close() // the program ends by itself
		<-ended.Ended()
		if !there() {
			t.Error("it is not kept")
		}
		if m.Forget(ended); there() || m.Buffered() != 0 || len(m.exited) != 0 {
			t.Errorf("ended and forgotten: there %t, %d bytes are held, %d kept", there(), m.Buffered(), len(m.exited))
		}

		same := open()
		time.Sleep(time.Hour)
		if m.Forget(s); !there() {
			t.Error("another session of the same name was forgotten")
		}
		same.Close(t.Context(), CloseOptions{})
		time.Sleep(2 * time.Minute)
		if there() {
			t.Error("it is kept longer than it is to be")
		}
		gone := 0
		for _, e := range told.all() {
			if e.Verb == term.VerbGone {
				gone++
			}
		}
		if gone != 3 {
			t.Errorf("%d sessions are told of as gone, want 3", gone)
		}
	})
}
