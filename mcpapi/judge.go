package mcpapi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"sync"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"ptyctl/internal/inorder"
	"ptyctl/mcpapi/peers"
	"ptyctl/mcpapi/verdict"
	"ptyctl/term"
)

// Both nodes of a call that is passed on judge it. The call carries the digest of the rules of the node that the client
// is connected to. If the node that acts has the same digest, both give the same verdict. Otherwise the gate of the
// node that acts first asks the other node about each action, through the call's client (term.EntryGateFrom).

// maxRules is the length limit of a digest of rules, in bytes.
const maxRules = 64

// rules returns the digest of this node's rules; empty: the node has no rules.
func (s *api) rules() string {
	if s.o.Cluster.Rules == nil {
		return ""
	}
	return s.o.Cluster.Rules()
}

// An entryGate asks the node that the client of a call is connected to, while the call lasts.
type entryGate struct {
	node   string
	client peers.Client
	call   context.Context

	mu    sync.Mutex // guards the following
	ended bool
	life  context.Context // ends with the call; nil: no question yet
	end   context.CancelFunc
}

func newEntryGate(ctx context.Context, node string, client peers.Client) *entryGate {
	return &entryGate{node: node, client: client, call: ctx}
}

// over ends the call and its open questions.
func (g *entryGate) over() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.ended = true
	if g.end != nil {
		g.end()
	}
}

// lasting returns a context that ends with the call. The first question creates it: most calls have no question.
func (g *entryGate) lasting() context.Context {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.life == nil {
		g.life, g.end = context.WithCancel(g.call)
	}
	if g.ended {
		g.end()
	}
	return g.life
}

// judgeTime is how long the other node may take; it may have to ask a person.
const judgeTime = 2 * time.Minute

// gate is the term.Gate.
func (g *entryGate) gate(ctx context.Context, a term.Action) (term.Ruling, error) {
	ctx, cancel := context.WithTimeout(ctx, judgeTime)
	defer cancel()
	life := g.lasting()
	defer context.AfterFunc(life, cancel)()
	answer, err := g.ask(ctx, a, "")
	if err == nil && answer.Shell && a.FarSide != nil {
		answer, err = g.ask(ctx, a, a.FarSide(ctx))
	}
	switch {
	case life.Err() != nil:
		return term.Ruling{}, verdict.Unasked(a, g.node, "is asked only while the call lasts")
	case err == nil && answer.Shell:
		err = errors.New("it asks for what it was told")
	case err == nil:
		return answer.Ruling(a, g.node)
	}
	return term.Ruling{}, verdict.Unasked(a, g.node, fmt.Sprintf("could not be asked about it (%.300v)", err))
}

// ask asks the other node once.
func (g *entryGate) ask(ctx context.Context, a term.Action, shell string) (verdict.Answer, error) {
	question, err := verdict.Encode(a, shell)
	if err != nil {
		return verdict.Answer{}, err
	}
	if err := g.lasting().Err(); err != nil {
		return verdict.Answer{}, err
	}
	text, err := g.client.Ask(ctx, peers.MethodJudge, question)
	if err != nil {
		return verdict.Answer{}, err
	}
	return verdict.ReadAnswer(text)
}

// A judge answers another node's questions about actions that it is about to do for a call of this node.
type judge struct {
	c   *invocation
	ctx context.Context // of the call

	asking sync.Mutex // held while a person answers

	mu    sync.Mutex    // guards the following
	given *term.Consent // the last one that a person has given to this call
	// refused is the refusal for lack of a consent, if the client is asked through the result of its call.
	refused error
}

// answer answers a question. The actor is the caller of this node's own call, whatever the question says.
func (j *judge) answer(ctx context.Context, question json.RawMessage) (json.RawMessage, error) {
	gate := j.c.s.o.Cluster.Judge
	if gate == nil {
		return nil, noMethod(peers.MethodJudge)
	}
	q, err := verdict.Decode(question)
	if err != nil {
		return nil, err
	}
	acting, cancel := context.WithCancel(j.c.Actor(j.ctx))
	defer cancel()
	defer context.AfterFunc(ctx, cancel)()
	q.Action.Actor = term.ActorFrom(acting)
	ruling, err := gate(j.consented(acting), q.Action)
	if err != nil && !q.Shell && term.FactOf[term.Denial](err).Consent != nil {
		ruling, err = j.ask(acting, gate, q.Action, err)
	}
	if acting.Err() != nil {
		return nil, acting.Err()
	}
	text, err := json.Marshal(q.Answer(ruling, err))
	if err == nil && len(text) > verdict.MaxBytes {
		err = fmt.Errorf("an answer of %d bytes", len(text))
	}
	return text, err
}

// consented returns ctx with the consent that a person has already given to this call.
func (j *judge) consented(ctx context.Context) context.Context {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.given == nil {
		return ctx
	}
	return term.WithConsent(ctx, *j.given)
}

// ask asks a person about a refused action, and judges it again if they agree. If the client is asked through the
// result of its call, ask returns the refusal, and question asks when that result has come.
func (j *judge) ask(ctx context.Context, gate term.Gate, a term.Action, refusal error) (term.Ruling, error) {
	if server.IsModernRequest(ctx) && !term.FactOf[term.Denial](refusal).Consent.Person {
		j.mu.Lock()
		j.refused = refusal
		j.mu.Unlock()
		return term.Ruling{}, refusal
	}
	inorder.Pass(j.ctx) // no later call waits for a person
	j.asking.Lock()
	defer j.asking.Unlock()
	v, _, err := j.c.s.questions.Consent(ctx, &j.c.Call, again{j, gate, a}, refusal)
	ruling, _ := v.(term.Ruling)
	return ruling, err
}

// question returns the question for the person at a client that is asked through the result of its call. It replaces
// the other node's result, which says that the call was refused for lack of consent. nil: there is no question.
func (j *judge) question(ctx context.Context, result *mcp.CallToolResult) *mcp.CallToolResult {
	j.mu.Lock()
	refused := j.refused
	j.mu.Unlock()
	if refused == nil || !result.IsError {
		return nil
	}
	_, question, _ := j.c.s.questions.Consent(ctx, &j.c.Call, nil, refused) // only makes the question
	if question == nil {
		return nil
	}
	return j.c.asking(ctx, question)
}

// again judges an action with a person's consent. It is an elicit.Runner.
type again struct {
	j    *judge
	gate term.Gate
	a    term.Action
}

// Once implements elicit.Runner.
func (r again) Once(ctx context.Context) (any, error) {
	if given := term.ConsentFrom(ctx); given != nil {
		r.j.mu.Lock()
		r.j.given = given
		r.j.mu.Unlock()
	}
	ruling, err := r.gate(ctx, r.a)
	return ruling, err
}

// anywhere runs a call again after a person was asked about it, at the node that must answer it. It is an
// elicit.Runner, and its value may be the result of another node.
type anywhere struct {
	c *invocation
	r request
}

// Once implements elicit.Runner.
func (a anywhere) Once(ctx context.Context) (any, error) {
	r := a.r
	r.trip = mcp.MultiRoundTripParams{}
	if result, ok, err := a.c.elsewhere(ctx, r); ok {
		return result, err
	}
	return a.c.Once(ctx)
}

// Limits of the consents that are kept.
const (
	maxGiven    = 1000
	givenMemory = 10 * time.Minute
)

// given keeps consents that people gave under this node's rules, for calls about which another node asks a question of
// its own. When the answer to that question comes, this node judges the call again.
type given struct {
	mu  sync.Mutex // guards the following
	all map[string]givenConsent
}

type givenConsent struct {
	consent *term.Consent
	since   time.Time
}

// keep keeps a consent for the answer to a question of node. It ignores nil.
func (g *given) keep(node, state string, c *term.Consent) {
	if c == nil {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	now := time.Now()
	maps.DeleteFunc(g.all, func(_ string, old givenConsent) bool { return now.Sub(old.since) > givenMemory })
	if g.all == nil {
		g.all = make(map[string]givenConsent)
	}
	if len(g.all) < maxGiven { // over the limit, the person is asked again
		g.all[node+" "+state] = givenConsent{c, now}
	}
}

// take removes and returns the consent for the answer to a question of node, or nil.
func (g *given) take(node, state string) *term.Consent {
	if state == "" {
		return nil
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	c := g.all[node+" "+state].consent
	delete(g.all, node+" "+state)
	return c
}
