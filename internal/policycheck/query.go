package policycheck

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"ptyctl/config"
	"ptyctl/internal/app"
	"ptyctl/policy"
	"ptyctl/serial"
	"ptyctl/session/shell"
	"ptyctl/sshx"
	"ptyctl/telnet"
	"ptyctl/term"
)

// A Query asks whether the rules allow an action.
type Query struct {
	Protocol, Host string // without a host, no session is opened
	User, Jump     string
	Port           int // 0: by the configuration
	Dir            string
	Class          string   // of the shell that reads the command
	Typed          bool     // typed into a terminal, not run
	Command        string   // empty: the session is only opened
	Argv           []string // the command word by word; nil: only the line is known
}

// Check refuses a query that no call could make.
func (q Query) Check() error {
	switch {
	case !slices.Contains(protocols, q.Protocol):
		return fmt.Errorf("--protocol is %q; give one of %s", q.Protocol, strings.Join(protocols, ", "))
	case q.Protocol == "local" && q.Host != "":
		return errors.New("--host is for --protocol ssh and telnet; leave it out for local")
	case !slices.Contains(shell.Classes(), q.Class):
		return fmt.Errorf("--class is %q; give one of %s", q.Class, strings.Join(shell.Classes(), ", "))
	case q.Port < 0 || q.Port > 65535:
		return fmt.Errorf("--port is %d; give a number from 1 to 65535", q.Port)
	case q.Host == "" && (q.User != "" || q.Jump != "" || q.Port != 0):
		return errors.New("--user, --port and --jump are about a host; name it with --host")
	case q.Jump != "" && q.Protocol != "ssh":
		return errors.New("--jump is for --protocol ssh")
	}
	return nil
}

// protocols are those of a session.
var protocols = []string{"ssh", "telnet", "serial", "local"}

// target is the host of the query.
func (q Query) target() term.Target {
	t := term.Target{Protocol: q.Protocol, Host: q.Host, User: q.User, Port: q.Port}
	if q.Jump != "" {
		t.SSH.ExtraArgs = []string{"-J", q.Jump}
	}
	return t
}

// actions are the actions of a caller, in order: to open a session, the plan that the configuration makes of it, and
// the command.
func (q Query) actions(ctx context.Context, cfg config.Config) ([]term.Action, error) {
	var list []term.Action
	var far *term.PlannedHop
	if q.Host != "" {
		t := q.target()
		open := term.Action{Verb: term.VerbOpen, Protocol: q.Protocol, Host: q.Host, User: q.User, Target: &t}
		list = append(list, open)
		plan, err := planOf(ctx, cfg, t)
		if err != nil {
			return nil, err
		}
		if far = plan.Target(); far != nil {
			open.Plan = &plan
			list = append(list, open)
		}
	}
	if q.Command == "" {
		return list, nil
	}
	action := term.Action{
		Verb: term.VerbExec, Protocol: q.Protocol, Host: q.Host, User: q.User, Far: far,
		Command: q.Command, Argv: q.Argv, Dir: q.Dir,
		FarSide: func(context.Context) string { return q.Class },
	}
	if q.Typed {
		action.Verb, action.Data = term.VerbWrite, []byte(q.Command+"\r")
	}
	return append(list, action), nil
}

// planOf is the plan of a session on t. It sends nothing to a host.
func planOf(ctx context.Context, cfg config.Config, t term.Target) (term.Plan, error) {
	switch t.Protocol {
	case "ssh":
		return sshx.Preview(ctx, t, app.QuietSSHOptions(cfg))
	case "telnet":
		return telnet.Preview(ctx, t), nil
	case "serial":
		return serial.Plan(t.Host, t.Host), nil
	}
	return term.Plan{}, nil
}

// The verdicts.
const (
	Allow = "allow"
	Deny  = "deny"
	Ask   = "ask" // the person at the client decides
)

// A Judgement is the answer of the rules, as in mode enforce.
type Judgement struct {
	Verdict string
	Rule    string // that does not allow it; empty: no rule is named
	Reason  error  // nil if it is allowed
	Runs    string // runs in place of the command; empty: the command itself
}

// Judge returns the judgement of the query's first action that is not allowed, else of the last.
func (q Query) Judge(ctx context.Context, cfg config.Config, p *policy.Policy) Judgement {
	if p.Gate() == nil {
		return Judgement{Verdict: Allow}
	}
	runs := ""
	actions, err := q.actions(ctx, cfg)
	if err != nil { // ssh_config refuses the host
		return Judgement{Verdict: Deny, Reason: err}
	}
	for _, a := range actions {
		ruling, err := p.Rule(ctx, a)
		if err == nil {
			runs = ruling.Command
			if a.Plan != nil { // the names that rules know the host by
				a.Plan.Target().Names = ruling.Grant.Names
			}
			continue
		}
		got := Judgement{Verdict: Deny, Reason: err}
		denied := term.FactOf[term.Denial](err)
		got.Rule = denied.Rule
		if denied.Consent != nil {
			got.Verdict = Ask
		}
		return got
	}
	return Judgement{Verdict: Allow, Runs: runs}
}
