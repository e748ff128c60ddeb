package grammar

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// A Word is one argument of a command after expansion, as far as it is known.
type Word struct {
	Text  string // with holes
	Multi bool   // it may expand to several words, or to none
	Tilde bool   // it begins with a ~ that the shell expands
	cut   int    // text after this many bytes is unknown; 0: none
	From  *Token // closed grammar: its token in the line; nil: none
}

// Literal reports whether all of the word is known.
func (w Word) Literal() bool { return !w.Multi && !w.Tilde && !strings.ContainsRune(w.Text, Hole) }

// PlainWord returns the word for literal text.
func PlainWord(text string) Word { return Word{Text: text} }

// ReadWord returns the expansion of w by a shell. Parts that shells expand
// differently are holes, or were refused before.
func ReadWord(w *syntax.Word) Word {
	if w == nil {
		return Word{}
	}
	var b strings.Builder
	var out Word
	for i, part := range w.Parts {
		switch p := part.(type) {
		case *syntax.Lit:
			out.bare(&b, p.Value, i == 0)
		case *syntax.SglQuoted:
			if p.Dollar {
				b.WriteRune(Hole)
			} else {
				b.WriteString(p.Value)
			}
		case *syntax.DblQuoted:
			ReadQuoted(&b, p)
			for _, inner := range p.Parts {
				if x, ok := inner.(*syntax.ParamExp); ok && x.Param != nil && (x.Param.Value == "@" || x.Index != nil) {
					out.Multi = true // "$@" expands to as many words as there are arguments
				}
			}
		default:
			b.WriteRune(Hole)
			out.Multi = true
		}
	}
	out.Text = b.String()
	if out.cut > 0 {
		out.Text = out.Text[:out.cut]
	}
	return out
}

// OpensBrace reports whether an unquoted brace is open at the end of w.
func OpensBrace(w *syntax.Word) bool {
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
func (w *Word) open(b *strings.Builder) {
	b.WriteRune(Hole)
	w.Multi = true
	if w.cut == 0 {
		w.cut = b.Len()
	}
}

// bare adds unquoted text without its backslashes, and with holes for file
// patterns.
func (w *Word) bare(b *strings.Builder, text string, first bool) {
	if b.Len() == 0 && strings.HasPrefix(text, "~") { // at the start, or after empty quotes
		w.Tilde = true
	}
	if strings.Contains(strings.ReplaceAll(text, "{}", ""), "{") { // braces expand to several words in most shells
		b.WriteRune(Hole)
		w.Multi = true
		return
	}
	for i := 0; i < len(text); i++ {
		switch c := text[i]; c {
		case '\\':
			switch i++; {
			case i == len(text) || text[i] == '\n':
			case strings.IndexByte(fishEscapes, text[i]) >= 0:
				b.WriteRune(Hole) // including the text that may belong to it
				for i+1 < len(text) && isAlphanumeric(text[i+1]) {
					i++
				}
			default:
				b.WriteByte(text[i])
			}
		case '=':
			if b.Len() == 0 { // zsh puts the program's path there, also behind empty quotes
				b.WriteRune(Hole)
			}
			b.WriteByte(c)
		case '*', '?':
			b.WriteRune(Hole)
			w.Multi = true
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

// ReadQuoted adds the content of double quotes, in which a backslash escapes only
// few characters (POSIX Shell Command Language, 2.2.3).
func ReadQuoted(b *strings.Builder, q *syntax.DblQuoted) {
	for _, part := range q.Parts {
		lit, ok := part.(*syntax.Lit)
		if !ok {
			b.WriteRune(Hole)
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
		b.WriteRune(Hole)
	}
}

// Literals are words without holes.
func Literals(words []Word) ([]string, bool) {
	out := make([]string, len(words))
	for i, w := range words {
		if !w.Literal() {
			return nil, false
		}
		out[i] = w.Text
	}
	return out, true
}

// Shown writes words for a person: holes as …, not too many.
func Shown(words []Word) string {
	parts := make([]string, len(words))
	for i, w := range words {
		parts[i] = w.Text
	}
	return Shorten(strings.ReplaceAll(strings.Join(parts, " "), string(Hole), "…"))
}

// maxShown is how much of a command a denial repeats, in runes.
const maxShown = 120

// Shorten shortens text for a message.
func Shorten(text string) string {
	if r := []rune(text); len(r) > maxShown {
		return string(r[:maxShown]) + "…"
	}
	return text
}

// Exact returns the text that a pattern must match to allow words.
func Exact(words []Word) string {
	parts := make([]string, len(words))
	for i, w := range words {
		parts[i] = w.Text
	}
	return strings.Join(parts, " ")
}

// IsCluster reports whether a word is several short options in one.
func IsCluster(text string) bool {
	return len(text) >= 3 && len(text) <= 4 && text[0] == '-' && strings.IndexFunc(text[1:], func(c rune) bool {
		return (c < 'a' || c > 'z') && (c < 'A' || c > 'Z')
	}) < 0
}

// TildeHome reports whether a leading home folder is the only unknown part of
// the word.
func (w Word) TildeHome() bool {
	return w.From != nil && w.From.home && !w.From.hasPattern() && !strings.ContainsAny(w.Text[1:], Expands)
}

// Expands holds the characters that begin text that some shell expands when it
// evaluates an argument.
const Expands = "$`(\x00"

// SetOf returns the words of a list as a set.
func SetOf(list string) map[string]bool {
	m := make(map[string]bool)
	for w := range strings.FieldsSeq(list) {
		m[w] = true
	}
	return m
}
