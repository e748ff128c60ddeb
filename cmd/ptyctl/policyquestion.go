package main

import (
	"context"
	"errors"

	"ptyctl/policy"
	"ptyctl/term"
)

// A question is what an operator asks of the rules: policy check on its command line, policy test in a file.
type question struct {
	protocol, host string // without a host, no session is opened
	dir            string
	class          string   // of what reads the command
	typed          bool     // typed into a terminal, not run
	command        string   // empty: the session is only opened
	argv           []string // the same word by word, if it is given so
}

// actions are what a caller would do, one after the other.
func (q question) actions() []term.Action {
	var list []term.Action
	if q.host != "" {
		list = append(list, term.Action{Verb: term.VerbOpen, Protocol: q.protocol, Host: q.host, Target: &term.Target{Protocol: q.protocol, Host: q.host}})
	}
	if q.command == "" {
		return list
	}
	action := term.Action{
		Verb: term.VerbExec, Protocol: q.protocol, Host: q.host, Command: q.command, Argv: q.argv, Dir: q.dir,
		FarSide: func(context.Context) string { return q.class },
	}
	if q.typed {
		action.Verb, action.Data = term.VerbWrite, []byte(q.command+"\r")
	}
	return append(list, action)
}

// The verdicts.
const (
	verdictAllow = "allow"
	verdictDeny  = "deny"
	verdictAsk   = "ask" // the person at the client decides
)

// A judgement is what the rules say, as they are when they are enforced.
type judgement struct {
	verdict string
	rule    string // that does not allow it; empty: none does
	reason  error  // nil if it is allowed
	runs    string // what runs instead of the command; empty: the command
}

// ask returns what becomes of the actions, up to the first that is not allowed.
func (q question) ask(ctx context.Context, p *policy.Policy) judgement {
	if p.Gate() == nil {
		return judgement{verdict: verdictAllow}
	}
	runs := ""
	for _, a := range q.actions() {
		ruling, err := p.Rule(ctx, a)
		if err == nil {
			runs = ruling.Command
			continue
		}
		got := judgement{verdict: verdictDeny, reason: err}
		if e, ok := errors.AsType[*term.Error](err); ok && e.Details != nil {
			got.rule = e.Details.Rule
			if e.Details.Consent != nil {
				got.verdict = verdictAsk
			}
		}
		return got
	}
	return judgement{verdict: verdictAllow, runs: runs}
}
