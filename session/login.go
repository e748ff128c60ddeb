package session

import (
	"context"
	"crypto/rand"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"ptyctl/session/access"
	"ptyctl/term"
)

// etx is the character of ctrl_c: as an answer, it declines.
const etx = "\x03"

// A question is a Prompt that waits for its answer.
type question struct {
	id       string // which no other question has
	since    time.Time
	question term.Prompt
	answer   chan string   // buffered: the goroutine that takes the question may send one answer
	cancel   chan struct{} // closed instead, when the person declines
	over     chan struct{} // closed when the question takes no answer any more
}

// Prompt implements term.Prompter for the session's own Dialer. It shows q in the output, and waits until a caller
// answers it with Write or declines it, or the time for answers is over.
func (s *Session) Prompt(ctx context.Context, q term.Prompt) (string, error) {
	q = s.known.Prompt(q)
	p := &question{
		id: "q-" + rand.Text()[:16], since: time.Now(), question: q,
		answer: make(chan string, 1), cancel: make(chan struct{}), over: make(chan struct{}),
	}
	ask := func() error { return s.life.ask(p, func(text string) { _, _ = s.buf.Write([]byte(text)) }) }
	if err := s.owner.mayAsk(s, ask); err != nil {
		return "", err
	}
	defer s.life.withdraw(p)
	s.auth.Observe(term.Event{Verb: term.VerbQuestion, Detail: string(q.Kind)})

	timer := time.NewTimer(s.o.PromptTimeout)
	defer timer.Stop()
	for {
		select {
		case a := <-p.answer:
			if q.Secret != "" {
				hideAnswer(s, q, a)
			}
			_, _ = s.buf.Write([]byte("\r\n"))
			return a, nil
		case <-p.cancel:
			return "", sessionError("open", s.id, term.Canceled, "the question was declined with ctrl_c")
		case <-timer.C:
			if !s.life.withdraw(p) {
				continue // an answer was accepted already, and is on its way
			}
			return "", &term.Error{
				Op:      "open",
				Session: s.id,
				Kind:    term.AuthFailed,
				Msg:     "the question of the login was not answered within " + s.o.PromptTimeout.String(),
				Facts:   term.Facts{q},
			}
		case <-ctx.Done():
			return "", context.Cause(ctx)
		}
	}
}

// hideAnswer hides the value of a secret that a person has given.
func hideAnswer(s *Session, q term.Prompt, answer string) {
	v := term.RedactedValue{Value: []byte(answer), Session: s.id}
	if s.owner.login != nil {
		if hops := s.owner.login.planned().Hops; q.Hop < len(hops) {
			v.Host = term.Place(hops[q.Hop].Host, hops[q.Hop].Port)
		}
	}
	s.known.Redact(v)
	clear(v.Value)
}

// trimLineEnd removes one trailing CR LF, CR or LF.
func trimLineEnd(p []byte) []byte {
	if n := len(p); n > 0 && p[n-1] == '\n' {
		p = p[:n-1]
	}
	if n := len(p); n > 0 && p[n-1] == '\r' {
		p = p[:n-1]
	}
	return p
}

// ask makes p the question that waits, and shows it.
func (l *life) ask(p *question, show func(text string)) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.ctx.Err() != nil:
		return context.Cause(l.ctx)
	case l.state == Open: // later input is for the terminal
		return sessionError("open", l.session, term.Unsupported,
			"a question can only be asked while the session is opening: "+p.question.Text)
	}
	// Text and question change under one mutex: an answer to the text finds the question.
	show(p.question.Text)
	l.asked = p
	l.set(Authenticating)
	return nil
}

// withdraw removes p and reports whether it still waited.
func (l *life) withdraw(p *question) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.asked != p {
		return false
	}
	l.settle()
	l.set(l.state)
	return true
}

// settle takes the question that waits, if there is one, off. Requires l.mu.
func (l *life) settle() {
	if l.asked != nil {
		close(l.asked.over)
		l.asked = nil
	}
}

// question returns the question that waits, or nil.
func (l *life) question() *question {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.asked
}

// prompt returns the question that waits for an answer, or nil. Requires l.mu.
func (l *life) prompt() *term.Prompt {
	if l.asked == nil {
		return nil
	}
	q := l.asked.question
	return &q
}

// asks reports whether the login waits for an answer, and returns a channel that is closed when that may change.
func (l *life) asks() (bool, <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.asked != nil, l.changed
}

// A Question is one question of a login. An answer to it that comes late, when another question waits, never
// answers that one.
type Question struct {
	s     *Session
	asked *question
}

// Question returns the question that waits for an answer, or nil.
func (s *Session) Question() *Question {
	if asked := s.life.question(); asked != nil {
		return &Question{s: s, asked: asked}
	}
	return nil
}

// Session returns the session that asks.
func (q *Question) Session() *Session { return q.s }

// ID returns the name of the question, which no other question has.
func (q *Question) ID() string { return q.asked.id }

// Since returns when it was asked, and until when it takes an answer.
func (q *Question) Since() (asked, expires time.Time) {
	return q.asked.since, q.asked.since.Add(q.s.o.PromptTimeout)
}

// Prompt returns the question.
func (q *Question) Prompt() term.Prompt { return q.asked.question }

// Over returns a channel that is closed when the question takes no answer any more: it was answered or declined, or
// its time or its session is over.
func (q *Question) Over() <-chan struct{} { return q.asked.over }

// Answer answers the question. One trailing line end is not part of the answer. If the question does not wait any
// more, the error is Busy. The text is not kept: the caller may overwrite it.
func (q *Question) Answer(ctx context.Context, text []byte) error {
	if string(text) == etx { // typed as text it is no key
		text = nil
	}
	return q.give(ctx, text)
}

// Decline declines, as ctrl_c does: the login fails.
func (q *Question) Decline(ctx context.Context) error { return q.give(ctx, []byte(etx)) }

// give gives data to the question, if that still waits. One trailing line end is not part of the answer. ETX (ctrl_c)
// alone declines.
func (q *Question) give(ctx context.Context, data []byte) (err error) {
	s, p := q.s, q.asked
	d := s.auth.Begin(
		ctx,
		term.VerbAnswer,
		term.Event{Size: len(data), Sensitive: true, Detail: string(p.question.Kind)},
	)
	defer func() { d.End(err) }()
	by := term.ActorFrom(ctx)
	if p.question.Secret != "" && !by.Operator && by.Via == "" && string(data) != etx {
		return sessionError("write", s.id, term.PolicyDenied, "the login asks for the operator's secret "+p.question.Secret+
			", which a person gives and not the caller: wait until they have answered, with ptyctl watch or ptyctl answer")
	}
	if by.Operator { // a task with the lock may be waiting for the operator's answer
		err = d.PermitUnlocked(ctx, term.Action{})
	} else {
		_, err = d.Permit(ctx, term.Action{})
	}
	if err != nil {
		return err
	}
	// Of several answers one takes the question off; the others are for nothing that waits.
	if !s.life.withdraw(p) {
		return sessionError("write", s.id, term.Busy,
			"another call answered this question first; read the session's state before answering again")
	}
	if string(data) == etx {
		close(p.cancel)
	} else {
		p.answer <- string(trimLineEnd(data))
	}
	s.input.Add(TxEvent{
		Verb: term.VerbAnswer, Task: access.HolderOf(term.ActorFrom(ctx)).String(), Sensitive: true,
		Step: access.StepFrom(ctx),
	})
	return nil
}

// maxUnanswered is how many logins at one host, as one user, may wait for answers of the same caller. A caller who
// opens more has not seen the questions: each of those logins would hold a connection that the server counts
// (sshd_config(5) MaxStartups).
const maxUnanswered = 2

// logins keeps the number of unanswered logins at one host within maxUnanswered.
type logins struct {
	// asking is held while a session asks its first question, so that two sessions never both take the last place.
	asking sync.Mutex
}

// A login is a Manager's knowledge of how a session logs in.
type login struct {
	asked bool // it has asked a question; guarded by logins.asking

	mu   sync.Mutex
	plan term.Plan // only the last host, as the caller spelled it, until the Dialer plans
}

// planned returns the plan of l.
func (l *login) planned() term.Plan {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.plan
}

// newLogin returns the login at t, which has no plan yet.
func newLogin(t term.Target) *login {
	return &login{plan: term.Plan{Hops: []term.PlannedHop{spelled(t)}}}
}

// spelled returns the last host of t as the caller spelled it.
func spelled(t term.Target) term.PlannedHop {
	return term.PlannedHop{Host: t.Host, Port: t.Port, User: t.User}
}

// account says where the caller of t wants to go: user@host:port, as far as the call names them.
func account(t term.Target) string { return place(spelled(t)) }

// planned returns approve for s. An approved plan becomes that of s, and is refused if a host on its route has too many
// unanswered logins already.
func (m *Manager) planned(s *Session, approve term.Approve) term.Approve {
	return func(ctx context.Context, p term.Plan) (term.Grant, error) {
		grant, err := approve(ctx, p)
		if err != nil || p.Unresolved {
			return grant, err
		}
		s.owner.login.mu.Lock()
		s.owner.login.plan = p
		s.owner.login.plan.Hops = slices.Clone(p.Hops)
		s.owner.login.mu.Unlock()
		for _, hop := range p.Hops {
			s.known.At(places(hop)...)
		}
		return grant, m.unanswered(s)
	}
}

// places are where a host of a plan is reached; see term.Place.
func places(h term.PlannedHop) []string {
	all := []string{term.Place(h.Host, h.Port)}
	for _, addr := range h.Addresses {
		all = append(all, term.Place(addr.String(), h.Port))
	}
	return all
}

// farPlaces are those of the host where the session leads, and its key: names with one key are one host.
func farPlaces(s *Session, hostKey string) []string {
	if s.owner.login == nil {
		return nil
	}
	plan := s.owner.login.planned()
	h := plan.Target()
	switch {
	case h == nil || h.Port == 0 && h.Host != "": // no plan was made
		return nil
	case hostKey == "":
		return places(*h)
	}
	return append(places(*h), hostKey)
}

// mayAsk runs ask, with which s asks a question, unless it would be one more unanswered login than a host may have. A
// login that has begun to ask goes on asking.
func (m *Manager) mayAsk(s *Session, ask func() error) error {
	m.logins.asking.Lock()
	defer m.logins.asking.Unlock()
	if !s.owner.login.asked {
		if err := m.unanswered(s); err != nil {
			return err
		}
	}
	s.owner.login.asked = true
	return ask()
}

// unanswered refuses the open of s if too many of its caller's logins at a host on its route wait for an answer.
func (m *Manager) unanswered(s *Session) error {
	by := s.o.Origin.Opener.Principal()
	m.mu.Lock()
	var others []*Session
	for _, other := range m.sessions {
		if other != s && other.o.Origin.Protocol == s.o.Origin.Protocol && other.o.Origin.Opener.Principal() == by {
			others = append(others, other)
		}
	}
	m.mu.Unlock()
	// Without mu: see Manager.
	route := s.owner.login.planned().Hops
	waiting := make([][]string, len(route)) // by hop
	for _, other := range others {
		asked := other.life.question()
		if asked == nil {
			continue
		}
		if hop := asked.question.Hop; hop < len(route) && sameRoute(route, other.owner.login.planned().Hops, hop) {
			waiting[hop] = append(waiting[hop], other.id)
		}
	}
	for i, ids := range waiting {
		if len(ids) < maxUnanswered {
			continue
		}
		slices.Sort(ids)
		return &term.Error{
			Op: "open", Kind: term.Busy, Reason: term.ReasonLoginsWait,
			Msg: fmt.Sprintf("%d of your logins at %s wait for an answer: %s",
				len(ids), place(route[i]), strings.Join(ids, ", ")),
			Advice: "answer with Session.Write, or close them",
			Facts:  term.Facts{term.Unanswered{Sessions: ids}},
		}
	}
	return nil
}

// sameRoute reports whether the routes a and b lead over the same hosts as far as the hop with the index last.
func sameRoute(a, b []term.PlannedHop, last int) bool {
	if last >= len(a) || last >= len(b) {
		return false
	}
	for i := range last + 1 {
		if !sameAccount(a[i], b[i]) {
			return false
		}
	}
	return true
}

// sameAccount reports whether a and b are the same user of the same host. Names that lead to one address are one host.
func sameAccount(a, b term.PlannedHop) bool {
	if a.User != b.User || a.Port != b.Port {
		return false
	}
	for _, addr := range a.Addresses {
		if slices.Contains(b.Addresses, addr) {
			return true
		}
	}
	return strings.EqualFold(a.Host, b.Host)
}

// place returns user@host:port, as far as h has them.
func place(h term.PlannedHop) string {
	where := h.Host
	if h.Port != 0 {
		where = net.JoinHostPort(h.Host, strconv.Itoa(h.Port))
	}
	if h.User != "" {
		where = h.User + "@" + where
	}
	return where
}

// Usable returns the open sessions that lead where p leads and that a command of the caller of ctx may use, the newest
// first: the caller has opened them, nothing was typed into their terminals, they are no consoles, and no other task
// holds their locks.
//
// They lead to one place if they go over the same hosts, ports and users, by the names that the configuration gives.
// No name is looked up to find out: one address may have several hosts behind it.
func (v ServerView) Usable(ctx context.Context, p term.Plan) []*Session {
	m := v.m
	by := access.HolderOf(term.ActorFrom(ctx))
	m.mu.Lock()
	var own []*Session
	for _, s := range m.sessions {
		if usableBy(s, by.Principal) && s.o.Origin.Device == "" {
			own = append(own, s)
		}
	}
	m.mu.Unlock()
	// Without mu: see Manager.
	own = slices.DeleteFunc(own, func(s *Session) bool {
		// A device often has one channel alone, and ends the connection with the first command on another.
		if s.State() != Open || s.life.ctx.Err() != nil || !s.execs.hasChannel() || s.prompts.Typed() ||
			s.Expect().Class == ClassDevice {
			return true
		}
		lease, held := s.Lease()
		return held && lease.Holder != by || !samePlace(s.owner.login.planned(), p)
	})
	slices.SortFunc(own, func(a, b *Session) int { return b.created.Compare(a.created) })
	return own
}

// samePlace reports whether a session that was opened by the plan old is one that the plan now would make. A session
// that has checked no host key is used only where none would be checked.
func samePlace(old, now term.Plan) bool {
	if len(old.Hops) != len(now.Hops) || len(now.Hops) == 0 || old.Proxy != nil || now.Proxy != nil ||
		old.ForwardAgent != now.ForwardAgent || old.ProxyCommand != now.ProxyCommand {
		return false
	}
	// The host that the program reaches is known only by the name that it was configured for.
	if now.ProxyCommand && old.Hops[0].Alias != now.Hops[0].Alias {
		return false
	}
	for i, h := range now.Hops {
		o := old.Hops[i]
		if o.User != h.User || o.Port != h.Port || !strings.EqualFold(o.Host, h.Host) ||
			o.HostKeyPolicy == unchecked && h.HostKeyPolicy != unchecked {
			return false
		}
	}
	return true
}

// unchecked is the host key policy that takes any key; see term.PlannedHop.
const unchecked = "disabled"
