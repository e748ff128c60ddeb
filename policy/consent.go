package policy

import (
	"cmp"
	"context"
	"strings"

	"ptyctl/term"
)

// consented returns the policy that applies after a person's consent: rules
// that ask no longer deny. Rules that deny still do, and a line that cannot be
// judged is still denied.
func (p *Policy) consented() *Policy {
	c := *p
	c.commands.consented = true
	if p.commands.permissions != nil {
		permitted := *p.commands.permissions
		permitted.consented = true
		c.commands.permissions = &permitted
	}
	return &c
}

// agreed decides about an action that d denies for lack of consent. If the call carries the consent, the action is
// allowed; otherwise the denial describes the required consent.
func (p *Policy) agreed(ctx context.Context, a term.Action, d *denial) (term.Ruling, error) {
	refusal := d.refusal(a)
	if !p.rules.Consent || !d.asks || !showable(a) {
		return term.Ruling{}, refusal
	}
	ruling, err := p.consented().check(ctx, a)
	if err != nil { // another rule denies it as well
		if other, ok := asDenial(err); ok {
			refusal = other.refusal(a)
		}
		return term.Ruling{}, refusal
	}
	c := consentTo(a, ruling, d.rule, p.rules.Person)
	if given := term.ConsentFrom(ctx); given != nil && covers(*given, c) {
		return ruling, nil
	}
	denied := term.FactOf[term.Denial](refusal)
	denied.Consent = &c
	refusal.Facts = refusal.Facts.With(denied)
	return term.Ruling{}, refusal
}

// showable reports whether a question can show the whole action to a person.
// Input of a command and the content of a file are too long for that.
func showable(a term.Action) bool {
	return a.Input == 0 && a.Verb != term.VerbFileRead && a.Verb != term.VerbFileWrite
}

// covers reports whether the given consent includes c. A program without a
// terminal is opened with its folder and variables, and later run without them,
// so those of c may be missing. The rule that asks does not matter.
func covers(given, c term.Consent) bool {
	return given.Protocol == c.Protocol && given.Host == c.Host && given.User == c.User && given.Text == c.Text &&
		given.Typed == c.Typed &&
		(c.Dir == "" || c.Dir == given.Dir) &&
		(c.Env == "" || c.Env == given.Env)
}

// consentTo returns everything that was judged about an action, in the form in
// which it will run.
func consentTo(a term.Action, ruling term.Ruling, rule Rule, person bool) term.Consent {
	c := term.Consent{
		Rule:     rule.String(),
		Protocol: a.Protocol,
		Host:     a.Host,
		User:     a.User,
		Dir:      a.Dir,
		Person:   person,
		Text:     cmp.Or(ruling.Command, a.Command),
	}
	if a.Verb == term.VerbWrite {
		c.Text, c.Typed = string(a.Data), true
	}
	var env strings.Builder
	for _, v := range a.Env {
		env.WriteString(v.Name + "=" + v.Value + "\n")
	}
	c.Env = env.String()
	return c
}
