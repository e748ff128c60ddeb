package questions

import (
	"cmp"
	"context"
	"crypto/rand"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"ptyctl/consent"
	"ptyctl/mcpapi/identity"
	"ptyctl/session"
	"ptyctl/term"
)

// Options configure a Board.
type Options struct {
	Consents *consent.Book       // nil: no call waits for consent
	Refuse   func(pid int) error // says why a process may not answer or watch; nil: each of this user's may
	Observe  func(term.Event)    // gets an event for each answer that the caller may not give; nil: no events
	Version  string              // of the program
}

// A Board knows the questions that wait. It is an Observer of the sessions' events.
type Board struct {
	o        Options
	name     string           // of this Board, so that versions of two processes differ
	sessions *session.Manager // set by Serve

	mu      sync.Mutex // guards the following
	count   int        // of changes
	changed chan struct{}
}

// New makes a Board. Serve gives it the sessions.
func New(o Options) *Board {
	return &Board{o: o, name: rand.Text()[:8], changed: make(chan struct{})}
}

// Serve gives the board its sessions. It must be called before the first request.
func (b *Board) Serve(m *session.Manager) { b.sessions = m }

// Observe implements term.Observer.
func (b *Board) Observe(e term.Event) {
	switch e.Verb {
	case term.VerbState:
		if b.o.Consents != nil && session.State(e.State).Ended() {
			b.o.Consents.Withdraw(e.Session)
		}
	case term.VerbQuestion, term.VerbAnswer, term.VerbGone, term.VerbConsent:
	default:
		return
	}
	b.Changed()
}

// Changed says that the list may have changed.
func (b *Board) Changed() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.count++
	close(b.changed)
	b.changed = make(chan struct{})
}

// version returns the version of the list, and a channel that is closed when there is another.
func (b *Board) version() (string, <-chan struct{}) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.name + "-" + strconv.Itoa(b.count), b.changed
}

// List returns the questions about sessions that the caller of ctx sees.
func (b *Board) List(ctx context.Context) List {
	version, _ := b.version() // before the list, so that the next Wait finds changes made meanwhile
	caller := identity.FromContext(ctx)
	list := List{Version: version, Mode: mode(caller), Questions: []Question{}}
	if b.o.Consents != nil {
		for _, q := range b.o.Consents.List() {
			if !caller.Isolated || q.Actor.Principal().Client() == caller.Principal() {
				list.Questions = append(list.Questions, ofConsent(q))
			}
		}
	}
	for _, i := range b.sessions.List(session.Connecting, session.Authenticating) {
		if s, err := b.sessions.Get(i.ID); err == nil && caller.Sees(i) {
			if q := s.Question(); q != nil {
				list.Questions = append(list.Questions, ofLogin(q, i))
			}
		}
	}
	slices.SortStableFunc(list.Questions, func(x, y Question) int { return cmp.Compare(x.Since, y.Since) })
	return list
}

func mode(c identity.Caller) string {
	if c.ReadOnly {
		return ModeReadOnly
	}
	return ModeReadWrite
}

// Wait returns List as soon as its version differs from after, the time has passed, or a question expires.
func (b *Board) Wait(ctx context.Context, after string, wait time.Duration) List {
	over := time.NewTimer(wait)
	defer over.Stop()
	for {
		version, changed := b.version()
		list := b.List(ctx)
		if version != after || list.Version != after {
			return list
		}
		next := wait
		for _, q := range list.Questions {
			next = min(next, time.Until(time.UnixMilli(q.Expires)))
		}
		expires := time.NewTimer(max(next, time.Millisecond))
		select {
		case <-changed:
		case <-expires.C:
			b.expired(list)
		case <-over.C:
			expires.Stop()
			return b.List(ctx)
		case <-ctx.Done():
			expires.Stop()
			return list
		}
		expires.Stop()
	}
}

// expired says that the list has changed if a consent of an earlier list has expired since.
func (b *Board) expired(earlier List) {
	now := time.Now().UnixMilli()
	if slices.ContainsFunc(earlier.Questions, func(q Question) bool { return q.Kind == KindConsent && q.Expires <= now }) {
		b.Changed()
	}
}

// Answer answers a question in the name of the caller of ctx. ctx must carry the caller's term.Actor, too.
func (b *Board) Answer(ctx context.Context, a Answer) error {
	caller := identity.FromContext(ctx)
	if err := b.permitted(caller); err != nil {
		if b.o.Observe != nil {
			b.o.Observe(term.Event{
				Time: time.Now(), Verb: term.VerbAnswer, Actor: term.ActorFrom(ctx), Refused: err,
				Detail: "question " + term.ForeignLine(a.ID, 64),
			})
		}
		return err
	}
	forms := 0
	for _, given := range []bool{a.Yes != nil, a.Text != nil, a.Decline} {
		if given {
			forms++
		}
	}
	if a.ID == "" || forms != 1 {
		return term.Errorf(term.InvalidArgument,
			"an answer has a question_id, and one of yes (true or false), text and decline (true)")
	}
	if q := b.login(caller, a.ID); q != nil {
		return answerLogin(ctx, q, a)
	}
	if b.o.Consents == nil || !slices.ContainsFunc(b.o.Consents.List(), func(q consent.Question) bool { return q.ID == a.ID }) {
		return gone(a.ID)
	}
	switch {
	// A token of MCP over HTTP is an agent's, which must not consent to its own calls.
	case !caller.Operator:
		return term.Errorf(term.PolicyDenied, "only a person at the operator's own socket can consent: use ptyctl answer")
	case a.Text != nil:
		value := []byte(*a.Text)
		defer clear(value)
		return b.o.Consents.Give(ctx, a.ID, value)
	}
	return b.o.Consents.Answer(ctx, a.ID, a.Yes != nil && *a.Yes)
}

func gone(id string) error {
	return term.Errorf(term.NotFound,
		"question %s waits for no answer: it was answered, has expired, or its session has ended; list the questions again",
		term.ForeignLine(id, 64))
}

// permitted refuses a caller that may only watch, and a program that this process has started: an agent would answer
// its own questions.
func (b *Board) permitted(c identity.Caller) error {
	if err := b.refused(c); err != nil {
		return err
	}
	if c.ReadOnly && c.Transport == identity.PageTransport {
		return term.Errorf(term.PolicyDenied, "the token %s may only watch: it has the role watch, or this server is "+
			"read-only; the operator can give you one with the role operate", c.Token)
	}
	if c.ReadOnly {
		return term.Errorf(term.PolicyDenied,
			"people may only watch here: server.control.control_mode is \"readonly\"; set \"readwrite\" in the configuration "+
				"of this process and start it again")
	}
	return nil
}

// refused refuses a program that this process has started.
func (b *Board) refused(c identity.Caller) error {
	if b.o.Refuse == nil || c.PID == 0 {
		return nil
	}
	if err := b.o.Refuse(c.PID); err != nil {
		return &term.Error{Kind: term.PolicyDenied, Msg: err.Error()}
	}
	return nil
}

// login returns the login's question with an id, if it waits and the caller may see it.
func (b *Board) login(c identity.Caller, id string) *session.Question {
	for _, i := range b.sessions.List(session.Connecting, session.Authenticating) {
		if s, err := b.sessions.Get(i.ID); err == nil && c.Sees(i) {
			if q := s.Question(); q != nil && q.ID() == id {
				return q
			}
		}
	}
	return nil
}

// answerLogin answers the question of a login.
func answerLogin(ctx context.Context, q *session.Question, a Answer) error {
	hostKey := q.Prompt().Kind == term.PromptHostKey
	switch {
	case a.Decline:
		return q.Decline(ctx)
	case hostKey && a.Yes != nil && *a.Yes:
		return q.Answer(ctx, []byte("yes"))
	case hostKey && a.Yes != nil:
		return q.Answer(ctx, []byte("no"))
	case a.Text == nil: // which to a host key may also be its fingerprint
		return term.Errorf(term.InvalidArgument, "this question takes a text: give text, or decline to end the login")
	}
	return q.Answer(ctx, []byte(*a.Text))
}

// most is how much of a text is shown, in bytes. A consent's is never longer.
const most = 8000

// ofConsent describes a call that needs consent.
func ofConsent(q consent.Question) Question {
	w := q.Wanted
	out := Question{
		ID: q.ID, Kind: KindConsent, Form: AnswerYesNo, Since: q.Since.UnixMilli(), Expires: q.Expires.UnixMilli(),
		SessionID: line(q.Session), Protocol: line(w.Protocol), Host: line(w.Host), User: line(w.User), Asker: asker(q.Actor),
		Text: term.Foreign(consent.Lines(w), most), Action: string(q.Verb), Rule: line(w.Rule), Typed: w.Typed, Dir: line(w.Dir),
		Waits: q.Waits, Lasting: w.Lasting,
	}
	if w.Secret != "" {
		out.Secret, out.Action, out.Typed = line(w.Secret), q.Action, false
	}
	if w.Value {
		out.Kind, out.Form = KindSecret, AnswerSecret
	}
	for v := range strings.Lines(w.Env) {
		out.Env = append(out.Env, line(strings.TrimSuffix(v, "\n")))
	}
	return out
}

// ofLogin describes the question of a login.
func ofLogin(q *session.Question, i session.Info) Question {
	p := q.Prompt()
	since, expires := q.Since()
	out := Question{
		ID: q.ID(), Kind: string(p.Kind), Form: AnswerSecret, Since: since.UnixMilli(), Expires: expires.UnixMilli(),
		SessionID: i.ID, Protocol: i.Protocol, Host: line(cmp.Or(p.Host, i.Host)), User: line(p.User), Asker: asker(i.Opener),
		Text: term.Foreign(p.Text, most), Hop: p.Hop, Index: p.Index, Of: p.Of,
		Secret: line(p.Secret),
	}
	switch {
	case p.Kind == term.PromptHostKey:
		out.Form = AnswerYesNo
	case p.Echo:
		out.Form = AnswerText
	}
	return out
}

func asker(a term.Actor) Asker {
	return Asker{
		Transport: a.Transport, Client: line(a.Client), Version: line(a.Version), Token: line(a.Token), Shim: line(a.Shim),
		Task: line(a.Task),
	}
}

// line makes a name safe to show.
func line(text string) string { return term.ForeignLine(text, most) }
