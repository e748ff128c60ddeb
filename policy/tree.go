package policy

import (
	"slices"
	"strings"
)

// The closed grammar, for lines that need permission. print writes it. Each
// node holds only constructs that all shells read alike after printing.
type (
	// A list is a sequence of pipelines; each has the operator before it.
	list []pipeline

	// A pipeline is a sequence of commands; the output of each is the input of the
	// next.
	pipeline struct {
		joined   string // "", ";", "&&" or "||"
		negated  bool
		commands []*simple
	}

	// A simple command (POSIX Shell Command Language, 2.9.1) is a program and its
	// arguments, with variables that are set only for it, and with redirections.
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

	// A token is one word: literal text, except for file patterns and a leading
	// tilde.
	token struct {
		home  bool // begins with ~, the home folder
		parts []part
	}

	part struct {
		text    string
		pattern bool // *, ? or [...], which the shell expands to file names
	}
)

// literalToken returns the token for literal text.
func literalToken(text string) *token { return &token{parts: []part{{text: text}}} }

// set replaces the token by literal text.
func (t *token) set(text string) { *t = *literalToken(text) }

// add appends a part. It is joined to a literal part before it.
func (t *token) add(p part) {
	if n := len(t.parts); n > 0 && !p.pattern && !t.parts[n-1].pattern {
		t.parts[n-1].text += p.text
		return
	}
	t.parts = append(t.parts, p)
}

// hasPattern reports whether the shell expands the token to file names.
func (t *token) hasPattern() bool {
	return slices.ContainsFunc(t.parts, func(p part) bool { return p.pattern })
}

// literal returns the token's text if it has no other parts.
func (t *token) literal() (string, bool) {
	switch {
	case t.home || t.hasPattern():
		return "", false
	case len(t.parts) == 0:
		return "", true
	}
	return t.parts[0].text, true
}

// word returns the token as the rules see it, with a hole for each part that
// the shell expands.
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
