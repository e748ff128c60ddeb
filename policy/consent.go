package policy

import (
	"cmp"
	"context"
	"errors"
	"strings"

	"ptyctl/term"
)

// consented are the rules as they are for what a person has agreed to: those that ask have nothing against it. What denies,
// denies, and what cannot be judged still cannot.
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

// agreed decides about an action that d denies because a person would have to agree to it: he has, in this call, or the
// denial says to what he would have to.
func (p *Policy) agreed(ctx context.Context, a term.Action, d *denial) (term.Ruling, error) {
	refusal := d.refusal(a)
	if !p.rules.Consent || !d.asks || !showable(a) {
		return term.Ruling{}, refusal
	}
	ruling, err := p.consented().check(ctx, a)
	if err != nil { // something else stands against it, too
		if other, ok := errors.AsType[*denial](err); ok {
			refusal = other.refusal(a)
		}
		return term.Ruling{}, refusal
	}
	c := consentTo(a, ruling, d.rule)
	if given := term.ConsentFrom(ctx); given != nil && covers(*given, c) {
		return ruling, nil
	}
	refusal.Details.Consent = &c
	return term.Ruling{}, refusal
}

// showable reports whether a person can be shown all that the action does. What a command is given as its input, and a
// file's content, is too much for a question.
func showable(a term.Action) bool {
	return a.Input == 0 && a.Verb != term.VerbFileRead && a.Verb != term.VerbFileWrite
}

// covers reports whether what a person has agreed to is c, or a part of it: a program without a terminal is opened in its
// folder, with its variables, and then run without a word of them. Which rule asks does not matter.
func covers(given, c term.Consent) bool {
	return given.Protocol == c.Protocol && given.Host == c.Host && given.User == c.User && given.Text == c.Text && given.Typed == c.Typed &&
		(c.Dir == "" || c.Dir == given.Dir) &&
		(c.Env == "" || c.Env == given.Env)
}

// consentTo is all that was judged of an action, in the form in which it is done.
func consentTo(a term.Action, ruling term.Ruling, rule Rule) term.Consent {
	c := term.Consent{
		Rule:     rule.String(),
		Protocol: a.Protocol,
		Host:     a.Host,
		User:     a.User,
		Dir:      a.Dir,
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
