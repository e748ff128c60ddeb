package grammar

import (
	"slices"
	"strings"
)

// The closed grammar, for lines that need permission. Dialect prints it. Each
// node holds only constructs that all shells read alike after printing.
type (
	// A List is a sequence of pipelines; each has the operator before it.
	List []Pipeline

	// A Pipeline is a sequence of commands; the output of each is the input of the
	// next.
	Pipeline struct {
		joined   string // "", ";", "&&" or "||"
		negated  bool
		Commands []*Simple
	}

	// A Simple command (POSIX Shell Command Language, 2.9.1) is a program and its
	// arguments, with variables that are set only for it, and with redirections.
	Simple struct {
		Assigns []Assign
		Words   []*Token
		Redirs  []Redirect
	}

	// An Assign is NAME=value before a command, for it alone.
	Assign struct {
		Name  string
		Value string
	}

	// A Redirect is [fd]op file, or, if file is nil, [fd]>&copied.
	Redirect struct {
		Fd     int // 0, 1 or 2
		op     string
		File   *Token
		copied int
	}

	// A Token is one word: literal text, except for file patterns and a leading
	// tilde.
	Token struct {
		home  bool // begins with ~, the home folder
		parts []Part
	}

	// A Part is a piece of a word: text, or a pattern.
	Part struct {
		text    string
		pattern bool // *, ? or [...], which the shell expands to file names
	}
)

// LiteralToken returns the token for literal text.
func LiteralToken(text string) *Token { return &Token{parts: []Part{{text: text}}} }

// Replace replaces the token by literal text.
func (t *Token) Replace(text string) { *t = *LiteralToken(text) }

// add appends a part. It is joined to a literal part before it.
func (t *Token) add(p Part) {
	if n := len(t.parts); n > 0 && !p.pattern && !t.parts[n-1].pattern {
		t.parts[n-1].text += p.text
		return
	}
	t.parts = append(t.parts, p)
}

// hasPattern reports whether the shell expands the token to file names.
func (t *Token) hasPattern() bool {
	return slices.ContainsFunc(t.parts, func(p Part) bool { return p.pattern })
}

// Literal returns the token's text if it has no other parts.
func (t *Token) Literal() (string, bool) {
	switch {
	case t.home || t.hasPattern():
		return "", false
	case len(t.parts) == 0:
		return "", true
	}
	return t.parts[0].text, true
}

// Word returns the token as the rules see it, with a hole for each part that
// the shell expands.
func (t *Token) Word() Word {
	var b strings.Builder
	w := Word{From: t}
	if t.home {
		b.WriteRune(Hole)
	}
	for _, p := range t.parts {
		if p.pattern {
			b.WriteRune(Hole)
			w.Multi = true
			continue
		}
		b.WriteString(p.text)
	}
	w.Text = b.String()
	return w
}
