package prompt

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"ptyctl/internal/lazyregexp"
)

// Prompts that people design end, or begin, in a sign beyond ASCII: "λ ", "~/src ▶ ", "➜  src git:(main) ✗ ", an emoji.
// Programs show such signs, too: spinners, bars, check marks. So a line of this kind must also have the words of a
// prompt, which are few and name a user, a host, a directory or a branch.

// isSign reports whether a prompt may end or begin in r.
func isSign(r rune) bool {
	switch {
	case r < 0x80 || r == utf8.RuneError:
		return false
	case r == 'λ' || r == '»' || r == '›' || r == '❯' || r == '❱' || r == '❭' || r == '⟩' || r == '⟫' || r == '〉' ||
		r == '》':
		return true
	case r >= 0x2800 && r <= 0x28ff, // Braille, of spinners
		r >= 0x2500 && r <= 0x259f,   // boxes and blocks
		r >= 0x1f311 && r <= 0x1f318, // phases of the moon
		r >= 0x1f30d && r <= 0x1f310, // globes
		r >= 0x1f550 && r <= 0x1f567, // clocks
		strings.ContainsRune("✓✔✗✘☑☒✅❌❎⏳⌛·∙•…⋯°©®™◐◓◑◒◴◷◶◵◜◝◞◟◢◣◤◥⚠ℹ★☆", r): // marks of reports
		return false
	case r >= 0xe000 && r <= 0xf8ff, r >= 0xf0000 && r <= 0xffffd: // glyphs of patched fonts
		return true
	}
	return unicode.In(r, unicode.So, unicode.Sm)
}

// joins reports whether r is part of the sign before it: a variation selector, a joiner, a skin tone.
func joins(r rune) bool {
	return r == 0xfe0e || r == 0xfe0f || r == 0x200d || r >= 0x1f3fb && r <= 0x1f3ff
}

// endsInSign reports whether the last character before the blanks is a sign.
func endsInSign(line string) bool {
	for s := strings.TrimRight(line, " "); s != ""; {
		r, n := utf8.DecodeLastRuneInString(s)
		if !joins(r) {
			return isSign(r)
		}
		s = s[:len(s)-n]
	}
	return false
}

// boxed is the last line of a prompt that is drawn around a corner: "╰─ ", "└─$ ", "└──╼ ".
var boxed = lazyregexp.New(`^[╰└]\s?[─━═]+[^\s\w]{0,3} {0,2}$`)

// signed reports whether a line is a prompt that ends or begins in a sign beyond ASCII, or in the corner of a box.
func signed(line string) bool {
	if boxed.MatchString(line) {
		return true
	}
	if len(line) > maxPrompt || !strings.HasSuffix(line, " ") && !endsInSign(line) {
		return false
	}
	words := strings.Fields(line)
	if len(words) == 0 || len(words) > 6 {
		return false
	}
	first, _ := utf8.DecodeRuneInString(words[0])
	begins := isSign(first) && utf8.RuneCountInString(words[0]) <= 3 && strings.HasPrefix(line, words[0]) &&
		len(words) > 1
	if !endsInSign(line) && !begins {
		return false
	}
	plain := 0
	for _, w := range words {
		w = strings.ToLower(strings.TrimFunc(w, isSign))
		switch {
		case w == "":
		case strings.ContainsAny(w, "~/@"), strings.ContainsAny(w[:1], "([{<"), branch.MatchString(w):
		case isGerund(w), ellipsis.MatchString(w), strings.ContainsAny(w, "?!%\"'") || strings.HasSuffix(w, ":"):
			return false
		case name.MatchString(w):
			plain++
		case strings.ContainsFunc(w, unicode.IsLetter):
			return false
		}
	}
	return plain <= 1 // the directory
}

var (
	branch = lazyregexp.New(`^(?:git|hg|svn|on|in|at|via|is|λ)(?::\S*)?$`)
	name   = lazyregexp.New(`^[\w.+\-]{1,64}$`)
)

// leadingSign returns the sign that a prompt begins with, as "➜  ~ " does; its rest changes with the folder.
func leadingSign(line string) string {
	r, n := utf8.DecodeRuneInString(line)
	if !isSign(r) || !signed(line) {
		return ""
	}
	return line[:n]
}

// continuation matches the prompt for the rest of a command: PS2, and in zsh the names of the constructs that are
// open. It is also the prompt of node and of R. Its form is never proof of a shell's prompt.
var continuation = lazyregexp.New(
	`^(?:(?:quote|dquote|bquote|cmdsubst|heredocd?|pipe|if|then|elif|else|for|while|until|do|select|case|function|subsh|` +
		`cursh|array|mathsubst|braceparam|cond|math|repeat|foreach|always|brace|cmdand|cmdor|errquote) ?)*> ?$`,
)

// isContinuation reports whether a line may ask for the rest of a command.
func isContinuation(line string) bool { return continuation.MatchString(line) }

// named reports whether a line asks for the rest of a command in words, as those of zsh do.
func named(line string) bool {
	return isContinuation(line) && !bareContinuation(line) && line[0] != '>' && strings.HasSuffix(line, " ")
}

// bareContinuation is isContinuation for the form that is also some people's prompt.
func bareContinuation(line string) bool { return strings.TrimRight(line, " ") == ">" }

// clock is a time of day in a prompt, which differs from prompt to prompt.
var clock = lazyregexp.New(`[\[(]?\d{1,2}:\d{2}(?::\d{2})?(?: ?[AaPp][Mm])?[\])]? ?`)

// Pattern returns an expression that matches the last line, and those that end as it does, for a caller who knows that
// it is a prompt. It is anchored at the end. Empty: the line has no end to go by.
func Pattern(line string) string {
	text := strings.TrimRight(line, " ")
	if text == "" {
		return `^ *$`
	}
	blanks := line[len(text):]
	runes := []rune(text)
	if len(runes) <= 3 {
		return "^" + quote(text) + blanks + "$"
	}
	last := len(runes) - 1
	for last > 0 && joins(runes[last]) {
		last--
	}
	if r := runes[last]; !unicode.IsLetter(r) && !unicode.IsDigit(r) {
		return quote(string(runes[last:])) + blanks + "$"
	}
	begin := strings.LastIndexByte(text, ' ') + 1
	if len(text)-begin > 40 {
		begin = len(text) - 40
		for !utf8.RuneStart(text[begin]) {
			begin++
		}
	}
	return quote(text[begin:]) + blanks + "$"
}

// quote writes text as an expression without backslashes, which a caller would have to write twice in JSON.
func quote(text string) string {
	var b strings.Builder
	for _, r := range text {
		switch {
		case r == '^' || r == '\\':
			b.WriteString(regexp.QuoteMeta(string(r)))
		case strings.ContainsRune(`$.*+?()[]{}|`, r):
			b.WriteString("[" + string(r) + "]")
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}
