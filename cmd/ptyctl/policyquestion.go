package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"ptyctl/config"
	"ptyctl/internal/app"
	"ptyctl/policy"
	"ptyctl/session/shell"
	"ptyctl/sshx"
	"ptyctl/telnet"
	"ptyctl/term"
)

// A question is what an operator asks of the rules: policy check on its command line, policy test in a file.
type question struct {
	protocol, host string // without a host, no session is opened
	user, jump     string
	port           int // 0: by the configuration
	dir            string
	class          string   // of what reads the command
	typed          bool     // typed into a terminal, not run
	command        string   // empty: the session is only opened
	argv           []string // the same word by word, if it is given so
}

// check refuses what no session could be asked for.
func (q question) check() error {
	switch {
	case !slices.Contains(shell.Classes(), q.class):
		return fmt.Errorf("--class is %q; give one of %s", q.class, strings.Join(shell.Classes(), ", "))
	case q.port < 0 || q.port > 65535:
		return fmt.Errorf("--port is %d; give a number from 1 to 65535", q.port)
	case q.host == "" && (q.user != "" || q.jump != "" || q.port != 0):
		return errors.New("--user, --port and --jump are about a host; name it with --host")
	case q.jump != "" && q.protocol != "ssh":
		return errors.New("--jump is for --protocol ssh")
	}
	return nil
}

// target is where the question leads.
func (q question) target() term.Target {
	t := term.Target{Protocol: q.protocol, Host: q.host, User: q.user, Port: q.port}
	if q.jump != "" {
		t.SSH.ExtraArgs = []string{"-J", q.jump}
	}
	return t
}

// actions are what a caller would do, one after the other: to open a session, what that comes to by the configuration, and the
// command.
func (q question) actions(ctx context.Context, cfg config.Config) ([]term.Action, error) {
	var list []term.Action
	var far *term.PlannedHop
	if q.host != "" {
		t := q.target()
		open := term.Action{Verb: term.VerbOpen, Protocol: q.protocol, Host: q.host, User: q.user, Target: &t}
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
	if q.command == "" {
		return list, nil
	}
	action := term.Action{
		Verb: term.VerbExec, Protocol: q.protocol, Host: q.host, User: q.user, Far: far, Command: q.command, Argv: q.argv, Dir: q.dir,
		FarSide: func(context.Context) string { return q.class },
	}
	if q.typed {
		action.Verb, action.Data = term.VerbWrite, []byte(q.command+"\r")
	}
	return append(list, action), nil
}

// planOf is what a session on t would be planned as. Nothing is sent to a host.
func planOf(ctx context.Context, cfg config.Config, t term.Target) (term.Plan, error) {
	switch t.Protocol {
	case "ssh":
		return sshx.Preview(ctx, t, app.QuietSSHOptions(cfg))
	case "telnet":
		return telnet.Preview(ctx, t), nil
	}
	return term.Plan{}, nil
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
func (q question) ask(ctx context.Context, cfg config.Config, p *policy.Policy) judgement {
	if p.Gate() == nil {
		return judgement{verdict: verdictAllow}
	}
	runs := ""
	actions, err := q.actions(ctx, cfg)
	if err != nil { // ssh_config refuses the host
		return judgement{verdict: verdictDeny, reason: err}
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
