package sshx

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/crypto/ssh"

	"ptyctl/term"
)

// The authentication methods we know (RFC 4252, RFC 4256).
const (
	methodPublicKey = "publickey"
	methodKeyboard  = "keyboard-interactive"
	methodPassword  = "password"
)

// An authRecord is what was tried on one hop, for messages: names and fingerprints, never a value.
type authRecord struct {
	tried   []string // methods, in order, each once
	allowed []string // by the server, as of its last answer
	keys    []string // fingerprints offered
	notes   []string // why a key or a method was not used
	last    string   // method of the attempt under way; at success, the one that succeeded
	abort   error    // a question was declined: nothing more is to be tried
}

// stop ends the login after a question that failed with err, unless that only means that nobody may be asked.
func (r *authRecord) stop(err error) {
	if err != nil && !errors.Is(err, errNobodyToAsk) {
		r.abort = err
	}
}

func (r *authRecord) attempt(method string) {
	r.last = method
	if !slices.Contains(r.tried, method) {
		r.tried = append(r.tried, method)
	}
}

// noteOnce is note for what comes up again.
func (r *authRecord) noteOnce(text string) {
	if !slices.Contains(r.notes, text) {
		r.notes = append(r.notes, text)
	}
}

func (r *authRecord) note(format string, args ...any) {
	r.notes = append(r.notes, fmt.Sprintf(format, args...))
}

// describe puts the record into the details of an error.
func (r *authRecord) describe(d *term.Details) {
	d.MethodsTried, d.MethodsAllowed, d.KeysOffered = r.tried, r.allowed, r.keys
}

// A planner decides, before each attempt, what to prove ourselves with next (RFC 4252 section 5.1: the server
// says after each attempt which methods can continue). All of it runs in the goroutine of the handshake.
type planner struct {
	w     *watchdog
	h     *hop
	p     term.Prompter
	seen  *authRecord
	ended func() error // why the server can answer no more; nil while it can

	keys      *keyring
	withhold  *withholding
	untrusted bool // the host key contradicts the record: no method that reveals a secret
	passwords int  // attempts by password
	rounds    int  // attempts by keyboard-interactive
	used      bool // the password that came with the call has been sent
	gaveUp    bool // it was we who ended the login, not the server
}

func newPlanner(w *watchdog, h *hop, p term.Prompter, seen *authRecord, ended func() error) *planner {
	seen.notes = append(seen.notes, h.cred.notes...)
	rules := &withholding{may: h.may, hop: h}
	return &planner{w: w, h: h, p: p, seen: seen, ended: ended, keys: newKeyring(w, h, p, seen, rules), withhold: rules}
}

func (a *planner) close() { a.keys.close() }

// methods returns the methods we may use, most preferred first.
func (a *planner) methods() []string {
	switch {
	case a.untrusted:
		return []string{methodPublicKey}
	case a.h.cred.method == "password":
		return []string{methodPassword, methodKeyboard}
	default:
		return a.h.cred.preferred
	}
}

// next is the handshake's AuthCallback.
func (a *planner) next(c *ssh.ClientAuthContext) (ssh.AuthMethod, error) {
	if err := a.ended(); err != nil { // the library goes on to the next method, and would ask a person in vain
		return nil, err
	}
	a.seen.allowed = c.AllowedMethods
	if a.seen.abort != nil {
		a.gaveUp = true
		return nil, a.seen.abort
	}
	if a.w.ctx.Err() != nil {
		a.gaveUp = true
		return nil, context.Cause(a.w.ctx)
	}
	for _, m := range a.methods() {
		if !slices.Contains(c.AllowedMethods, m) {
			continue
		}
		switch m {
		case methodPublicKey:
			if s := a.keys.next(); s != nil {
				a.seen.attempt(m)
				a.seen.keys = append(a.seen.keys, ssh.FingerprintSHA256(s.PublicKey()))
				return ssh.PublicKeysCallback(func() ([]ssh.Signer, error) { return []ssh.Signer{s}, nil }), nil
			}
		case methodKeyboard:
			if a.mayTry(a.rounds) {
				a.rounds++
				a.seen.attempt(m)
				return ssh.KeyboardInteractive(a.challenge), nil
			}
		case methodPassword:
			if (!a.used || a.h.cred.password == "") && a.mayTry(a.passwords) {
				a.passwords++
				a.seen.attempt(m)
				return ssh.PasswordCallback(a.password), nil
			}
		}
	}
	a.gaveUp = true
	return nil, a.exhausted()
}

// mayTry reports whether a method that takes a secret may be tried again: the password that came with the call
// is sent once, a person may try as often as the configuration says, and may answer what is asked beside it.
func (a *planner) mayTry(done int) bool {
	able := a.canAsk() && done < a.h.cred.prompts
	if a.h.cred.password != "" {
		able = done == 0 && (!a.used || a.canAsk())
	}
	if !able {
		return false
	}
	why := a.withhold.refuses("a password or an answer", a.withhold.may.Password)
	if why != "" {
		a.seen.noteOnce("no password was sent and no question answered: " + why)
	}
	return why == ""
}

func (a *planner) canAsk() bool { return canAsk(a.p, a.h) }

// password answers the method of the same name (RFC 4252 section 8).
func (a *planner) password() (string, error) {
	if pw := a.h.cred.password; pw != "" {
		a.used = true
		return pw.Reveal(), nil
	}
	text := fmt.Sprintf("%s@%s's password: ", a.h.user, a.h.host)
	if a.passwords > 1 {
		text = "Permission denied, please try again.\r\n" + text
	}
	return a.ask(term.Prompt{Kind: term.PromptPassword, Text: text})
}

// challenge answers one round of questions (RFC 4256 section 3.2). A round without questions is normal.
func (a *planner) challenge(name, instruction string, questions []string, echos []bool) ([]string, error) {
	answers := make([]string, len(questions))
	for i, q := range questions {
		if a.h.cred.password != "" && !echos[i] && asksForPassword(q) {
			if a.used {
				return nil, errPasswordRefused
			}
			a.used = true
			answers[i] = a.h.cred.password.Reveal()
			continue
		}
		text := q
		if i == 0 {
			text = joinLines(name, instruction, q)
		}
		answer, err := a.ask(
			term.Prompt{Kind: term.PromptChallenge, Text: text, Echo: echos[i], Index: i + 1, Of: len(questions)},
		)
		if err != nil {
			return nil, err
		}
		answers[i] = answer
	}
	return answers, nil
}

var errPasswordRefused = errors.New("the password was not accepted")

// asksForPassword reports whether a question is the one that PAM and most devices ask for a password with, and
// not one for something else of that name: a one-time password, or a new one in place of one that has expired.
func asksForPassword(q string) bool {
	q = strings.ToLower(q)
	return strings.Contains(q, "password") &&
		!slices.ContainsFunc([]string{"one-time", "one time", "onetime", "otp", "new "}, func(other string) bool {
			return strings.Contains(q, other)
		})
}

func joinLines(lines ...string) string {
	lines = slices.DeleteFunc(lines, func(s string) bool { return strings.TrimSpace(s) == "" })
	return strings.Join(lines, "\r\n")
}

// ask relays a question. If it is declined, or not answered, the login is over.
func (a *planner) ask(q term.Prompt) (string, error) {
	answer, err := ask(a.w, a.p, a.h, q)
	a.seen.stop(err)
	return answer, err
}

// exhausted says that there is nothing left to try, and what the caller could do about it.
func (a *planner) exhausted() error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s accepted none of what was tried", a.h)
	switch {
	case len(a.seen.tried) == 0 && a.withhold.rule != "":
		b.WriteString(" (nothing: what could be tried is withheld by a rule)")
	case len(a.seen.tried) == 0:
		fmt.Fprintf(&b, " (nothing: there is no credential for what it allows)")
	default:
		fmt.Fprintf(&b, " (%s)", strings.Join(a.seen.tried, ", "))
	}
	fmt.Fprintf(&b, "; it allows %s", strings.Join(a.seen.allowed, ", "))
	for _, n := range a.seen.notes {
		b.WriteString("; " + n)
	}
	switch {
	case a.untrusted:
		b.WriteString("; passwords and questions are switched off because the host key contradicts the record")
	case a.used:
		b.WriteString("; check auth.password and username")
	case slices.Contains(a.seen.tried, methodPublicKey):
		b.WriteString("; check username, and that one of the keys offered is authorized there")
	case len(a.seen.tried) == 0 && a.withhold.rule != "":
		b.WriteString("; only the operator can change that rule")
	case !a.canAsk():
		b.WriteString(
			"; pass auth.password or auth.private_key_pem, load a key into the agent, or leave auth.interactive on to be asked",
		)
	}
	if a.withhold.rule != "" && len(a.seen.tried) == 0 {
		return &term.Error{
			Kind:    term.PolicyDenied,
			Msg:     b.String(),
			Details: &term.Details{Hop: a.h.String(), Rule: a.withhold.rule},
		}
	}
	return &term.Error{Kind: term.AuthFailed, Msg: b.String()}
}
