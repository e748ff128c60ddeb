package output_test

import (
	"regexp"
	"testing"
	"testing/synctest"

	"ptyctl/session"
)

func TestWaitForLooksAtTheUnfinishedLine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, far := start(t, 0, session.Options{})
		put(t, far, "Continue? (y/n)")
		wait := []*regexp.Regexp{re(`\(y/n\)\s*$`)}
		if c := s.Read(t.Context(), session.ReadRequest{WaitFor: wait, NoWait: true}); c.Reason != session.ReasonInput {
			t.Errorf("a question: %s", c.Reason)
		}
		if c := s.Read(t.Context(),
			session.ReadRequest{Cursor: s.End(), WaitFor: wait, NoWait: true}); c.Reason != session.ReasonTimeout {
			t.Errorf("a question from before: %s", c.Reason)
		}
		from := s.End()
		put(t, far, " ")
		if c := s.Read(t.Context(),
			session.ReadRequest{
				Cursor: from, WaitFor: []*regexp.Regexp{re(`y/n`)},
				NoWait: true,
			}); c.Reason != session.ReasonTimeout {
			t.Errorf("a question from before, in a line that goes on: %s", c.Reason)
		}
		put(t, far, "y\r\nmore (y/n) text\r\n")
		if c := s.Read(t.Context(), session.ReadRequest{WaitFor: wait, NoWait: true}); c.Reason != session.ReasonTimeout {
			t.Errorf("an answered question: %s", c.Reason)
		}
	})
}
