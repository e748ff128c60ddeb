package policy

import (
	"errors"
	"fmt"
	"strings"

	"ptyctl/policy/grammar"
	"ptyctl/term"
)

// A Rule is one entry of the operator's rules.
type Rule struct {
	Text  string
	Name  string // configuration key, or PTY_PERMISSIONS
	Where string // FILE:LINE or another origin; may be empty
}

// Names of rules that exist only once, if the Rules give them no other. They are
// not empty, because an empty name means that no rule has decided yet.
const (
	nameTyping     = "typing"
	namePreset     = "preset"
	nameReport     = "mode"
	nameCredential = "credential"
)

// advice holds the next step after a denial, by its reason.
var advice = map[term.Reason]string{term.ReasonRunCommands: "run commands, which are judged one by one"}

// String names the rule so that an operator can find it.
func (r Rule) String() string {
	s := r.Name
	if r.Text != "" {
		s += fmt.Sprintf(" %q", r.Text)
	}
	if r.Where != "" && r.Where != r.Name {
		s += " (" + r.Where + ")"
	}
	return s
}

// A denial is the reason why an action is not allowed.
type denial struct {
	rule    Rule   // zero until the rule is known
	part    string // of the command, as it was parsed
	why     string
	instead string // advice for the caller
	reason  term.Reason
	allowed []Rule
	asks    bool // the rule would accept a person's consent
}

// Error names the rule, the part of the command and the reason.
func (d *denial) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "the operator's rule %s denies this", d.rule)
	if d.part != "" {
		fmt.Fprintf(&b, ": ‘%s’", d.part)
	}
	if d.why != "" {
		b.WriteString(": " + d.why)
	}
	if d.instead != "" {
		b.WriteString("; " + d.instead)
	}
	if texts := d.texts(); len(texts) > 0 {
		b.WriteString(". Allowed: " + strings.Join(texts, ", "))
	}
	return b.String()
}

// maxAllowed is the most allowed entries that a denial lists.
const maxAllowed = 20

// texts returns the parts of the message.
func (d *denial) texts() []string {
	var out []string
	for i, r := range d.allowed {
		if i == maxAllowed {
			return append(out, "…")
		}
		out = append(out, r.Text)
	}
	return out
}

// ByRule returns the name and the text of the rule, as [unwrap.Ruled] has it.
func (d *denial) ByRule() (name, text string) { return d.rule.Name, d.rule.Text }

// asDenial returns the denial that err is. A refusal becomes one without a rule.
func asDenial(err error) (*denial, bool) {
	if r, ok := errors.AsType[*grammar.Refusal](err); ok {
		return &denial{part: r.Part, why: r.Why, instead: r.Instead}, true
	}
	return errors.AsType[*denial](err)
}

// refusal returns the error for the caller.
func (d *denial) refusal(a term.Action) *term.Error {
	return &term.Error{
		Op: string(a.Verb), Session: a.Session, Kind: term.PolicyDenied, Msg: d.Error(),
		Reason: d.reason, Advice: advice[d.reason],
		Facts: term.Facts{term.Denial{Rule: d.rule.String(), Allowed: d.texts()}},
	}
}
