package policy

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// permissionsName is the environment variable with rules in the form of other terminal servers:
//
//	{"bash": {"npm *": "allow", "git push": "deny", "terraform *": "ask"}, "external_directory": "deny"}
//
// "bash" is one action for all commands, or one for each pattern. The words of a pattern are looked for in order among those
// of the command; a pattern of one word is any use of that program. Of the patterns that match, the longest counts. A
// command that none matches is allowed. "external_directory" is about folders outside of the one that ptyctl runs in.
const permissionsName = "PTY_PERMISSIONS"

type verdict string

const (
	allow verdict = "allow"
	ask   verdict = "ask"
	deny  verdict = "deny"
)

// permissions are those rules. A nil one has none.
type permissions struct {
	all      verdict // for each command; empty: rules
	rules    []permission
	external verdict

	consented bool // a person has agreed: what asks is not asked again
}

type permission struct {
	pattern
	verdict
}

// parsePermissions reads the value of PTY_PERMISSIONS. What is wrong in it is an error: to leave a rule out would allow what
// it denies.
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
			w := newWildcard(text)
			if len(w.parts) == 0 {
				return nil, fmt.Errorf(`"bash" has an empty pattern; give the words of a command`)
			}
			p.rules = append(p.rules, permission{pattern{Rule{Text: text, Name: permissionsName, Where: permissionsName}, w}, v})
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

func (p *permissions) judgesCommands() bool {
	return p != nil && (p.all == deny || p.all == ask || len(p.rules) > 0)
}

// bounds reports whether what no narrower rule allows is denied.
func (p *permissions) bounds() bool {
	return p != nil && (p.all == deny || p.all == ask || slices.ContainsFunc(p.rules, func(r permission) bool {
		return r.verdict != allow && !slices.ContainsFunc(strings.Fields(r.Text), func(word string) bool { return word != "*" })
	}))
}

// command says which rule counts for a command, and what it says; empty: none does. named reports whether one that names the
// program allows it.
func (p *permissions) command(words []word) (rule Rule, named bool, v verdict) {
	if !p.judgesCommands() {
		return Rule{}, false, ""
	}
	if p.all != "" {
		return Rule{Text: "bash", Name: permissionsName}, false, p.unasked(p.all)
	}
	if words[0].text == "<" { // what is read is ruled by deny alone
		return Rule{}, false, ""
	}
	for _, r := range p.rules { // the later ones count more
		switch {
		case r.must(words):
			_, named = r.parts[0].literal()
			named = named && r.verdict == allow
			rule, v = r.Rule, p.unasked(r.verdict)
		case p.consented && r.verdict == ask: // which may not even be about it, and so is no answer to one that denies
		case r.verdict != allow && r.may(words):
			rule, named, v = r.Rule, false, r.verdict
		}
	}
	return rule, named, v
}

// unasked is a verdict, or none where it is to ask somebody who has agreed.
func (p *permissions) unasked(v verdict) verdict {
	if p.consented && v == ask {
		return ""
	}
	return v
}

func (v verdict) why() string {
	switch v {
	case deny:
		return "it is denied"
	case ask:
		return "it needs the consent of a person"
	}
	return ""
}

func (r permission) may(words []word) bool {
	for _, n := range names(words[0]) {
		if r.parts[0].may(n.text) && among(r.parts[1:], words[1:], nil) {
			return true
		}
	}
	return false
}

// must is may for a command whatever its holes are.
func (r permission) must(words []word) bool {
	if !r.parts[0].must(words[0].text) {
		return false
	}
	args := words[1:]
	for _, p := range r.parts[1:] {
		if text, _ := p.literal(); text == "*" {
			continue
		}
		i := slices.IndexFunc(args, func(a word) bool { return p.must(a.text) })
		if i < 0 {
			return false
		}
		args = args[i+1:]
	}
	return true
}

// folder judges a working directory that lies outside of ptyctl's own.
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
