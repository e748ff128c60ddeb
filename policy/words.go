package policy

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// A word is one argument of a command after expansion, as far as it is known.
type word struct {
	text  string // with holes
	multi bool   // it may expand to several words, or to none
	tilde bool   // it begins with a ~ that the shell expands
	cut   int    // text after this many bytes is unknown; 0: none
	from  *token // closed grammar: its token in the line; nil: none
}

// literal reports whether all of the word is known.
func (w word) literal() bool { return !w.multi && !w.tilde && !strings.ContainsRune(w.text, hole) }

// plainWord returns the word for literal text.
func plainWord(text string) word { return word{text: text} }

// readWord returns the expansion of w by a shell. Parts that shells expand
// differently are holes, or were refused before.
func readWord(w *syntax.Word) word {
	if w == nil {
		return word{}
	}
	var b strings.Builder
	var out word
	for i, part := range w.Parts {
		switch p := part.(type) {
		case *syntax.Lit:
			out.bare(&b, p.Value, i == 0)
		case *syntax.SglQuoted:
			if p.Dollar {
				b.WriteRune(hole)
			} else {
				b.WriteString(p.Value)
			}
		case *syntax.DblQuoted:
			readQuoted(&b, p)
			for _, inner := range p.Parts {
				if x, ok := inner.(*syntax.ParamExp); ok && x.Param != nil && (x.Param.Value == "@" || x.Index != nil) {
					out.multi = true // "$@" expands to as many words as there are arguments
				}
			}
		default:
			b.WriteRune(hole)
			out.multi = true
		}
	}
	out.text = b.String()
	if out.cut > 0 {
		out.text = out.text[:out.cut]
	}
	return out
}

// opensBrace reports whether an unquoted brace is open at the end of w.
func opensBrace(w *syntax.Word) bool {
	depth := 0
	for _, part := range w.Parts {
		lit, ok := part.(*syntax.Lit)
		if !ok {
			continue
		}
		for i := 0; i < len(lit.Value); i++ {
			switch lit.Value[i] {
			case '\\':
				i++
			case '{':
				depth++
			case '}':
				depth = max(depth-1, 0)
			}
		}
	}
	return depth > 0
}

// open marks the rest of the word as unknown.
func (w *word) open(b *strings.Builder) {
	b.WriteRune(hole)
	w.multi = true
	if w.cut == 0 {
		w.cut = b.Len()
	}
}

// bare adds unquoted text without its backslashes, and with holes for file
// patterns.
func (w *word) bare(b *strings.Builder, text string, first bool) {
	if b.Len() == 0 && strings.HasPrefix(text, "~") { // at the start, or after empty quotes
		w.tilde = true
	}
	if strings.Contains(strings.ReplaceAll(text, "{}", ""), "{") { // braces expand to several words in most shells
		b.WriteRune(hole)
		w.multi = true
		return
	}
	for i := 0; i < len(text); i++ {
		switch c := text[i]; c {
		case '\\':
			switch i++; {
			case i == len(text) || text[i] == '\n':
			case strings.IndexByte(fishEscapes, text[i]) >= 0:
				b.WriteRune(hole) // including the text that may belong to it
				for i+1 < len(text) && isAlphanumeric(text[i+1]) {
					i++
				}
			default:
				b.WriteByte(text[i])
			}
		case '=':
			if b.Len() == 0 { // zsh puts the program's path there, also behind empty quotes
				b.WriteRune(hole)
			}
			b.WriteByte(c)
		case '*', '?':
			b.WriteRune(hole)
			w.multi = true
		case '[':
			if first && text == "[" {
				b.WriteByte(c)
				continue
			}
			w.open(b) // where the bracket ends may be in a later part
		default:
			b.WriteByte(c)
		}
	}
}

// fishEscapes are the letters that form an escape after an unquoted backslash in
// fish, for example \n for a line end.
const fishEscapes = "abefnrtvxXuUc01234567"

// isAlphanumeric reports whether c may be part of a variable's name.
func isAlphanumeric(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}

// readQuoted adds the content of double quotes, in which a backslash escapes only
// few characters (POSIX Shell Command Language, 2.2.3).
func readQuoted(b *strings.Builder, q *syntax.DblQuoted) {
	for _, part := range q.Parts {
		lit, ok := part.(*syntax.Lit)
		if !ok {
			b.WriteRune(hole)
			continue
		}
		text := lit.Value
		for i := 0; i < len(text); i++ {
			if text[i] == '\\' && i+1 < len(text) && strings.IndexByte("$`\"\\\n", text[i+1]) >= 0 {
				if i++; text[i] == '\n' {
					continue
				}
			}
			b.WriteByte(text[i])
		}
	}
	if q.Dollar { // shells without $"" have a dollar there
		b.WriteRune(hole)
	}
}

// literals are words without holes.
func literals(words []word) ([]string, bool) {
	out := make([]string, len(words))
	for i, w := range words {
		if !w.literal() {
			return nil, false
		}
		out[i] = w.text
	}
	return out, true
}

// shown writes words for a person: holes as …, not too many.
func shown(words []word) string {
	parts := make([]string, len(words))
	for i, w := range words {
		parts[i] = w.text
	}
	return cut(strings.ReplaceAll(strings.Join(parts, " "), string(hole), "…"))
}

// maxShown is how much of a command a denial repeats, in runes.
const maxShown = 120

// cut shortens text for a message.
func cut(text string) string {
	if r := []rune(text); len(r) > maxShown {
		return string(r[:maxShown]) + "…"
	}
	return text
}
