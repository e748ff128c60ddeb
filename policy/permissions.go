package policy

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"ptyctl/policy/grammar"
)

// permissionsName is the environment variable with rules in the form of other
// terminal servers:
//
//	{"bash": {"npm *": "allow", "git push": "deny", "terraform *": "ask"}, "external_directory": "deny"}
//
// "bash" holds one action for all commands, or one for each pattern. The words
// of a pattern must occur in order in the command; a pattern of one word
// matches every use of that program. Of the matching patterns the longest
// counts. A command without a match is allowed. "external_directory" is about
// folders outside the one in which ptyctl runs.
const permissionsName = "PTY_PERMISSIONS"

// A verdict is the action for a match.
type verdict string

const (
	allow verdict = "allow"
	ask   verdict = "ask"
	deny  verdict = "deny"
)

// permissions holds these rules. A nil *permissions has none.
type permissions struct {
	all      verdict // for each command; empty: see rules
	rules    []permission
	external verdict

	consented bool // a person has consented: ask denies nothing
}

// A permission is one pattern with its verdict.
type permission struct {
	pattern
	verdict
}

// parsePermissions parses the value of PTY_PERMISSIONS. Every mistake must be
// an error, because to ignore a rule could allow a denied command.
func parsePermissions(text string) (*permissions, error) {
	if text == "" {
		return nil, nil
	}
	var in struct {
		Bash     json.RawMessage `json:"bash"`
		External verdict         `json:"external_directory"`
	}
	if err := json.Unmarshal([]byte(text), &in); err != nil {
		return nil, fmt.Errorf(
			`it is not such JSON as {"bash": {"npm *": "allow", "git push": "deny"}, "external_directory": "deny"}: %w`,
			err,
		)
	}
	p := &permissions{external: in.External}
	if in.Bash != nil && json.Unmarshal(in.Bash, &p.all) != nil {
		var rules map[string]verdict
		if err := json.Unmarshal(in.Bash, &rules); err != nil {
			return nil, fmt.Errorf(`"bash" is neither an action nor an object of patterns with actions: %w`, err)
		}
		for text, v := range rules {
			w := grammar.NewWildcard(text)
			if len(w.Parts) == 0 {
				return nil, fmt.Errorf(`"bash" has an empty pattern; give the words of a command`)
			}
			p.rules = append(
				p.rules,
				permission{pattern{Rule{Text: text, Name: permissionsName, Where: permissionsName}, w}, v},
			)
		}
	}
	slices.SortFunc(p.rules, func(a, b permission) int {
		return cmp.Or(cmp.Compare(len(a.Text), len(b.Text)), cmp.Compare(a.Text, b.Text))
	})
	actions := []verdict{p.all, p.external}
	for _, r := range p.rules {
		actions = append(actions, r.verdict)
	}
	for i, v := range actions {
		if v != allow && v != ask && v != deny && (v != "" || i > 1) {
			return nil, fmt.Errorf("%q is no action; give allow, ask or deny", v)
		}
	}
	return p, nil
}

// judgesCommands reports whether there are rules for commands.
func (p *permissions) judgesCommands() bool {
	return p != nil && (p.all == deny || p.all == ask || len(p.rules) > 0)
}

// bounds reports whether commands that no narrower rule allows are denied.
func (p *permissions) bounds() bool {
	return p != nil && (p.all == deny || p.all == ask || slices.ContainsFunc(p.rules, func(r permission) bool {
		return r.verdict != allow && !slices.ContainsFunc(strings.Fields(r.Text),
			func(word string) bool { return word != "*" })
	}))
}

// command returns the rule that decides about a command and its verdict, or ""
// if none does. named reports whether a rule with the program's name allows it.
func (p *permissions) command(words []grammar.Word) (rule Rule, named bool, v verdict) {
	if !p.judgesCommands() {
		return Rule{}, false, ""
	}
	if p.all != "" {
		return Rule{Text: "bash", Name: permissionsName}, false, p.unasked(p.all)
	}
	if words[0].Text == "<" { // only deny rules apply to files that are read
		return Rule{}, false, ""
	}
	for _, r := range p.rules { // later rules count more
		switch {
		case r.must(words):
			_, named = r.Parts[0].Literal()
			named = named && r.verdict == allow
			rule, v = r.Rule, p.unasked(r.verdict)
		case p.consented && r.verdict == ask: // may not apply to this command, so it cannot override a rule that denies
		case r.verdict != allow && r.may(words):
			rule, named, v = r.Rule, false, r.verdict
		}
	}
	return rule, named, v
}

// unasked returns v, or no verdict if v is ask and a person has consented.
func (p *permissions) unasked(v verdict) verdict {
	if p.consented && v == ask {
		return ""
	}
	return v
}

// why returns the reason for a denial.
func (v verdict) why() string {
	switch v {
	case deny:
		return "it is denied"
	case ask:
		return "it needs the consent of a person"
	}
	return ""
}

// may reports whether the pattern may match, depending on the unknown parts of
// words.
func (r permission) may(words []grammar.Word) bool {
	for _, n := range names(words[0]) {
		if r.Parts[0].May(n.Text) && among(r.Parts[1:], words[1:], nil) {
			return true
		}
	}
	return false
}

// must reports whether the pattern matches for any value of the unknown parts.
func (r permission) must(words []grammar.Word) bool {
	if !r.Parts[0].Must(words[0].Text) {
		return false
	}
	args := words[1:]
	for _, p := range r.Parts[1:] {
		if text, _ := p.Literal(); text == "*" {
			continue
		}
		i := slices.IndexFunc(args, func(a grammar.Word) bool { return p.Must(a.Text) })
		if i < 0 {
			return false
		}
		args = args[i+1:]
	}
	return true
}

// folder judges a working directory outside ptyctl's own.
func (p *permissions) folder(dir string) error {
	if p == nil || p.unasked(p.external).why() == "" {
		return nil
	}
	return &denial{
		rule: Rule{
			Text: "external_directory",
			Name: permissionsName,
		}, part: dir, why: p.external.why(), asks: p.external == ask,
		instead: "use a folder below the one that ptyctl was started in",
	}
}
