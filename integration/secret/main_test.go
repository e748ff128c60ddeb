package secret

import (
	"context"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"ptyctl/internal/lab"
	"ptyctl/internal/leaktest"
	"ptyctl/secret"
	"ptyctl/session"
	"ptyctl/term"
)

func TestMain(m *testing.M) {
	lab.Record = true
	os.Exit(lab.Main(m, nil))
}

// A vault is a source with a fixed value. It answers once its door is open.
type vault struct {
	value string
	asked chan struct{} // gets a token for each request; nil: it is always open
	door  chan error    // why there is no value; nil: there is one
}

// Fetch implements source.Source.
func (v vault) Fetch(ctx context.Context) ([]byte, error) {
	if v.asked != nil {
		v.asked <- struct{}{}
		select {
		case err := <-v.door:
			if err != nil {
				return nil, err
			}
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	return []byte(v.value), nil
}

// named makes a secret with the value.
func named(tb testing.TB, name, value string, change func(*secret.Definition)) secret.Definition {
	tb.Helper()
	leaktest.Secret(tb, value)
	d := secret.Definition{Name: name, Source: vault{value: value}}
	change(&d)
	return d
}

// types types a secret by name, at the question that the pattern matches once text was typed, and waits for the answer
// of the program.
func types(t *testing.T, s *session.Session, text, asks, name, answer string) {
	t.Helper()
	if text != "" {
		lab.TypeUntil(t, s, text, asks)
	}
	w, err := s.Write(t.Context(), nil, session.WriteOptions{Secret: name})
	if err != nil {
		t.Errorf("after %q the secret %s is refused: %v; the terminal shows %q", text, name, err, lab.Screenful(s))
		s.Write(t.Context(), nil, session.WriteOptions{Key: "ctrl_c"})
		return
	}
	if w.Written != 1 || w.Answered {
		t.Errorf("the write of %s reports %+v, want one byte, whatever the length of the value", name, w)
	}
	lab.ReadUntil(t, s, w.Cursor, answer)
}

// refuses types text until the terminal shows the pattern, and wants a secret refused by a rule, with nothing typed. It
// leaves the program with ctrl_c if leave has a pattern for the terminal after that.
func refuses(t *testing.T, s *session.Session, text, shows, name, rule string, leave ...string) {
	t.Helper()
	if text != "" {
		lab.TypeUntil(t, s, text, shows)
	}
	before := s.Info()
	_, err := s.Write(t.Context(), nil, session.WriteOptions{Secret: name})
	if got := term.FactOf[term.Denial](err).Rule; got != rule || term.KindOf(err) != term.PolicyDenied {
		t.Errorf("after %q the secret %s is refused by %q (%v), want %q", text, name, got, err, rule)
	}
	if after := s.Info(); !after.LastOut.Equal(before.LastOut) { // BytesOut has answers to queries, too
		t.Errorf("after %q, some of %d bytes were typed in spite of the refusal", text, after.BytesOut-before.BytesOut)
	}
	if len(leave) > 0 {
		// A program that has just asked may drop keys typed at that moment (TCSAFLUSH).
		lab.Eventually(t, "the end of the question", func() bool {
			w, err := s.Write(t.Context(), []byte("\x03"), session.WriteOptions{})
			c := s.Read(t.Context(), session.ReadRequest{Cursor: w.Cursor, Until: regexp.MustCompile(leave[0]), Timeout: 2 * time.Second})
			return err == nil && c.Reason == session.ReasonMatched
		})
	}
}

// prompts are the expressions of a secret's questions.
func prompts(texts ...string) (list []*regexp.Regexp) {
	for _, text := range texts {
		list = append(list, regexp.MustCompile(text))
	}
	return list
}

// uses returns the names of the secrets that were used, in order.
func uses(events []term.Event) string {
	var list []string
	for _, e := range events {
		if e.Refused == nil {
			list = append(list, strings.Fields(e.Detail)[0])
		}
	}
	return strings.Join(list, " ")
}
