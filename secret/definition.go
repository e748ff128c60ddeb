package secret

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"ptyctl/internal/lazyregexp"
	"ptyctl/secret/forms"
	"ptyctl/secret/source"
	"ptyctl/sshx/patterns"
	"ptyctl/term"
)

// A Definition is one secret.
type Definition struct {
	Name    string
	Hint    string // for callers: the purpose of the secret
	Source  source.Source
	OneTime bool // the value is a code, which answers questions for a code

	// It goes to the places that one of these names, and to no other.
	Hosts   []string // patterns of names, with * and ?; the operator's settings must lead from one to the host
	Devices []string // patterns of the paths of serial lines
	Local   bool     // programs on this machine

	Users     []string         // patterns of accounts; empty: all
	Prompts   []*regexp.Regexp // of questions; empty: those that ask for a password, or for a code if OneTime
	Uses      []term.SecretUse // empty: all
	Callers   []string         // patterns of the names of tokens, and of transports for callers without one; empty: all
	Commands  term.Gate        // permits the commands that may read it on their standard input; nil: sudo alone
	Listed    []string         // Commands as the operator has written them, for callers
	Confirm   Confirm          // when a person must agree
	Auto      bool             // it answers questions of logins without being named in the call
	AllowEcho bool             // also for a question with a visible answer
	Cleartext bool             // also over Telnet without TLS
	PerHour   int              // uses; 0: any number
	ShortOK   bool             // the value may have less than MinBytes
}

// Confirm says when a person must agree to a use.
type Confirm string

// The values of Confirm. The empty one is ConfirmNever.
const (
	ConfirmNever  Confirm = "never"
	ConfirmFirst  Confirm = "first"  // to the first use in a session
	ConfirmAlways Confirm = "always" // to each use
)

// MaxBytes bounds a value.
const MaxBytes = source.MaxBytes

// MinBytes is how many bytes a value must have, unless ShortOK permits less. A shorter one may be a part of much output,
// so that it is hidden only where it is a whole word, and not at all if it has less than four.
const MinBytes = forms.MinSecret

// Set stores a value at the secret's source, in place of the one before. Only a keyring and an age file take one.
func (d *Definition) Set(ctx context.Context, value []byte) error {
	return source.Set(ctx, d.Source, value)
}

// Try fetches the value, and wipes it. It returns why none would be given, as far as that is known without a use of it.
func (d *Definition) Try(ctx context.Context) error {
	value, err := d.Source.Fetch(ctx)
	if err != nil {
		return fmt.Errorf("secret %s: %w", d.Name, err)
	}
	defer clear(value)
	return d.usable(value)
}

// The questions that a secret without Prompts answers.
var (
	asksForCode     = lazyregexp.New(`(?i)\b(verification code|one[- ]?time|otp|token|passcode|code)\b`)
	asksForPassword = lazyregexp.New(`(?i)\bpassword\b`)
	asksForNew      = lazyregexp.New(`(?i)\b(new|retype|again)\b`)
)

// isFor reports whether the secret is bound to the login.
func (d *Definition) isFor(l term.Login) bool {
	return d.Auto && d.hasUse(term.SecretLogin) && d.names(l.Names) &&
		(len(d.Users) == 0 || matchesAny(l.User, d.Users)) && !slices.Contains(l.Given, d.Name)
}

// isNamedFor reports whether the caller has asked for the secret in this login, and it was not given yet.
func (d *Definition) isNamedFor(l term.Login) bool {
	return l.Secret == d.Name && !slices.Contains(l.Given, d.Name)
}

// loggedIn returns why a secret that the caller has named is not for the login.
func (d *Definition) loggedIn(l term.Login) error {
	if !d.hasUse(term.SecretLogin) {
		return d.refuse("uses", fmt.Sprintf("it is not for the use %q", term.SecretLogin))
	}
	return d.isAt(peerOf(l))
}

func (d *Definition) hasUse(u term.SecretUse) bool {
	return len(d.Uses) == 0 || slices.Contains(d.Uses, u)
}

// names reports whether one of the names of a host is in Hosts.
func (d *Definition) names(of []string) bool {
	return slices.ContainsFunc(of, func(name string) bool { return matchesAny(name, d.Hosts) })
}

func matchesAny(name string, list []string) bool {
	return slices.ContainsFunc(list, func(pattern string) bool {
		return patterns.Match(strings.ToLower(name), strings.ToLower(pattern))
	})
}

// answers reports whether the secret is an answer to the question.
func (d *Definition) answers(q term.Prompt) bool {
	line := q.Text[strings.LastIndexAny(strings.TrimRight(q.Text, "\r\n "), "\r\n")+1:]
	switch {
	case q.Kind == term.PromptHostKey:
		return false
	case len(d.Prompts) > 0:
		return slices.ContainsFunc(d.Prompts, func(r *regexp.Regexp) bool { return r.MatchString(line) })
	case d.OneTime:
		return q.Kind == term.PromptChallenge && asksForCode.MatchString(line)
	case q.Kind == term.PromptPassphrase: // of a key, which is no password of the account
		return false
	}
	return asksForPassword.MatchString(line) && !asksForCode.MatchString(line) && !asksForNew.MatchString(line)
}

// permits returns why the secret is not given to a login to which it is bound; nil if it may be.
func (d *Definition) permits(l term.Login, q term.Prompt) error {
	switch {
	case l.HostKey == term.HostKeyAccepted:
		return d.refuse("host_key", "the host's key was not on the operator's record before this login")
	case q.Echo && !d.AllowEcho:
		return d.refuse("echo", "the host would show the answer")
	}
	return nil
}

// usable returns why the value is not given; nil if it may be.
func (d *Definition) usable(value []byte) error {
	if len(value) >= MinBytes || d.ShortOK {
		return nil
	}
	return d.refuse("short_ok", fmt.Sprintf("it has fewer than %d characters, and could not be hidden in later output; "+
		"take a longer one, or set short_ok", MinBytes))
}

// refuse is the error of a condition that does not hold.
func (d *Definition) refuse(condition, why string) error {
	return &term.Error{
		Kind: term.PolicyDenied, Msg: fmt.Sprintf("secret %s is not given: %s", d.Name, why),
		Facts: term.Facts{term.Denial{Rule: d.rule(condition)}},
	}
}

// rule names a condition as the configuration does.
func (d *Definition) rule(condition string) string { return "secret." + d.Name + "." + condition }

// mayUse returns why a caller may not use the secret. Only the transport's data decides. A client's own claims, for
// example its name, do not matter.
func (d *Definition) mayUse(a term.Actor) error {
	who := a.Token
	if who == "" {
		who = a.Transport
	}
	if len(d.Callers) == 0 || meansCaller(who, d.Callers) {
		return nil
	}
	return d.refuse("callers", "it is not for this caller")
}

// meansCaller reports whether patterns mean a caller. The name of one with an access token is oauth:SUBJECT. Its issuer has
// chosen the subject, and may tell subjects apart by their case alone: only patterns that begin so, or that mean all, can
// mean it.
func meansCaller(who string, list []string) bool {
	kind, _, issued := strings.Cut(who, ":")
	if !issued {
		return matchesAny(who, list)
	}
	return slices.ContainsFunc(list, func(pattern string) bool {
		return pattern == "*" || strings.HasPrefix(pattern, kind+":") && patterns.Match(who, pattern)
	})
}
