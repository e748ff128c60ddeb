package client

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"ptyctl/internal/tty"
	"ptyctl/mcpapi/questions"
)

// An OpenQuestion is a question that waits for a person.
type OpenQuestion struct {
	PID int `json:"pid,omitempty"`
	questions.Question

	Process  *Process `json:"-"` // that asks
	ReadOnly bool     `json:"-"` // people may not answer it there
}

// Questions returns all questions that wait, the oldest first.
func (all Processes) Questions(ctx context.Context) ([]OpenQuestion, error) {
	found := []OpenQuestion{}
	for _, p := range all {
		list, err := p.Client.Questions(ctx, "", 0)
		if err != nil {
			return nil, fmt.Errorf("%v: %w", p, err)
		}
		for _, q := range list.Questions {
			found = append(found, OpenQuestion{
				PID: p.PID, Question: q, Process: p, ReadOnly: list.Mode == questions.ModeReadOnly,
			})
		}
	}
	slices.SortStableFunc(found, func(a, b OpenQuestion) int { return cmp.Compare(a.Since, b.Since) })
	return found, nil
}

// Consent reports whether q is about a call that needs a person's consent.
func (q *OpenQuestion) Consent() bool { return q.Kind == questions.KindConsent }

// Value reports whether a call needs the value of a secret, which is not a question of a login.
func (q *OpenQuestion) Value() bool { return q.Kind == questions.KindSecret }

// Call reports whether a call asks, and not a host.
func (q *OpenQuestion) Call() bool { return q.Consent() || q.Value() }

// Who names who asks, in words that are safe to print.
func (q *OpenQuestion) Who() string {
	if !q.Call() {
		return q.where()
	}
	who := cmp.Or(q.Asker.Client, "a client") + " over " + cmp.Or(q.Asker.Transport, "the library")
	for _, part := range []struct{ name, value string }{
		{"task", q.Asker.Task}, {"token", q.Asker.Token}, {"conversation", q.Asker.Shim},
	} {
		if part.value != "" {
			who += ", " + part.name + " " + part.value
		}
	}
	return tty.Printable(who)
}

// where names the host, in words that are safe to print.
func (q *OpenQuestion) where() string {
	where := q.Host
	if q.User != "" {
		where = q.User + "@" + where
	}
	if q.Call() && q.Protocol == "local" {
		where = "this machine"
	}
	return tty.Printable(where)
}

// About names the session, or the question if it has none.
func (q *OpenQuestion) About() string { return tty.Printable(cmp.Or(q.SessionID, q.ID)) }

// Line describes the question in one line.
func (q *OpenQuestion) Line(now time.Time) string {
	text := tty.Printable(strings.TrimSpace(q.Text))
	left := time.UnixMilli(q.Expires).Sub(now).Round(time.Second)
	if !q.Call() {
		return fmt.Sprintf("%s: %s asks (%s): %s", q.About(), q.Who(), tty.Printable(q.Kind), text)
	}
	return fmt.Sprintf("%s: %s asks to %s on %s: %s (%s; %s left)", tty.Printable(q.ID), q.Who(), q.verb(), q.where(), text,
		tty.Printable(q.Rule), max(left, 0))
}

// verb describes the action of a call that needs consent.
func (q *OpenQuestion) verb() string {
	switch {
	case q.Secret != "":
		return "use the secret " + tty.Printable(q.Secret) + " (" + tty.Printable(q.Action) + ")"
	case q.Typed:
		return "type"
	}
	return "run"
}

// verbThis is verb with its object, where that is shown below.
func (q *OpenQuestion) verbThis() string {
	if q.Secret != "" {
		return q.verb()
	}
	return q.verb() + " this"
}

// wish says how the person answers.
func (q *OpenQuestion) wish() string {
	if q.Value() {
		return "asks for its value"
	}
	extent := q.Extent()
	switch {
	case !q.Lasting:
	case q.SessionID == "":
		extent += " of this caller there"
	default:
		extent += " of this caller in this session"
	}
	return "asks for a person's consent to " + extent
}

// Extent says in a few words how much a person agrees to.
func (q *OpenQuestion) Extent() string {
	if q.Lasting {
		return "this and all later uses"
	}
	return "this one call"
}

// Show describes a call that needs consent, in lines. Each line of the caller's is marked, so that it cannot pass for a
// line of ptyctl.
func (q *OpenQuestion) Show() string {
	var b strings.Builder
	fmt.Fprintf(&b, "[ptyctl: %s wants to %s on %s", q.Who(), q.verbThis(), q.where())
	if q.SessionID != "" {
		fmt.Fprintf(&b, ", session %s", tty.Printable(q.SessionID))
	}
	fmt.Fprintf(&b, "; the rule %s %s]\n", tty.Printable(q.Rule), q.wish())
	quote := func(title, text string) {
		if text == "" {
			return
		}
		b.WriteString(title + "\n")
		for line := range strings.SplitSeq(strings.TrimRight(text, "\n"), "\n") {
			b.WriteString("| " + tty.Printable(line) + "\n")
		}
	}
	quote("in the folder:", q.Dir)
	quote("with the variables:", strings.Join(q.Env, "\n"))
	title := "to " + q.verb() + ":"
	if q.Secret != "" {
		title = "for:"
	}
	quote(title, q.Text)
	return b.String()
}

// Status returns the present status of the session.
func (s *Session) Status(ctx context.Context) (now StatusResult, err error) {
	err = s.Process.Call(ctx, ToolSession, SessionCall{Action: "status", SessionID: s.SessionID}, &now)
	return now, err
}
