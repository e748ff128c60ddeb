package verdict

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"unicode/utf8"

	"ptyctl/term"
)

// MaxBytes is the size of the largest question and of the largest answer.
const MaxBytes = 512 << 10

// Limits of the contents of a question.
const (
	maxName = 4 << 10 // bytes of a name, for example of a session
	maxHops = 64
)

// A question is the wire form of an Action. It has neither the actor, which the asked node knows, nor the target's
// credentials.
type question struct {
	Verb      term.Verb     `json:"verb"`
	Session   string        `json:"session,omitempty"`
	Protocol  string        `json:"protocol,omitempty"`
	Host      string        `json:"host,omitempty"`
	User      string        `json:"user,omitempty"`
	Far       *hop          `json:"far,omitempty"`
	Target    *target       `json:"target,omitempty"`
	Plan      *plan         `json:"plan,omitempty"`
	Command   string        `json:"command,omitempty"`
	Argv      []string      `json:"argv,omitempty"`
	Dir       string        `json:"dir,omitempty"`
	Env       []term.EnvVar `json:"env,omitempty"`
	Input     int           `json:"input,omitempty"`
	Data      []byte        `json:"data,omitempty"`
	Key       string        `json:"key,omitempty"`
	Sensitive bool          `json:"sensitive,omitempty"`
	Path      string        `json:"path,omitempty"`
	To        string        `json:"to,omitempty"`

	Reads bool   `json:"reads,omitempty"` // an interpreter reads the line
	Shell string `json:"shell,omitempty"` // its class; empty: not asked for yet
}

// A target has the parts of a term.Target that rules judge.
type target struct {
	Protocol     string   `json:"protocol"`
	Host         string   `json:"host,omitempty"`
	Port         int      `json:"port,omitempty"`
	User         string   `json:"user,omitempty"`
	CommandsOnly bool     `json:"commands_only,omitempty"`
	NoTerminal   bool     `json:"no_terminal,omitempty"`
	Line         string   `json:"line,omitempty"` // the device of a serial line
	Argv         []string `json:"argv,omitempty"`
}

// A plan has the parts of a term.Plan that rules judge.
type plan struct {
	Unresolved   bool          `json:"unresolved,omitempty"`
	ProxyCommand bool          `json:"proxy_command,omitempty"`
	Proxy        *hop          `json:"proxy,omitempty"`
	Hops         []hop         `json:"hops"`
	CallerEnv    []term.EnvVar `json:"caller_env,omitempty"`
	ForwardAgent bool          `json:"forward_agent,omitempty"`
}

// Encode returns the question about an action. shell is the class of the interpreter of its line; empty: see Question.Shell.
func Encode(a term.Action, shell string) ([]byte, error) {
	q := question{
		Verb: a.Verb, Session: a.Session, Protocol: a.Protocol, Host: a.Host, User: a.User,
		Command: a.Command, Argv: a.Argv, Dir: a.Dir, Env: a.Env, Input: a.Input, Key: a.Key, Sensitive: a.Sensitive,
		Path: a.Path, To: a.To, Reads: a.FarSide != nil, Shell: shell,
	}
	if !a.Sensitive {
		q.Data = a.Data
	}
	if a.Far != nil {
		q.Far = new(hopOf(*a.Far))
	}
	if t := a.Target; t != nil {
		q.Target = &target{
			t.Protocol, t.Host, t.Port, t.User, t.CommandsOnly, t.PTY.Disabled, t.Serial.Path, t.Local.Argv,
		}
	}
	if p := a.Plan; p != nil {
		q.Plan = &plan{
			Unresolved: p.Unresolved, ProxyCommand: p.ProxyCommand, CallerEnv: p.CallerEnv, ForwardAgent: p.ForwardAgent,
			Hops: make([]hop, len(p.Hops)),
		}
		if p.Proxy != nil {
			q.Plan.Proxy = new(hopOf(*p.Proxy))
		}
		for i, h := range p.Hops {
			q.Plan.Hops[i] = hopOf(h)
		}
	}
	if !q.exact() {
		return nil, fmt.Errorf("it has bytes that are no text (UTF-8)")
	}
	text, err := json.Marshal(q)
	if err == nil && len(text) > MaxBytes {
		err = fmt.Errorf("it has %d bytes, and at most %d can be asked about", len(text), MaxBytes)
	}
	return text, err
}

// exact reports whether JSON can express all texts of q: it would replace bytes that are no text.
func (q *question) exact() bool {
	texts := append([]string{string(q.Verb), q.Session, q.Protocol, q.Host, q.User, q.Command, q.Dir, q.Key, q.Path, q.To}, q.Argv...)
	if t := q.Target; t != nil {
		texts = append(append(texts, t.Host, t.User, t.Line), t.Argv...)
	}
	variables := q.Env
	if q.Far != nil {
		texts = q.Far.texts(texts)
	}
	if p := q.Plan; p != nil {
		variables = append(slices.Clip(variables), p.CallerEnv...)
		if p.Proxy != nil {
			texts = p.Proxy.texts(texts)
		}
		for i := range p.Hops {
			texts = p.Hops[i].texts(texts)
		}
	}
	for _, v := range variables {
		texts = append(texts, v.Name, v.Value)
	}
	for _, t := range texts {
		if !utf8.ValidString(t) {
			return false
		}
	}
	return true
}

// A Question is a decoded question of another node.
type Question struct {
	Action term.Action // without an Actor

	// Shell is set once Action.FarSide is called and the question does not have its answer: the ruling is then of no
	// use, and the other node must ask again with the class of the shell. To find the class, that node may have to ask
	// the far side, which it does only if the rules need it.
	Shell bool
}

// Decode reads a question. Another node has written it, so nothing in it is trusted.
func Decode(text []byte) (*Question, error) {
	if len(text) > MaxBytes {
		return nil, fmt.Errorf("a question of %d bytes, and at most %d are allowed", len(text), MaxBytes)
	}
	var w question
	if err := json.Unmarshal(text, &w); err != nil {
		return nil, fmt.Errorf("a question that cannot be read: %w", err)
	}
	if err := w.check(); err != nil {
		return nil, err
	}
	q := &Question{Action: term.Action{
		Verb: w.Verb, Session: w.Session, Protocol: w.Protocol, Host: w.Host, User: w.User,
		Command: w.Command, Argv: w.Argv, Dir: w.Dir, Env: w.Env, Input: w.Input, Data: w.Data, Key: w.Key, Sensitive: w.Sensitive,
		Path: w.Path, To: w.To,
	}}
	if w.Far != nil {
		q.Action.Far = new(w.Far.planned())
	}
	if t := w.Target; t != nil {
		q.Action.Target = &term.Target{
			Protocol: t.Protocol, Host: t.Host, Port: t.Port, User: t.User, CommandsOnly: t.CommandsOnly,
			PTY:    term.PTY{Disabled: t.NoTerminal},
			Serial: term.SerialOptions{Path: t.Line}, Local: term.LocalOptions{Argv: t.Argv, Dir: w.Dir, Env: w.Env},
		}
	}
	if p := w.Plan; p != nil {
		q.Action.Plan = &term.Plan{
			Unresolved: p.Unresolved, ProxyCommand: p.ProxyCommand, CallerEnv: p.CallerEnv, Env: p.CallerEnv, ForwardAgent: p.ForwardAgent,
		}
		if p.Proxy != nil {
			q.Action.Plan.Proxy = new(p.Proxy.planned())
		}
		for _, h := range p.Hops {
			q.Action.Plan.Hops = append(q.Action.Plan.Hops, h.planned())
		}
	}
	if w.Reads {
		q.Action.FarSide = func(context.Context) string {
			if w.Shell == "" {
				q.Shell = true
				return "unknown"
			}
			return w.Shell
		}
	}
	return q, nil
}

// check returns an error if a question is invalid.
func (q *question) check() error {
	for _, name := range []string{string(q.Verb), q.Session, q.Protocol, q.Host, q.User, q.Key, q.Shell, q.To} {
		if len(name) > maxName {
			return fmt.Errorf("a question with a name of %d bytes, and at most %d are allowed", len(name), maxName)
		}
	}
	switch {
	case q.Verb == "":
		return fmt.Errorf("a question about no action")
	case q.Input < 0 || q.Sensitive && q.Data != nil:
		return fmt.Errorf("a question about input that there cannot be")
	case q.Plan != nil && len(q.Plan.Hops) > maxHops:
		return fmt.Errorf("a question about %d hosts in a row, and at most %d are allowed", len(q.Plan.Hops), maxHops)
	case q.Plan != nil && q.Target == nil:
		return fmt.Errorf("a question about a plan without a target")
	}
	return nil
}
