package policy

import (
	"slices"
	"strings"
)

// The closed grammar: what a line may be if it has to be allowed, and what print writes. Each node holds only what every
// shell reads alike once it is printed.
type (
	// A list is pipelines, each joined to the one before by its operator.
	list []pipeline

	// A pipeline is commands, the output of each of which is the input of the next.
	pipeline struct {
		joined   string // "", ";", "&&" or "||"
		negated  bool
		commands []*simple
	}

	// A simple command (POSIX Shell Command Language, 2.9.1) is a program and its arguments, with variables that are set
	// for it alone and with files in place of its input and output.
	simple struct {
		assigns []assign
		words   []*token
		redirs  []redirect
	}

	assign struct {
		name  string
		value string
	}

	// A redirect is [fd]op file, or, if file is nil, [fd]>&copied.
	redirect struct {
		fd     int // 0, 1 or 2
		op     string
		file   *token
		copied int
	}

	// A token is one word: literal text, except for the parts that are file patterns, and a tilde before all of them.
	token struct {
		home  bool // it begins with ~, which is the home folder
		parts []part
	}

	part struct {
		text    string
		pattern bool // *, ? or [...], which the shell replaces by names of files
	}
)

// literalToken is the word that text is.
func literalToken(text string) *token { return &token{parts: []part{{text: text}}} }

// set makes the token literal text.
func (t *token) set(text string) { *t = *literalToken(text) }

// add appends a part, joined to a literal one before it.
func (t *token) add(p part) {
	if n := len(t.parts); n > 0 && !p.pattern && !t.parts[n-1].pattern {
		t.parts[n-1].text += p.text
		return
	}
	t.parts = append(t.parts, p)
}

// hasPattern reports whether the shell looks for files in place of the token.
func (t *token) hasPattern() bool {
	return slices.ContainsFunc(t.parts, func(p part) bool { return p.pattern })
}

// literal returns the token's text, if that is all there is to it.
func (t *token) literal() (string, bool) {
	switch {
	case t.home || t.hasPattern():
		return "", false
	case len(t.parts) == 0:
		return "", true
	}
	return t.parts[0].text, true
}

// word is the token as the rules see it: a hole for each part that the shell replaces.
func (t *token) word() word {
	var b strings.Builder
	w := word{from: t}
	if t.home {
		b.WriteRune(hole)
	}
	for _, p := range t.parts {
		if p.pattern {
			b.WriteRune(hole)
			w.multi = true
			continue
		}
		b.WriteString(p.text)
	}
	w.text = b.String()
	return w
}
