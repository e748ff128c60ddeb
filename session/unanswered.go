package session

import (
	"fmt"
	"slices"
	"strings"

	"ptyctl/term"
)

// maxUnanswered is how many logins at one host, as one user, may wait for answers of the same caller. A caller who
// opens more has not seen the questions: each of those logins would hold a connection that the server counts
// (sshd_config(5) MaxStartups).
const maxUnanswered = 2

// unanswered refuses the open of s if too many of its caller's logins at the same place wait for an answer.
func (m *Manager) unanswered(s *Session, by term.Principal) error {
	m.mu.Lock()
	var same []*Session
	for _, other := range m.sessions {
		if other.o.managed.account == s.o.managed.account && other.o.Origin.Protocol == s.o.Origin.Protocol &&
			other.o.Origin.Opener.Principal() == by {
			same = append(same, other)
		}
	}
	m.mu.Unlock()
	// Without mu: see Manager.
	var waiting []string
	for _, other := range same {
		if other.life.question() != nil {
			waiting = append(waiting, other.id)
		}
	}
	if len(waiting) < maxUnanswered {
		return nil
	}
	slices.Sort(waiting)
	return &term.Error{
		Op: "open", Kind: term.Busy, Reason: term.ReasonLoginsWait,
		Msg: fmt.Sprintf("%d of your logins at %s wait for an answer: %s",
			len(waiting), s.o.managed.account, strings.Join(waiting, ", ")),
		Advice: "answer with Session.Write, or close them",
		Facts:  term.Facts{term.Unanswered{Sessions: waiting}},
	}
}
