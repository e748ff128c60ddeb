package profile_test

import (
	"cmp"
	"regexp"
	"testing"

	"ptyctl/profile"
	"ptyctl/session/prompt"
)

// The questions of every family must be recognised by their kinds, with the pagers of the family and without: a
// question that is not seen leaves a caller waiting, and one that is taken for a prompt lets it type over it.
func TestQuestions(t *testing.T) {
	for _, name := range profile.Names() {
		p, _ := profile.Get(name)
		for _, q := range p.Questions {
			want := cmp.Or(q.Kind, prompt.YesNo)
			if q.Source == "" {
				t.Errorf("%s: the question %q has no source", name, q.Asks)
			}
			for _, pagers := range [][]*regexp.Regexp{nil, profile.Regexps(p.Pagers)} {
				got := prompt.Waits(q.Asks, pagers)
				if got == nil {
					got = prompt.Asks(q.Asks)
				}
				if got == nil || got.Kind != want || got.Text != q.Asks {
					t.Errorf("%s: %q waits for %+v, want %s", name, q.Asks, got, want)
				}
			}
			if p.Prompt.Regex.MatchString(q.Asks) {
				t.Errorf("%s: the question %q is taken for the prompt", name, q.Asks)
			}
		}
	}
}

// The pagers of every family must be recognised by callers that name no family, and its prompts must ask nothing.
func TestSeenWithoutAProfile(t *testing.T) {
	for _, name := range profile.Names() {
		p, _ := profile.Get(name)
		for _, pager := range p.Pagers {
			for _, line := range pager.Matches {
				if got := prompt.Waits(line, nil); got == nil || got.Kind != prompt.Pager {
					t.Errorf("%s: the pager %q waits for %+v, want %s", name, line, got, prompt.Pager)
				}
			}
		}
		for _, line := range p.Prompt.Matches {
			if got := prompt.Asks(line); got != nil {
				t.Errorf("%s: the prompt %q asks %+v, want no question", name, line, got)
			}
		}
	}
}
