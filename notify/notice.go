package notify

import (
	"cmp"
	"os"
	"strings"
	"time"

	"ptyctl/term"
)

// Events of a Notice.
const (
	EventQuestion = "question" // a person is asked
	EventEnded    = "ended"    // a session has ended
)

// KindConsent is the Kind of a call that needs a person's consent. The other kinds are those of a login (password,
// passphrase, challenge, host_key), and those of a program in a terminal, which begin with TerminalKind.
const (
	KindConsent  = "consent"
	TerminalKind = "terminal "
)

// A Notice is what people are told of.
type Notice struct {
	Event    string    `json:"event"`
	Kind     string    `json:"kind,omitempty"` // of the question
	Time     time.Time `json:"time"`
	Session  string    `json:"session_id,omitempty"`
	Protocol string    `json:"protocol,omitempty"`
	Host     string    `json:"host,omitempty"`  // as the caller wrote it
	State    string    `json:"state,omitempty"` // of a session that has ended: closed or error
	Code     string    `json:"error_code,omitempty"`
	Rule     string    `json:"rule,omitempty"`   // of a consent: that asks
	Answer   string    `json:"answer,omitempty"` // the command that answers it
	Machine  string    `json:"machine,omitempty"`
	PID      int       `json:"pid"`
	Version  string    `json:"version,omitempty"`
}

// maxText is the longest text of a notice, in bytes.
const maxText = 256

// noticeOf returns the notice of an event, if there is one.
func noticeOf(e term.Event) (n Notice, ok bool) {
	shown := func(text string) string { return term.ForeignLine(text, maxText) }
	n = Notice{
		Time: e.Time.UTC(), Session: shown(e.Session), Protocol: shown(e.Protocol), Host: shown(e.Host), PID: os.Getpid(),
	}
	switch {
	case e.Verb == term.VerbQuestion:
		n.Event, n.Kind = EventQuestion, shown(e.Detail)
		if !strings.HasPrefix(n.Kind, TerminalKind) {
			n.Answer = "ptyctl answer " + n.Session
		} else {
			n.Answer = "ptyctl attach --take " + n.Session
		}
	case e.Verb == term.VerbConsent && e.State == "asked":
		n.Event, n.Kind, n.Rule, n.Answer = EventQuestion, KindConsent, shown(e.Consent), "ptyctl answer"
	case e.Verb == term.VerbState && (e.State == "closed" || e.State == "error"):
		n.Event, n.State = EventEnded, e.State
		if e.Err != nil {
			n.Code = string(cmp.Or(term.KindOf(e.Err), term.Internal))
		}
	default:
		return Notice{}, false
	}
	return n, true
}
