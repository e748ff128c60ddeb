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

// The supported authentication methods (RFC 4252, RFC 4256).
const (
	methodPublicKey = "publickey"
	methodKeyboard  = "keyboard-interactive"
	methodPassword  = "password"
)

// An authRecord is the history of the login on one hop, for messages: names and
// fingerprints, never a secret.
type authRecord struct {
	tried   []string   // methods, in order, each once
	allowed []string   // methods in the server's last answer
	keys    []string   // fingerprints offered
	notes   []string   // reasons why a key or a method was not used
	lacked  term.Field // what the caller could have given, and has not; empty: nothing known
	last    string     // method of the current attempt; after success, the successful one
	abort   error      // set when a question was declined: no further attempt is made
}

// stop ends the login after a question that failed with err. If questions are not
// possible at all, the login continues without them.
func (r *authRecord) stop(err error) {
	if err != nil && !errors.Is(err, errCannotAsk) {
		r.abort = err
	}
}

// attempt records an attempt by method.
func (r *authRecord) attempt(method string) {
	r.last = method
	if !slices.Contains(r.tried, method) {
		r.tried = append(r.tried, method)
	}
}

// noteOnce is note for a reason that may occur again.
func (r *authRecord) noteOnce(text string) {
	if !slices.Contains(r.notes, text) {
		r.notes = append(r.notes, text)
	}
}

// note records a reason for the error message.
func (r *authRecord) note(format string, args ...any) {
	r.notes = append(r.notes, fmt.Sprintf(format, args...))
}

// describe adds the record to the facts of an error.
func (r *authRecord) describe(f *term.ConnectFailure) {
	f.MethodsTried, f.MethodsAllowed, f.KeysOffered = r.tried, r.allowed, r.keys
}

// A planner chooses the method for each attempt of a login. After each attempt
// the server says which methods can continue (RFC 4252 section 5.1). All methods
// run in the goroutine of the handshake.
type planner struct {
	ctx    context.Context // limits the login
	h      *account
	person asker
	seen   *authRecord
	ended  func() error // returns why the connection has ended, or nil

	keys      *keyring
	withhold  *withholding
	untrusted bool // the host key contradicts the record, so no secret may be sent
	passwords int  // attempts by password
	rounds    int  // attempts by keyboard-interactive
	used      bool // the caller's password has been sent
	gaveUp    bool // this side has ended the login, not the server
}

// newPlanner returns the planner for one login at h, which ends with ctx. person answers
// questions. ended returns why the connection has ended, or nil.
func newPlanner(ctx context.Context, h *account, person asker, ended func() error) *planner {
	seen := &authRecord{notes: slices.Clip(h.cred.notes)}
	rules := &withholding{may: h.may, h: h}
	return &planner{
		ctx: ctx, h: h, person: person, seen: seen, ended: ended,
		keys: newKeyring(ctx, h, person, seen, rules), withhold: rules,
	}
}

// record returns the history of the login.
func (a *planner) record() *authRecord { return a.seen }

// prove sets how the operator's record confirms the host's key. It must be called before the
// first attempt.
func (a *planner) prove(proof term.HostKeyProof) { a.withhold.proof = proof }

// distrust makes the planner send no secret, because the host key contradicts the record.
func (a *planner) distrust() { a.untrusted = true }

// rule returns the last rule that withheld a credential, or "".
func (a *planner) rule() string { return a.withhold.rule }

// agentWithheld returns why the agent must not be forwarded, or "" if it may.
func (a *planner) agentWithheld() string { return a.withhold.agent() }

// addToAgent gives the key of the successful login to the agent, if the configuration asks
// for it.
func (a *planner) addToAgent(warn func(string)) { a.keys.addToAgent(warn) }

// refusedTooMany reports whether the server ended the login after it had refused several
// keys, and nothing else had been tried (sshd_config(5) MaxAuthTries).
func (a *planner) refusedTooMany() bool {
	return !a.gaveUp && len(a.seen.keys) > 1 && len(a.seen.tried) == 1 && a.seen.tried[0] == methodPublicKey
}

// close ends the connection to the agent.
func (a *planner) close() { a.keys.close() }

// methods returns the allowed methods, the preferred one first.
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

// next is the AuthCallback of the handshake: it returns the next method, or the
// error that ends the login.
func (a *planner) next(c *ssh.ClientAuthContext) (ssh.AuthMethod, error) {
	// The library would try the next method on a closed connection, and ask a
	// person in vain.
	if err := a.ended(); err != nil {
		return nil, err
	}
	a.seen.allowed = c.AllowedMethods
	if a.seen.abort != nil {
		a.gaveUp = true
		return nil, a.seen.abort
	}
	if a.ctx.Err() != nil {
		a.gaveUp = true
		return nil, context.Cause(a.ctx)
	}
	// The first allowed method with a credential left wins. The library calls
	// next again after a failure, so each call continues where the last one
	// stopped.
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

// mayTry reports whether a method that takes a secret may be tried again after
// done attempts. The caller's password is sent once. A person may try as often as
// the configuration says, and may also answer questions other than the password.
func (a *planner) mayTry(done int) bool {
	able := a.person.canAsk() && done < a.h.cred.prompts
	if a.h.cred.password != "" {
		able = done == 0 && (!a.used || a.person.canAsk())
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

// password answers the method "password" (RFC 4252 section 8).
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

// challenge answers one round of questions (RFC 4256 section 3.2). A round may
// have no questions.
func (a *planner) challenge(name, instruction string, questions []string, echos []bool) ([]string, error) {
	// The caller's password answers one hidden question that asks for it; the
	// others go to the person.
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

// errPasswordRefused ends a login in which the server asks for the caller's
// password a second time.
var errPasswordRefused = errors.New("the password was not accepted")

// asksForPassword reports whether a question asks for the account's password, as
// PAM and most devices do. It must be false for similar questions, for example
// about a one-time password, or about a new password in place of an expired one.
func asksForPassword(q string) bool {
	q = strings.ToLower(q)
	return strings.Contains(q, "password") &&
		!slices.ContainsFunc([]string{"one-time", "one time", "onetime", "otp", "new "}, func(other string) bool {
			return strings.Contains(q, other)
		})
}

// joinLines joins the lines that are not blank.
func joinLines(lines ...string) string {
	lines = slices.DeleteFunc(lines, func(s string) bool { return strings.TrimSpace(s) == "" })
	return strings.Join(lines, "\r\n")
}

// ask passes a question to the person. Without an answer the login ends.
func (a *planner) ask(q term.Prompt) (string, error) {
	answer, err := a.person.ask(q)
	a.seen.stop(err)
	return answer, err
}

// exhausted returns the error of a login without any method left, with advice for
// the caller.
func (a *planner) exhausted() error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s accepted none of the methods tried", a.h)
	switch {
	case len(a.seen.tried) == 0 && a.withhold.rule != "":
		b.WriteString(" (none: a rule withholds the credentials)")
	case len(a.seen.tried) == 0:
		fmt.Fprintf(&b, " (none: no credential for the methods it allows)")
	default:
		fmt.Fprintf(&b, " (%s)", strings.Join(a.seen.tried, ", "))
	}
	fmt.Fprintf(&b, "; it allows %s", strings.Join(a.seen.allowed, ", "))
	for _, n := range a.seen.notes {
		b.WriteString("; " + n)
	}
	var reason term.Reason
	var advice string
	switch {
	case a.untrusted:
		b.WriteString("; passwords and questions are switched off because the host key contradicts the record")
	case a.used:
		reason, advice = term.ReasonWrongPassword, "check the password and the user name"
	case slices.Contains(a.seen.tried, methodPublicKey):
		b.WriteString("; check the user name, and that one of the keys offered is authorized there")
	case len(a.seen.tried) == 0 && a.withhold.rule != "":
		b.WriteString("; only the operator can change that rule")
	case !a.person.canAsk():
		reason = term.ReasonNoCredential
		advice = "set Auth.Password or Auth.PrivateKeyPEM, load a key into the agent, or allow questions"
	}
	if a.withhold.rule != "" && len(a.seen.tried) == 0 {
		return &term.Error{
			Kind:  term.PolicyDenied,
			Msg:   b.String(),
			Facts: term.Facts{term.ConnectFailure{Hop: a.h.name}, term.Denial{Rule: a.withhold.rule}},
		}
	}
	return &term.Error{Kind: term.AuthFailed, Reason: reason, Msg: b.String(), Advice: advice}
}
