package tools

import (
	"cmp"
	"fmt"
	"regexp"
	"strings"

	"ptyctl/mcpapi/schema"
	"ptyctl/profile"
	"ptyctl/session"
	"ptyctl/session/lane"
	"ptyctl/term"
)

// patternArgs are the patterns that three tools take.
type patternArgs struct {
	Profile family    `json:"profile" is:"filled" doc:"cisco_ios, ..." eg:"'profile':'cisco_ios','prompt_regex':null"`
	Prompt  string    `json:"prompt_regex" is:"filled" doc:"last line" eg:"'prompt_regex':'[>#] $'"`
	Pagers  *[]string `json:"pager_regexes" doc:"--More--" eg:"'pager_regexes':['--More--']"`
	Errors  *[]string `json:"error_regexes" doc:"for hints" eg:"'error_regexes':['^% ']"`
}

// expectArgs are the arguments of the tools that also turn pages.
type expectArgs struct {
	patternArgs
	AutoPage *autoPage `json:"auto_page" doc:"turn pages" eg:"'auto_page':{'key':'space'},'pager_regexes':['--More--']"`
}

// family is the name of a device family.
type family string

// Canonical returns the name in the form of the profiles.
func (family) Canonical(text string) string {
	return strings.NewReplacer("-", "_", " ", "_").Replace(strings.ToLower(strings.TrimSpace(text)))
}

// autoPage is how ptyctl turns a pager's pages itself.
type autoPage struct {
	Key pageKey `json:"key" doc:"default space" eg:"'key':'space'"`
	Max *int    `json:"max_pages" max:"10000" doc:"default 100" eg:"'max_pages':20"`
}

// pageKey is the name of a key that turns a page.
type pageKey string

// Enum returns all page keys.
func (pageKey) Enum() []string { return lane.PageKeys() }

// compile makes the session's patterns from the arguments: those of the profile, each overridden by the argument of
// that name. An empty list clears the profile's list. pagers are the patterns to use if e gives none.
func (e *expectArgs) compile(path string, pagers []*regexp.Regexp) (session.Expect, error) {
	x, err := e.ofProfile(path + ".profile")
	if err != nil {
		return x, err
	}
	// Empty means that the call gives none: the profile's stays, if it has one.
	if e.Prompt != "" {
		if x.Prompt, err = schema.RegexpArgument(path+".prompt_regex", e.Prompt); err != nil {
			return x, err
		}
	}
	for _, list := range []struct {
		name     string
		patterns *[]string
		to       *[]*regexp.Regexp
	}{{"pager_regexes", e.Pagers, &x.Pagers}, {"error_regexes", e.Errors, &x.Errors}} {
		// A pointer, because an empty list differs from no list: [] clears the profile's list.
		if list.patterns == nil {
			continue
		}
		if *list.to, err = schema.RegexpArguments(path+"."+list.name, list.patterns); err != nil {
			return x, err
		}
	}
	if a := e.AutoPage; a != nil {
		x.AutoPage = &session.AutoPage{Key: string(a.Key), Max: lane.DefaultPages}
		if a.Max != nil {
			x.AutoPage.Max = *a.Max
		}
		if x.Pagers != nil {
			pagers = x.Pagers
		}
		// Without a pattern a page would never be turned, and the call would wait until its deadline without a
		// reason to be seen.
		if len(pagers) == 0 && x.AutoPage.Max > 0 {
			path += ".auto_page"
			return x, &term.Error{
				Kind: term.InvalidArgument, Facts: term.Facts{term.ArgumentFault{Field: term.Field(path)}},
				Msg: path + " needs to know what the pager looks like: give profile or pager_regexes with it",
			}
		}
	}
	return x, nil
}

// ofProfile returns the patterns of the profile that e names.
func (e *expectArgs) ofProfile(path string) (session.Expect, error) {
	if e.Profile == "" {
		return session.Expect{}, nil
	}
	p, ok := profile.Get(string(e.Profile))
	if !ok {
		names := profile.Names()
		return session.Expect{}, &term.Error{
			Kind: term.InvalidArgument, Facts: term.Facts{term.ArgumentFault{Field: term.Field(path), Allowed: names}},
			Msg: fmt.Sprintf(
				"%s %q does not exist; use one of %s, or give prompt_regex and pager_regexes",
				path,
				schema.Shorten(string(e.Profile)),
				strings.Join(names, ", "),
			),
		}
	}
	return session.Expect{
		Profile: p.Name, Class: session.Class(p.Class),
		Prompt: p.Prompt.Regex, Pagers: profile.Regexps(p.Pagers), Errors: profile.Regexps(p.Errors),
	}, nil
}

// expectOut are the patterns in force.
type expectOut struct {
	Profile   string        `json:"profile,omitempty"`
	Class     session.Class `json:"class,omitempty"`
	Prompt    string        `json:"prompt_regex,omitempty"`
	Pagers    []string      `json:"pager_regexes,omitempty"`
	Errors    []string      `json:"error_regexes,omitempty"`
	AutoPage  *autoPageOut  `json:"auto_page,omitempty"`
	PagingOff []string      `json:"paging_off,omitempty"` // the profile's commands that turn the pager off
	Note      string        `json:"note,omitempty"`       // of the profile
}

type autoPageOut struct {
	Key string `json:"key"`
	Max int    `json:"max_pages"`
}

// newExpectOut is the wire form of the patterns in force.
func newExpectOut(e session.Expect) *expectOut {
	out := &expectOut{Profile: e.Profile, Class: e.Class, Pagers: sources(e.Pagers), Errors: sources(e.Errors)}
	if e.Prompt != nil {
		out.Prompt = e.Prompt.String()
	}
	if a := e.AutoPage; a != nil && a.Max > 0 {
		out.AutoPage = &autoPageOut{Key: cmp.Or(a.Key, lane.PageKeys()[0]), Max: a.Max}
	}
	// These are only shown: ptyctl types only what the caller asks for.
	if p, ok := profile.Get(e.Profile); ok {
		out.PagingOff, out.Note = p.PagingOff, p.Note
	}
	return out
}

// sources returns the text of each pattern.
func sources(list []*regexp.Regexp) []string {
	out := make([]string, len(list))
	for i, re := range list {
		out[i] = re.String()
	}
	return out
}
