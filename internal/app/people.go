package app

import (
	"fmt"
	"net/http"

	"ptyctl/config"
	"ptyctl/consent"
	"ptyctl/mcpapi/identity"
	"ptyctl/mcpapi/questions"
	"ptyctl/ptyx"
	"ptyctl/term"
)

// observeAudit records an event that is no session's.
func (a *App) observeAudit(e term.Event) {
	if a.audit != nil {
		a.audit.Observe(e)
	}
}

// offerQuestions makes the list of questions that people answer at the control socket.
func (a *App) offerQuestions() {
	var board *questions.Board
	record := a.observeAudit
	a.consents = consent.NewBook(consent.Options{
		TTL: a.cfg.Policy.ConsentTTL,
		Journal: func(e term.Event) error {
			if a.audit == nil || !a.cfg.Audit.FailClosed {
				return nil
			}
			return a.audit.Journal(e)
		},
		Observe: func(e term.Event) {
			record(e)
			if a.notices != nil {
				a.notices.Observe(e)
			}
		},
		Changed: func() { board.Changed() },
	})
	board = questions.New(questions.Options{Consents: a.consents, Refuse: refuseAnswer, Observe: record, Version: a.version})
	a.questions = board
}

// refuseAnswer refuses the programs of this process's sessions: an agent would answer its own questions there.
func refuseAnswer(pid int) error {
	if !ptyx.Started(pid) {
		return nil
	}
	return fmt.Errorf("process %d was started by this ptyctl, or has ended: programs of its sessions may not answer "+
		"questions or watch for a person; use a terminal that ptyctl has not opened", pid)
}

// unjudged reports whether an action is typing by a person that the rules do not judge: a person who has taken a
// terminal at a control socket with a token. Without the token any program of this account, an agent's own shell too,
// could take a terminal as a person and type past the rules; and programs that this process has started may have read
// the token. At the watch page each person has a token, and refuseVisit has refused such programs.
func unjudged(cfg config.Config) func(term.Action) bool {
	token := cfg.Server.Control.ControlAuthToken.Reveal() != ""
	return func(a term.Action) bool {
		by := a.Actor
		if a.Verb != term.VerbWrite || !by.Operator || by.Attachment == (term.Attachment{}) {
			return false
		}
		return by.Transport == identity.PageTransport || token && refuseAnswer(by.PID) == nil
	}
}

// watchable refuses the programs of this process's sessions where people watch.
func watchable(feed http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := refuseAnswer(identity.FromContext(r.Context()).PID); err != nil {
			http.Error(w, err.Error(), http.StatusForbidden)
			return
		}
		feed.ServeHTTP(w, r)
	})
}
