package auth

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
	MethodPublicKey = "publickey"
	MethodKeyboard  = "keyboard-interactive"
	MethodPassword  = "password"
)

// A Record is the history of one login, for messages: names and
// fingerprints, never a secret.
type Record struct {
	Tried   []string   // methods, in order, each once
	allowed []string   // methods in the server's last answer
	Keys    []string   // names of the keys offered
	Untried []string   // names of the keys that were left when the server ended the login
	offered []string   // fingerprints of the keys offered, or of their certificates
	Notes   []string   // reasons why a key or a method was not used
	Unread  []string   // those of Notes about files of keys that cannot be used
	Lacked  term.Field // the credential that the caller could have given; empty: unknown
	Last    string     // method of the current attempt; after success, the successful one
	abort   error      // set when a question was declined: no further attempt is made
}

// stop ends the login after a question that failed with err. If questions are not
// possible at all, the login continues without them.
func (r *Record) stop(err error) {
	if err != nil && !errors.Is(err, ErrCannotAsk) {
		r.abort = err
	}
}

// attempt records an attempt by method.
func (r *Record) attempt(method string) {
	r.Last = method
	if !slices.Contains(r.Tried, method) {
		r.Tried = append(r.Tried, method)
	}
}

// offer records the offer of a key.
func (r *Record) offer(key ssh.PublicKey) {
	r.offered = append(r.offered, ssh.FingerprintSHA256(key))
	if name := keyName(key); len(r.Keys) == 0 || r.Keys[len(r.Keys)-1] != name { // not with another algorithm
		r.Keys = append(r.Keys, name)
	}
}

// noteOnce is note for a reason that may occur again.
func (r *Record) noteOnce(text string) {
	if !slices.Contains(r.Notes, text) {
		r.Notes = append(r.Notes, text)
	}
}

// note records a reason for the error message.
func (r *Record) note(format string, args ...any) {
	r.Notes = append(r.Notes, fmt.Sprintf(format, args...))
}

// unread is note for the file of a key.
func (r *Record) unread(format string, args ...any) {
	r.note(format, args...)
	r.Unread = append(r.Unread, r.Notes[len(r.Notes)-1])
}

// Describe adds the record to the facts of an error.
func (r *Record) Describe(f *term.ConnectFailure) {
	f.MethodsTried, f.MethodsAllowed, f.KeysOffered, f.KeysUntried = r.Tried, r.allowed, r.Keys, r.Untried
	f.Unused = r.Notes
}

// A Planner chooses the method for each attempt of a login. After each attempt
// the server says which methods can continue (RFC 4252 section 5.1). All methods
// run in the goroutine of the handshake.
type Planner struct {
	ctx    context.Context // limits the login
	h      *Account
	person Asker
	seen   *Record
	ended  func() error // returns why the connection has ended, or nil

	keys      *keyring
	withhold  *withholding
	untrusted bool // the host key contradicts the record, so no secret may be sent
	passwords int  // attempts by password
	rounds    int  // attempts by keyboard-interactive
	used      bool // the caller's password has been sent
	gaveUp    bool // this side has ended the login, not the server
}

// NewPlanner returns the planner for one login at h, which ends with ctx. person answers
// questions. ended returns why the connection has ended, or nil.
func NewPlanner(ctx context.Context, h *Account, person Asker, ended func() error) *Planner {
	seen := &Record{Notes: slices.Clip(h.Cred.Notes), Keys: slices.Clip(h.Cred.Offered)}
	if n := len(h.Cred.Refused); n > 0 {
		seen.Tried = []string{MethodPublicKey}
		seen.note("the server ended an earlier connection after %d keys, all refused", n)
	}
	rules := &withholding{may: h.May, h: h}
	return &Planner{
		ctx: ctx, h: h, person: person, seen: seen, ended: ended,
		keys: newKeyring(ctx, h, person, seen, rules), withhold: rules,
	}
}

// Record returns the history of the login.
func (a *Planner) Record() *Record { return a.seen }

// Prove sets how the operator's record confirms the host's key. It must be called before the
// first attempt.
func (a *Planner) Prove(proof term.HostKeyProof) { a.withhold.proof = proof }

// Distrust makes the planner send no secret, because the host key contradicts the record.
func (a *Planner) Distrust() { a.untrusted = true }

// Rule returns the last rule that withheld a credential, or "".
func (a *Planner) Rule() string { return a.withhold.rule }

// AgentWithheld returns why the agent must not be forwarded, or "" if it may.
func (a *Planner) AgentWithheld() string { return a.withhold.agent() }

// AddToAgent gives the key of the successful login to the agent, if the configuration asks
// for it.
func (a *Planner) AddToAgent(warn func(string)) { a.keys.addToAgent(warn) }

// EndedEarly records the keys that were left when the server ended the login, and returns the
// names of them.
func (a *Planner) EndedEarly() []string {
	if !a.gaveUp && len(a.seen.Tried) > 0 {
		a.seen.Untried = a.keys.untried()
	}
	return a.seen.Untried
}

// RefusedTooMany returns the fingerprints of the keys that the server has refused before it
// ended the login, if nothing else had been tried (sshd_config(5) MaxAuthTries), or nil.
func (a *Planner) RefusedTooMany() []string {
	if a.gaveUp || len(a.seen.offered) < 2 || len(a.seen.Tried) != 1 || a.seen.Tried[0] != MethodPublicKey {
		return nil
	}
	return a.seen.offered
}

// Close ends the connection to the agent.
func (a *Planner) Close() { a.keys.close() }

// methods returns the allowed methods, the preferred one first.
func (a *Planner) methods() []string {
	switch {
	case a.untrusted:
		return []string{MethodPublicKey}
	case a.h.Cred.Method == "password":
		return []string{MethodPassword, MethodKeyboard}
	default:
		return a.h.Cred.Preferred
	}
}

// Next is the AuthCallback of the handshake: it returns the next method, or the
// error that ends the login.
func (a *Planner) Next(c *ssh.ClientAuthContext) (ssh.AuthMethod, error) {
	// The library would try the next method on a closed connection, and ask a
	// person in vain.
	if err := a.ended(); err != nil {
		return nil, err
	}
	a.seen.allowed = term.ForeignNames(c.AllowedMethods)
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
		case MethodPublicKey:
			if s := a.keys.next(); s != nil {
				a.seen.attempt(m)
				a.seen.offer(s.PublicKey())
				return ssh.PublicKeysCallback(func() ([]ssh.Signer, error) { return []ssh.Signer{s}, nil }), nil
			}
		case MethodKeyboard:
			if a.mayTry(a.rounds) {
				a.rounds++
				a.seen.attempt(m)
				return ssh.KeyboardInteractive(a.challenge), nil
			}
		case MethodPassword:
			if (!a.used || a.h.Cred.Password == "") && a.mayTry(a.passwords) {
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
func (a *Planner) mayTry(done int) bool {
	able := a.person.CanAsk() && done < a.h.Cred.Prompts
	if a.h.Cred.Password != "" {
		able = done == 0 && (!a.used || a.person.CanAsk())
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
func (a *Planner) password() (string, error) {
	if pw := a.h.Cred.Password; pw != "" {
		a.used = true
		return pw.Reveal(), nil
	}
	text := fmt.Sprintf("%s@%s's password: ", a.h.User, a.h.Host)
	if a.passwords > 1 {
		text = "Permission denied, please try again.\r\n" + text
	}
	return a.ask(term.Prompt{Kind: term.PromptPassword, Text: text})
}

// The most that is shown of a round of questions, in bytes.
const (
	maxName        = 200
	maxInstruction = 4 << 10
	maxQuestion    = 1000
)

// challenge answers one round of questions (RFC 4256 section 3.2). A round may
// have no questions.
func (a *Planner) challenge(name, instruction string, questions []string, echos []bool) ([]string, error) {
	// The caller's password answers one hidden question that asks for it; the
	// others go to the person.
	answers := make([]string, len(questions))
	name = term.ForeignLine(name, maxName)
	instruction = strings.TrimRight(term.Foreign(instruction, maxInstruction), "\n")
	for i, q := range questions {
		q = term.Foreign(q, maxQuestion)
		if a.h.Cred.Password != "" && !echos[i] && asksForPassword(q) {
			if a.used {
				return nil, errPasswordRefused
			}
			a.used = true
			answers[i] = a.h.Cred.Password.Reveal()
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
func (a *Planner) ask(q term.Prompt) (string, error) {
	answer, err := a.person.Ask(q)
	a.seen.stop(err)
	return answer, err
}

// exhausted returns the error of a login without any method left, with advice for
// the caller.
func (a *Planner) exhausted() error {
	if left := a.keys.excluded; len(left) > 0 {
		a.seen.note("IdentitiesOnly leaves out the agent's %s", strings.Join(left, ", "))
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s accepted none of the methods tried", a.h)
	switch {
	case len(a.seen.Tried) == 0 && a.withhold.rule != "":
		b.WriteString(" (none: a rule withholds the credentials)")
	case len(a.seen.Tried) == 0:
		fmt.Fprintf(&b, " (none: no credential for the methods it allows)")
	default:
		fmt.Fprintf(&b, " (%s)", strings.Join(a.seen.Tried, ", "))
	}
	fmt.Fprintf(&b, "; it allows %s", strings.Join(a.seen.allowed, ", "))
	for _, n := range a.seen.Notes {
		b.WriteString("; " + n)
	}
	var reason term.Reason
	var advice string
	switch {
	case a.untrusted:
		b.WriteString("; passwords and questions are switched off because the host key contradicts the record")
	case a.used:
		reason, advice = term.ReasonWrongPassword, "check the password and the user name"
	case slices.Contains(a.seen.Tried, MethodPassword), slices.Contains(a.seen.Tried, MethodKeyboard):
		reason, advice = term.ReasonWrongAnswer, "check the answers that were given, and the user name"
	case slices.Contains(a.seen.Tried, MethodPublicKey):
		advice = "check the user name, and that one of the keys offered is authorized there"
	case len(a.seen.Tried) == 0 && a.withhold.rule != "":
		advice = "only the operator can change that rule"
	case !a.person.CanAsk():
		reason = term.ReasonNoCredential
		advice = "set Auth.Password or Auth.PrivateKeyPEM, load a key into the agent, or allow questions"
	}
	if a.withhold.rule != "" && len(a.seen.Tried) == 0 {
		return &term.Error{
			Kind:   term.PolicyDenied,
			Msg:    b.String(),
			Advice: advice,
			Facts:  term.Facts{term.ConnectFailure{Hop: a.h.Name}, term.Denial{Rule: a.withhold.rule}},
		}
	}
	return &term.Error{Kind: term.AuthFailed, Reason: reason, Msg: b.String(), Advice: advice}
}
