package prompt

import (
	"slices"
	"strings"
	"unicode/utf8"

	"ptyctl/internal/lazyregexp"
)

// maxTyped bounds the typed text that is remembered, in bytes.
const maxTyped = 4 << 10

// A typing is the text typed by callers since a shell was last known to be at its prompt, as far as it says where
// the shell may be now: at its prompt, a half-typed line, or the rest of a command.
type typing struct {
	at     string // the last line when the line that is not entered was begun
	line   string // the typed part of that line
	odd    bool   // with keys of unknown effect
	open   string // lines entered at a prompt that are no whole command of a POSIX shell; empty: none are
	tricky bool   // a line was entered that may have left the shell in the middle of a command, or asking
}

// enders are the bytes after which a line editor's line is empty: line ends, and the keys that discard the line.
const enders = "\r\n\x03\x04\x15\x1c"

// add takes text typed at the last line at; known says that this is a shell's prompt.
func (t *typing) add(text, at string, known bool) {
	for _, c := range text {
		if t.line == "" && !t.odd {
			t.at = at
		}
		switch {
		case c == '\r' || c == '\n':
			t.enter(known)
			at, known = "", false // of the next line nothing is known
		case strings.ContainsRune(enders, c):
			t.line, t.odd = "", false
			if c != '\x15' { // ctrl_u keeps the lines before
				t.open = ""
			}
		case c == '\b' || c == '\x7f':
			_, n := utf8.DecodeLastRuneInString(t.line)
			t.line = t.line[:len(t.line)-n]
		case c < ' ' || len(t.line) >= maxTyped:
			t.odd = true
		default:
			t.line += string(c)
		}
	}
}

// enter takes the line that was typed as entered.
func (t *typing) enter(known bool) {
	line, odd := t.line, t.odd
	t.line, t.odd = "", false
	t.tricky = t.tricky || odd || !isPlain(line)
	if t.open == "" && !known {
		return
	}
	t.open += line + "\n"
	if odd || len(t.open) > maxTyped || !unfinished(t.open) {
		t.open = ""
	}
}

// stands reports whether the last line may hold text that was typed and not entered.
func (t *typing) stands(line string) bool {
	switch {
	case t.line == "" && !t.odd:
		return false
	case t.at == "":
		return true
	}
	return beginsLike(line, t.at) // else the line at which it was typed is gone, as that of a pager is after q
}

// beginsLike reports whether a line begins with another one, ignoring the numbers in it, such as the time.
func beginsLike(line, start string) bool {
	line, start = numbers.ReplaceAllString(line, "0"), numbers.ReplaceAllString(start, "0")
	return strings.HasPrefix(line, strings.TrimRight(start, " "))
}

var numbers = lazyregexp.New(`\d+`)

var (
	// plainText has no quotes, brackets and other signs by which a command may go on in the next line.
	plainText = lazyregexp.New(`^[\w ./:=,@+~%*?$;&|>-]*$`)

	// between matches the separators of the commands of a line.
	between = lazyregexp.New(`[;&|]+`)
)

// leads are the words that begin a command that may go on in the next line, and the names of commands by which a
// shell itself asks.
var leads = strings.Fields(`for while until if case select function repeat foreach switch begin coproc do then else
	elif read vared eval source . [[`)

// isPlain reports whether an entered line surely is a whole command for any shell, and does not make the shell itself
// ask for more.
func isPlain(line string) bool {
	if !plainText.MatchString(line) || strings.HasSuffix(strings.TrimRight(line, " "), "|") ||
		strings.HasSuffix(strings.TrimRight(line, " "), "&&") {
		return false
	}
	for _, command := range between.Split(line, -1) {
		if words := strings.Fields(command); len(words) > 0 && slices.Contains(leads, words[0]) {
			return false
		}
	}
	return true
}

// unfinished reports whether a POSIX shell that has read the text waits for the rest of a command. It says no if it is
// not sure.
func unfinished(text string) bool {
	words, open, sure := shellWords(text)
	if open || !sure {
		return open
	}
	count := map[string]int{}
	for i, w := range words {
		if strings.HasPrefix(w, "{") || strings.HasPrefix(w, "(") { // zsh has short forms of its own
			return false
		}
		if i == 0 || slices.Contains(openers, words[i-1]) {
			count[w]++
		}
	}
	last := len(words) - 1
	switch head := count["for"] + count["select"] + count["while"] + count["until"] + count["if"] + count["case"]; {
	case last < 1:
		return false
	case slices.Contains([]string{"|", "&&", "||"}, words[last-1]):
		return true
	case head > 0 && !slices.Contains(words[:last], "\n") && !slices.Contains(words, ";"): // as in "for i in a b"
		return true
	}
	return count["do"] > count["done"] || count["then"] > 0 && count["if"] > count["fi"] || count["case"] > count["esac"]
}

// openers are the words behind which a command begins.
var openers = []string{"\n", ";", "&", "|", "&&", "||", "do", "then", "else", "elif", "!"}

// shellWords splits text as a POSIX shell does; operators and line ends are words of their own. open says that a quote,
// a substitution, a here-document or an escaped line end is not closed, sure that nothing of it was beyond this reader.
func shellWords(text string) (words []string, open, sure bool) {
	var word strings.Builder
	begun := false
	end := func() {
		if begun {
			words = append(words, word.String())
		}
		word.Reset()
		begun = false
	}
	for i := 0; i < len(text); i++ {
		switch c := text[i]; c {
		case '\\':
			if i+1 >= len(text) || text[i+1] == '\n' && i+2 == len(text) {
				return words, true, true
			}
			i++
			word.WriteByte(text[i])
			begun = true
		case '\'', '"', '`':
			n := quoted(text[i:])
			if n == 0 {
				return words, true, true
			}
			word.WriteString(text[i+1 : i+n-1])
			i += n - 1
			begun = true
		case '$':
			if i+1 < len(text) && strings.IndexByte(`({'"`, text[i+1]) >= 0 {
				return words, false, false
			}
			word.WriteByte(c)
			begun = true
		case ' ', '\t':
			end()
		case '#':
			if !begun { // a comment, or not
				return words, false, false
			}
			word.WriteByte(c)
		case '<', '>':
			if strings.HasPrefix(text[i:], "<<") {
				return words, false, false
			}
			end()
			words = append(words, string(c))
		case '\n', ';', '&', '|':
			end()
			if n := len(words); c != '\n' && c != ';' && n > 0 && i > 0 && text[i-1] == c && words[n-1] == string(c) {
				words[n-1] += string(c)
				continue
			}
			words = append(words, string(c))
		default:
			word.WriteByte(c)
			begun = true
		}
	}
	end()
	return words, false, true
}

// quoted returns the length of the quoted text that begins text; 0: it is not closed.
func quoted(text string) int {
	for i := 1; i < len(text); i++ {
		switch {
		case text[i] == text[0]:
			return i + 1
		case text[i] == '\\' && text[0] != '\'':
			i++
		}
	}
	return 0
}
