package verdict

import (
	"encoding/json"
	"errors"
	"fmt"

	"ptyctl/term"
)

// An Answer is the verdict of the rules of the node that was asked.
type Answer struct {
	Shell    bool     `json:"shell,omitempty"`    // the question must have the class of the shell
	Denied   *Denial  `json:"denied,omitempty"`   // nil: it is allowed
	Command  string   `json:"command,omitempty"`  // as term.Ruling has it
	Argv     []string `json:"argv,omitempty"`     // as term.Ruling has it
	Names    []string `json:"names,omitempty"`    // as term.Grant has it
	Reported *Denial  `json:"reported,omitempty"` // the rules are on trial, and would deny it
}

// A Denial is why an action is not allowed.
type Denial struct {
	Kind    term.Kind   `json:"kind"`
	Reason  term.Reason `json:"reason,omitempty"`
	Msg     string      `json:"msg"`
	Advice  string      `json:"advice,omitempty"`
	Rule    string      `json:"rule,omitempty"`
	Allowed []string    `json:"allowed,omitempty"`
}

// Limits of an answer's texts.
const (
	maxText    = 8 << 10 // bytes
	maxAllowed = 32
	maxNames   = 256
)

// Answer returns the answer for a gate's ruling on q.Action, or for its error.
func (q *Question) Answer(r term.Ruling, err error) Answer {
	switch {
	case q.Shell:
		return Answer{Shell: true}
	case err != nil:
		return Answer{Denied: denialOf(err)}
	case r.Program != "": // a path of this machine
		return Answer{Denied: denialOf(term.Errorf(term.PolicyDenied, "the program %q would have to run on this machine", r.Program))}
	}
	a := Answer{Command: r.Command, Argv: r.Argv, Names: r.Grant.Names}
	if r.Reported != nil {
		a.Reported = denialOf(r.Reported)
	}
	return a
}

func denialOf(err error) *Denial {
	d := &Denial{Kind: term.KindOf(err), Msg: err.Error()}
	if e, ok := errors.AsType[*term.Error](err); ok {
		denied := term.FactOf[term.Denial](e)
		d.Reason, d.Msg, d.Advice, d.Rule, d.Allowed = e.Reason, e.Msg, e.Advice, denied.Rule, denied.Allowed
		if d.Msg == "" {
			d.Msg = e.Message()
		}
	}
	return d
}

// ReadAnswer reads an answer. Another node has written it, so nothing in it is trusted.
func ReadAnswer(text []byte) (Answer, error) {
	var a Answer
	if len(text) > MaxBytes {
		return a, fmt.Errorf("an answer of %d bytes, and at most %d are allowed", len(text), MaxBytes)
	}
	if err := json.Unmarshal(text, &a); err != nil {
		return Answer{}, fmt.Errorf("an answer that cannot be read: %w", err)
	}
	for _, d := range []*Denial{a.Denied, a.Reported} {
		if d != nil && (len(d.Msg)+len(d.Advice)+len(d.Rule)+len(d.Reason) > maxText || len(d.Allowed) > maxAllowed) {
			return Answer{}, errors.New("an answer that is too long")
		}
	}
	if len(a.Names) > maxNames {
		return Answer{}, errors.New("an answer with too many names")
	}
	return a, nil
}

// Ruling returns the ruling on an action by the rules of node, or their denial.
func (a Answer) Ruling(about term.Action, node string) (term.Ruling, error) {
	if a.Denied != nil {
		return term.Ruling{}, a.Denied.of(about, node)
	}
	r := term.Ruling{Command: a.Command, Argv: a.Argv, Grant: term.Grant{Names: a.Names}}
	if a.Reported != nil {
		r.Reported = a.Reported.of(about, node)
	}
	return r, nil
}

// of returns the error for the caller.
func (d *Denial) of(a term.Action, node string) error {
	e := &term.Error{
		Op: string(a.Verb), Session: a.Session, Kind: d.Kind, Reason: d.Reason, Advice: d.Advice,
		Msg: fmt.Sprintf("by the rules of node %s, to which the client is connected: %s", node, d.Msg),
	}
	denied := term.Denial{Rule: fmt.Sprintf("%s of node %s", d.Rule, node), Allowed: d.Allowed}
	switch d.Kind {
	case term.PolicyDenied:
	case term.Busy: // a person has been asked
	default: // the gate has failed
		e.Kind, e.Reason = term.IOError, ""
	}
	if d.Kind == term.PolicyDenied && d.Rule != "" {
		e.Facts = term.Facts{denied}
	}
	return e
}

// Unasked returns the error for an action of a caller of node, if node has other rules than this node and cannot be
// asked; why gives the reason.
func Unasked(a term.Action, node, why string) error {
	return &term.Error{
		Op: string(a.Verb), Session: a.Session, Kind: term.PolicyDenied,
		Msg: fmt.Sprintf("node %s, to which the client is connected, has other rules than this node, and %s; nothing was done",
			node, why),
		Advice: "the operator has to give both nodes the same rules (ptyctl-cluster status shows which differ)",
	}
}
