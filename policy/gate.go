package policy

import (
	"context"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"ptyctl/policy/grammar"
	"ptyctl/policy/preset"
	"ptyctl/quote"
	"ptyctl/term"
)

// A Policy is a set of checked rules. Use New to make one.
type Policy struct {
	rules    Rules
	commands commands
	hosts    hostRules
	programs, denyPrograms,
	workDirs []place
	own string            // the caller's own folder, for PTY_PERMISSIONS
	env *term.Environment // the caller's; nil: that of this process
}

// New checks the rules and returns a Policy. It fails if a rule can never have
// an effect.
func New(r Rules) (*Policy, error) {
	permitted, err := parsePermissions(r.Permissions)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", permissionsName, err)
	}
	// An empty text would match nothing in a list that allows and everything in a
	// list that denies. Neither can be intended.
	for _, list := range [][]Rule{
		r.Allow, r.Deny, r.Ask, r.Programs, r.DenyPrograms, r.WorkDirs, r.Hosts, r.DenyHosts,
		r.ReadOnlyHosts, r.ExecOnlyHosts, r.Protocols,
	} {
		for _, rule := range list {
			if strings.TrimSpace(rule.Text) == "" {
				return nil, fmt.Errorf("%s: it is empty; remove the entry", rule)
			}
		}
	}
	for _, c := range r.Credentials {
		if err := c.Validate(); err != nil {
			return nil, err
		}
	}
	switch r.Typing {
	case "", TypingAuto, TypingDeny, TypingLines, TypingAllow:
	default:
		return nil, fmt.Errorf("%s is %q; give auto, deny, lines or allow", r.typing("", "").Name, r.Typing)
	}
	// external_directory is about folders outside ptyctl's own.
	own, err := os.Getwd()
	if err != nil && permitted != nil {
		return nil, fmt.Errorf("%s: ptyctl's own folder is not known: %w", permissionsName, err)
	}
	p := &Policy{
		rules: r,
		commands: commands{
			allow:       patterns(r.Allow),
			deny:        patterns(r.Deny),
			ask:         patterns(r.Ask),
			permissions: permitted,
		},
		hosts: hostRules{
			allow: newHostRules(
				r.Hosts,
			), deny: newHostRules(r.DenyHosts), readOnly: newHostRules(r.ReadOnlyHosts), execOnly: newHostRules(r.ExecOnlyHosts),
		},
		programs: places(r.Programs), denyPrograms: places(r.DenyPrograms), workDirs: places(r.WorkDirs), own: own,
	}
	if r.Preset != "" {
		p.commands.presetRule = r.preset()
		if p.commands.preset, err = preset.Named(r.Preset); err != nil {
			return nil, fmt.Errorf("%s: %w", p.commands.presetRule, err)
		}
	}
	return p, nil
}

// Gate returns the Gate for a session.Config. It is nil if there are no rules.
func (p *Policy) Gate() term.Gate {
	r := p.rules
	if !p.commands.any() && p.commands.permissions == nil &&
		len(r.Programs)+len(r.DenyPrograms)+len(r.WorkDirs)+len(r.Hosts)+
			len(r.DenyHosts)+len(r.ReadOnlyHosts)+len(r.ExecOnlyHosts)+len(r.Protocols)+len(r.Credentials) == 0 &&
		r.Typing != TypingDeny {
		return nil
	}
	if r.Report {
		return p.report
	}
	return p.Rule
}

// Rule is the Gate: it returns the form in which the action is allowed, or an
// *term.Error of kind PolicyDenied.
func (p *Policy) Rule(ctx context.Context, a term.Action) (term.Ruling, error) {
	p = p.in(ctx)
	return p.rule(ctx, p.planned(ctx, a))
}

// in returns the policy for the caller of ctx. The caller's folder and PATH may differ from those of this process.
func (p *Policy) in(ctx context.Context) *Policy {
	env := term.EnvironmentFrom(ctx)
	if env == nil {
		return p
	}
	callers := *p
	callers.env = env
	if own, err := env.Abs(""); err == nil {
		callers.own = own
	}
	return &callers
}

// planned returns the action with all names under which the rules know the
// hosts of its plan.
func (p *Policy) planned(ctx context.Context, a term.Action) term.Action {
	// An unresolved plan has no addresses to compare yet. The Dialer asks again
	// when it has.
	if a.Plan != nil && !a.Plan.Unresolved {
		a.Plan = p.identified(ctx, a.Plan)
	}
	return a
}

// rule judges an action and then considers a person's consent.
func (p *Policy) rule(ctx context.Context, a term.Action) (term.Ruling, error) {
	ruling, err := p.check(ctx, a)
	if d, ok := asDenial(err); ok {
		ruling, err = p.agreed(ctx, a, d)
	}
	if err != nil {
		return term.Ruling{}, err
	}
	// The path of the program is judged last, because it needs the file system,
	// and the session starts exactly this file.
	ruling.Program, err = p.started(a)
	if d, ok := asDenial(err); ok {
		return term.Ruling{}, d.refusal(a)
	}
	if err == nil && a.Plan != nil && !a.Plan.Unresolved {
		ruling.Grant = p.grant(a.Plan)
	}
	return ruling, err
}

// Check returns nil if the action is allowed, and an *term.Error of kind
// PolicyDenied otherwise.
func (p *Policy) Check(ctx context.Context, a term.Action) error {
	_, err := p.Rule(ctx, a)
	return err
}

// allowed is the Ruling that allows an action unchanged.
var allowed term.Ruling

// check calls the rules that apply to the verb of the action.
func (p *Policy) check(ctx context.Context, a term.Action) (term.Ruling, error) {
	switch a.Verb {
	// These actions change nothing on the far side, or belong to the caller's own
	// session.
	case term.VerbClose,
		term.VerbLock,
		term.VerbUnlock,
		term.VerbHeartbeat,
		term.VerbTakeOver,
		term.VerbForwardEnd,
		term.VerbAdopt, // of a session that the same rules have let a client open
		term.VerbGive,
		term.VerbResize,
		term.VerbExpect,
		term.VerbAnswer: // part of a login, without which there is no session to read
		return allowed, nil
	case term.VerbOpen:
		return p.open(ctx, a)
	case term.VerbExec:
		if err := p.mayAct(a, "run commands"); err != nil {
			return allowed, err
		}
		return p.run(ctx, a, false)
	case term.VerbWrite:
		if err := p.mayAct(a, "type"); err != nil {
			return allowed, err
		}
		if err := p.execOnly(a, "nothing is typed"); err != nil {
			return allowed, err
		}
		return allowed, p.typed(ctx, a)
	case term.VerbSignal:
		return allowed, p.mayAct(a, "send signals")
	case term.VerbForward:
		return allowed, p.forward(ctx, a)
	case term.VerbFileRead:
		return allowed, p.file(a, false)
	case term.VerbFileWrite:
		if err := p.mayAct(a, "change files"); err != nil {
			return allowed, err
		}
		if err := p.execOnly(a, "no file is changed"); err != nil {
			return allowed, err
		}
		return allowed, p.file(a, true)
	}
	// A verb that this package does not know yet must be denied.
	return allowed, &denial{rule: Rule{Name: "policy"}, why: fmt.Sprintf("no rule knows the action %q", a.Verb)}
}

// mayAct refuses actions that change something on a read-only host.
func (p *Policy) mayAct(a term.Action, what string) error {
	rule, ok := ruled(p.hosts.readOnly, a)
	if !ok {
		return nil
	}
	return &denial{
		rule:    rule,
		why:     "this host is read-only: a caller may not " + what + " there",
		instead: "reading is allowed",
	}
}

// execOnly denies an action on a host where commands are run and nothing else.
func (p *Policy) execOnly(a term.Action, what string) error {
	rule, ok := ruled(p.hosts.execOnly, a)
	if !ok {
		return nil
	}
	return &denial{rule: rule, why: "on this host commands are run, and " + what, reason: term.ReasonRunCommands}
}

// file judges a file or folder that is read or changed without a command, like
// the redirection that would do the same.
func (p *Policy) file(a term.Action, write bool) error {
	if !p.commands.any() {
		return nil
	}
	// A relative path, or one with "..", could mean another file than the rule's.
	if !path.IsAbs(filepath.ToSlash(a.Path)) && !filepath.IsAbs(a.Path) ||
		slices.Contains(strings.Split(filepath.ToSlash(a.Path), "/"), "..") {
		return &denial{
			rule:    p.commands.first(),
			part:    grammar.Shorten(a.Path),
			why:     "where commands are judged, so are files, by their whole path",
			instead: "give an absolute path without ..",
		}
	}
	return p.commands.file(path.Clean(filepath.ToSlash(a.Path)), write)
}

// run judges a command with its folder and variables, and returns the form in
// which it runs.
func (p *Policy) run(ctx context.Context, a term.Action, screen bool) (term.Ruling, error) {
	variables, programs := p.variables(a), p.programsOf(a)
	for _, v := range a.Env {
		if err := variables(v.Name + "=" + v.Value); err != nil {
			return allowed, err
		}
	}
	if a.Protocol == local {
		if a.Dir != "" || a.Verb == term.VerbOpen { // otherwise the folder of the session, which open has judged
			if err := p.folder(a.Dir); err != nil {
				return allowed, err
			}
		}
	}
	switch {
	case !p.commands.any() && programs == nil:
		return allowed, nil
	// The caller's text must not run: the printed form of the judged tree runs in
	// its place.
	case p.commands.closed() || programs != nil && len(p.programs) > 0:
		c := closedLine{k: &p.commands, screen: screen, program: programs, variable: variables}
		if programs != nil {
			c.rule = p.programRule()
		}
		return p.closedRun(ctx, a, c)
	}
	return allowed, p.commands.line(a.Command, screen, programs, variables)
}

// closedRun judges a command that needs permission.
func (p *Policy) closedRun(ctx context.Context, a term.Action, c closedLine) (term.Ruling, error) {
	// No shell reads the words, so there is nothing to print, except for scripts
	// among the words.
	if a.FarSide == nil && a.Argv != nil {
		argv, err := c.direct(a.Argv)
		if err != nil || slices.Equal(argv, a.Argv) {
			return allowed, err
		}
		return term.Ruling{Argv: argv, Command: quote.Show(argv)}, nil
	}
	c.d = grammar.Dialect{Class: farSide(ctx, a)}
	if err := c.d.CheckFolder(a.Dir); err != nil {
		return allowed, c.named(err, a.Dir)
	}
	if a.Argv != nil {
		line, err := c.argv(a.Argv)
		return term.Ruling{Command: line}, err
	}
	line, err := c.rewritten(a.Command)
	return term.Ruling{Command: line}, err
}

// farSide returns the class of the interpreter that reads a line; an unknown
// class has no safe quoting.
func farSide(ctx context.Context, a term.Action) string {
	if a.FarSide == nil {
		return "unknown"
	}
	return a.FarSide(ctx)
}
