package grammar

import (
	"strings"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/syntax"

	"ptyctl/internal/lazyregexp"
)

// readToken parses one word. It removes quotes and backslashes; text, file
// patterns and a tilde remain.
func readToken(w *syntax.Word) (*Token, error) {
	t := &Token{}
	for i, p := range w.Parts {
		switch p := p.(type) {
		case *syntax.Lit:
			if i == 0 && p.Value == "~" && len(w.Parts) > 1 { // in zsh, ~[ calls a function
				return nil, Outside("~ with something other than / behind it", "write the folder's path, or put "+
					"the ~ in quotes")
			}
			if err := t.bare(p.Value, i == 0); err != nil {
				return nil, err
			}
		case *syntax.SglQuoted:
			text := p.Value
			if p.Dollar {
				var err error
				if text, err = decoded(text); err != nil {
					return nil, err
				}
			}
			t.add(Part{text: text})
		case *syntax.DblQuoted:
			if err := t.quoted(p); err != nil {
				return nil, err
			}
		default:
			return nil, expansion(p)
		}
	}
	return t, nil
}

// decoded returns the text of $'...'.
func decoded(text string) (string, error) {
	// Not nil: all calls without a configuration share one, and write to it.
	text, _, err := expand.Format(&expand.Config{}, text, nil)
	if err != nil || strings.ContainsFunc(text, isControl) {
		return "", Outside("$'...' with such characters", "use '...'")
	}
	return text, nil
}

// isControl reports whether c is a control character that a printed line must
// not contain.
func isControl(c rune) bool { return c < ' ' && c != '\n' && c != '\t' || c == 0x7f }

// expansion returns the refusal of an expansion with an unknown result.
func expansion(p syntax.WordPart) error {
	switch p := p.(type) {
	case *syntax.ParamExp:
		name := "NAME"
		if p.Param != nil {
			name = p.Param.Value
		}
		instead := "write its value, or put the text in single quotes if it is none"
		switch {
		case name == "?":
			instead = "read the exit code in the answer to the call before"
		case name == "HOME":
			instead = "write ~"
		case VariableName.MatchString(name):
			instead += "; printenv " + name + " shows it, if an entry allows that"
		}
		return Outside("a variable ($"+name+")", instead)
	case *syntax.CmdSubst:
		return Outside("a command substitution", "run the inner command first, and write out what it printed; "+
			"or put the "+
			"text in single quotes if it is none")
	case *syntax.ArithmExp:
		return Outside("$((...))", "write the number out")
	case *syntax.ProcSubst:
		return Outside("a process substitution", "run the inner command first, with > FILE")
	case *syntax.ExtGlob:
		return Outside("this file pattern", "use *, ? and [abc], or quotes if it is none")
	}
	return Outside("this expansion", "write its value in single quotes")
}

// quoted adds the content of double quotes.
func (t *Token) quoted(q *syntax.DblQuoted) error {
	if q.Dollar {
		return Outside(`$"..."`, `use "..."`)
	}
	t.add(Part{})
	for _, p := range q.Parts {
		lit, ok := p.(*syntax.Lit)
		if !ok {
			return expansion(p)
		}
		var b strings.Builder
		ReadQuoted(&b, &syntax.DblQuoted{Parts: []syntax.WordPart{lit}})
		t.add(Part{text: b.String()})
	}
	return nil
}

// bare adds unquoted text.
func (t *Token) bare(text string, first bool) error {
	if first && strings.HasPrefix(text, "~") {
		rest := text[1:]
		if rest != "" && rest[0] != '/' {
			return Outside(
				"the home folder of another user ("+Shorten(text)+")",
				"write the folder's path, or quotes if it is none",
			)
		}
		t.home, text = true, rest
	}
	for i := 0; i < len(text); {
		switch c := text[i]; c {
		case '\\':
			if i++; i < len(text) {
				if text[i] != '\n' {
					t.add(Part{text: text[i : i+1]})
				}
				i++
			}
		case '*', '?':
			t.add(Part{text: text[i : i+1], pattern: true})
			i++
		case '[':
			set, err := bracket(text[i:])
			if err != nil {
				return err
			}
			t.add(Part{text: text[i : i+set], pattern: set > 1})
			i += set
		default:
			t.add(Part{text: text[i : i+1]})
			i++
		}
	}
	return nil
}

// bracket returns the length of the set of characters at the start of text, or
// 1 if the bracket starts no set.
func bracket(text string) (int, error) {
	end := strings.IndexByte(text, ']')
	if end < 0 {
		return 1, nil
	}
	for _, c := range text[1:end] {
		if c > 0x7f || !isAlphanumeric(byte(c)) && c != '.' && c != '_' && c != '-' {
			return 0, Outside(
				"the file pattern "+Shorten(text[:end+1]),
				"use letters and digits in the brackets, or quotes if it is none",
			)
		}
	}
	if end == 1 { // [] is an error in some shells
		return 0, Outside("an empty [] ", "put it in quotes")
	}
	return end + 1, nil
}

// VariableName matches the name of a variable.
var VariableName = lazyregexp.New(`^[A-Za-z_][A-Za-z0-9_]*$`)
