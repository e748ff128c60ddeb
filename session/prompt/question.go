package prompt

import (
	"slices"
	"strings"
	"unicode"

	"ptyctl/internal/lazyregexp"
	"ptyctl/term"
)

// Programs and devices ask in many words, but in few forms: a question mark, a list of choices, a default in brackets,
// a label with a colon. This file recognises the forms. Progress reports have some of them too ("Compiling: ",
// "Get:1 http://x [12 kB]"), so each form also has exceptions.

// A form is an unfinished line taken apart from its end.
type form struct {
	stem     string   // the text before the following
	groups   []string // the contents of the brackets at the end, in order
	question bool     // there is a question mark between or behind them
	colon    bool     // and a colon
	marked   bool     // the line ends in one of the two
	square   bool     // the last brackets are square ones, as those of a default are
	apart    bool     // and there is a blank before them
}

// maxGroups is how many brackets at the end of a line are looked at, as in "(yes, y, no, n): [no] ".
const maxGroups = 4

// formOf takes a line apart.
func formOf(line string) (f form) {
	s := strings.TrimRight(line, " \t")
	if strings.HasSuffix(s, "?...") { // xargs -p
		s = strings.TrimSuffix(s, "...")
	}
	for first := true; ; first = false {
		rest := strings.TrimRight(s, " \t:?")
		marks := s[len(rest):]
		f.question = f.question || strings.Contains(marks, "?")
		f.colon = f.colon || strings.Contains(marks, ":")
		if first {
			f.marked = f.question || f.colon
		}
		s = rest
		open := opening(s)
		if open < 0 || len(f.groups) == maxGroups {
			f.stem = s
			return f
		}
		if len(f.groups) == 0 {
			f.square, f.apart = s[open] == '[', open > 0 && s[open-1] == ' '
		}
		f.groups = slices.Insert(f.groups, 0, strings.TrimSpace(s[open+1:len(s)-1]))
		s = s[:open]
	}
}

// opening returns where the bracket that ends s was opened, or -1.
func opening(s string) int {
	if s == "" {
		return -1
	}
	shut := s[len(s)-1]
	open, ok := map[byte]byte{']': '[', ')': '(', '>': '<', '}': '{'}[shut]
	if !ok {
		return -1
	}
	depth := 0
	for i := len(s) - 1; i >= 0; i-- {
		switch s[i] {
		case shut:
			depth++
		case open:
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return -1
}

// yesNo reports whether the line offers the choice between yes and no, whatever it asks.
func (f form) yesNo(line string) bool {
	for i, g := range f.groups {
		g = strings.ToLower(g)
		switch {
		case offersBoth(g):
			return true
		case i < len(f.groups)-1 || f.stem == "":
		case g == "confirm" || strings.HasPrefix(g, "confirm ") || strings.HasPrefix(g, "confirm("):
			return true
		case isYesOrNo(strings.TrimPrefix(g, "default=")) && (f.question || f.colon):
			return true
		}
	}
	last := f.stem[strings.LastIndexAny(f.stem, " \t")+1:]
	return f.question && offersBoth(strings.ToLower(last)) || spelledChoice.MatchString(line)
}

// spelledChoice is a choice between yes and no that is no list in brackets: "[y]es, [n]o, [A]ll: ",
// "(A)gree/(C)ancel: ", "Type yes or no: ".
var spelledChoice = lazyregexp.New(
	`(?i)(?:` +
		`[\[(]y[\])](?:es)?\b.{0,60}[\[(]n[\])]o?.{0,60}` +
		`|\(a\)gree\b.{0,30}|\b(?:type|press|enter|answer|say) ['"]?y(?:es)?['"]?\b.{0,80}` +
		`|\byes or no|\by or n` +
		`)[)\].]?['"]?[)\]]? ?[?:][ ]*$`,
)

// offersBoth reports whether a list in brackets has both yes and no, as "y/n", "yes,no", "y/d/N", "yn".
func offersBoth(list string) bool {
	if strings.Contains(list, "[") { // conda: ([y]/n)
		list = strings.NewReplacer("[", "", "]", "").Replace(list)
	}
	if len(list) >= 2 && len(list) <= 6 && strings.Trim(list, "ynaeqhdr?!*") == "" { // zsh: [nyae]
		return strings.Contains(list, "y") && strings.Contains(list, "n")
	}
	items := strings.FieldsFunc(list, func(r rune) bool { return strings.ContainsRune("/|, \t'\"`", r) })
	var yes, no bool
	for _, item := range items {
		yes = yes || item == "y" || item == "yes"
		no = no || item == "n" || item == "no"
	}
	return yes && no
}

// offersLetters reports whether a list in brackets has letters to choose from, as "u/r/d".
func offersLetters(list string) bool {
	items := strings.Split(list, "/")
	return len(items) > 1 && !slices.ContainsFunc(items, func(item string) bool {
		return len(item) != 1 || !unicode.IsLetter(rune(item[0]))
	})
}

func isYesOrNo(s string) bool { return s == "y" || s == "yes" || s == "n" || s == "no" }

// Asks returns the question that the form of the last line shows, or nil. It is less sure than [Waits]: a program may
// print such a line, work for a while, and then complete it.
func Asks(line string) *term.Waiting {
	if kind := formKind(line); kind != "" {
		return &term.Waiting{Kind: kind, Text: line}
	}
	return nil
}

// selectPrompt is the prompt of select: PS3 of bash and ksh, and that of zsh.
var selectPrompt = lazyregexp.New(`^(?:#\?|\?#) $`)

// maxQuestion is the longest line that counts as a question, in bytes.
const maxQuestion = 300

// formKind returns the kind of question that a line is by its form; empty: no question.
func formKind(line string) string {
	if len(line) > maxQuestion || strings.TrimSpace(line) == "" || leadingSign(line) != "" {
		return ""
	}
	if selectPrompt.MatchString(line) {
		return Unknown
	}
	f := formOf(line)
	words := wordsOf(f.stem)
	switch {
	case f.yesNo(line):
		return YesNo
	case len(words) == 0 && f.question && len(f.groups) > 0: // find -ok: "< rm ... ./a > ? "
		return Unknown
	case f.marked && len(f.groups) > 0 && offersLetters(f.groups[len(f.groups)-1]):
		return Unknown
	case len(words) == 0, isProgress(f, words):
		return ""
	case f.question:
		if !f.square && asksYesNo(words) {
			return YesNo
		}
		return Unknown
	case len(f.groups) > 0 && f.colon && hasDefault(f):
		return Unknown
	case f.colon && f.marked && asksFor(words):
		return Unknown
	case choicePrompt.MatchString(line):
		return Unknown
	}
	return ""
}

// choicePrompt is a question that ends like a prompt: "Your choice > ", "What now> ", "? Project name: › ".
var choicePrompt = lazyregexp.New(
	`(?i)^\? [^\r\n]{1,200}[›»…] ?$|^\W{0,4}(?:(?:your|what|which|enter|select|choose|pick|type)\b[\w '/-]{0,60}|choice|selection|answer) ?[>›] ?$`,
)

// wordsOf returns the words of the text, in lower case and without signs around them. A path or a name of several
// parts is one word.
func wordsOf(text string) []string {
	words := strings.Fields(strings.ToLower(text))
	for i, w := range words {
		words[i] = strings.TrimFunc(w, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	}
	return slices.DeleteFunc(words, func(w string) bool { return !strings.ContainsFunc(w, unicode.IsLetter) })
}

var (
	// amount is a progress value in brackets or behind a label: 42%, 3/10, 12 kB, 00:10, #####, =>.
	amount = lazyregexp.New(
		`(?i)^(?:\s*(?:[\d.,]+ ?%|[\d.,]+ ?(?:/|of) ?[\d.,]+.{0,20}|[\d.,]+ ?(?:[kmgt]i?)?(?:b|bytes|bit)(?:/s)?|` +
			`[\d.,]+ ?(?:ms|s|sec|secs|seconds|min|m|h)|\d{1,2}:\d{2}(?::\d{2})?(?:[.,]\d+)?|[#=>\-.*|/\\ █▓▒░━╸▏▎▍▌▋▊▉]{2,})\s*)$`,
	)

	// verdict is the result that a report shows in brackets.
	verdict = lazyregexp.New(
		`(?i)^(?:ok|done|fail(?:ed|ure)?|pass(?:ed)?|skip(?:ped)?|error|err|warn(?:ing)?|info|debug|trace|notice|fatal|` +
			`crit(?:ical)?|running|busy|up|down|yes!|cached|new|modified|deleted)$`,
	)

	// ellipsis is the end of a line that will be completed.
	ellipsis = lazyregexp.New(`(?:\.\.+|…)$`)

	// fetched is how package managers name their downloads.
	fetched = lazyregexp.New(`^(?:Get|Hit|Ign|Err):\d+ `)
)

// isProgress reports whether the line reports work in progress, and will be completed without input.
func isProgress(f form, words []string) bool {
	if ellipsis.MatchString(f.stem) || fetched.MatchString(f.stem) || verdict.MatchString(words[0]) && len(words) <= 3 {
		return true
	}
	for _, g := range f.groups {
		if amount.MatchString(g) || verdict.MatchString(g) {
			return true
		}
	}
	return slices.ContainsFunc(words[:min(2, len(words))], isGerund)
}

// isGerund reports whether a word says that something is under way: compiling, downloading.
func isGerund(word string) bool {
	switch word {
	case "string", "king", "thing", "anything", "something", "nothing", "everything", "during", "spring":
		return false
	}
	return len(word) >= 5 && strings.HasSuffix(word, "ing")
}

// hasDefault reports whether the last brackets of a line with a colon hold a default, a range or a hint for an answer.
// The number of a process behind a name, as in make[1]: and sshd[812]:, does not count.
func hasDefault(f form) bool {
	last := f.groups[len(f.groups)-1]
	number := strings.Trim(last, "0123456789") == "" && last != ""
	return (f.apart || !number) && !strings.ContainsAny(last, "\\|")
}

// yesNoVerbs begin a question that asks whether to do something: "rm: remove regular file 'x'? ", "Restart services? ".
var yesNoVerbs = strings.Fields(`remove delete overwrite replace restart reboot reload shutdown continue proceed save
	discard erase abort retry install uninstall reinstall upgrade downgrade update reset clear commit rollback accept agree
	confirm enable disable format quit exit stop kill keep merge apply ignore skip fix repair try unmount mount create
	destroy purge wipe copy move rename send submit publish deploy push allow deny trust restore revert cancel stage
	unstage download extract import export use add open close run start begin go`)

// auxiliaries begin a question with the answer yes or no.
var auxiliaries = strings.Fields(`are is do does did would will can could shall should may might must have has had was
	were am ok okay ready really sure isn't aren't don't doesn't wouldn't`)

// asksYesNo reports whether the words of a question ask for yes or no.
func asksYesNo(words []string) bool {
	if slices.Contains(auxiliaries, words[0]) {
		return true
	}
	for i, w := range words[:min(3, len(words))] { // behind the program's name: "rm: remove", "cp: overwrite"
		if slices.Contains(yesNoVerbs, w) {
			return len(words) > 1 || !slices.Contains([]string{"start", "begin", "use", "copy"}, words[i])
		}
	}
	return false
}

// askVerbs begin a line that asks the reader to answer.
var askVerbs = strings.Fields(`enter type select choose pick specify provide input give please press insert supply
	what which who whom whose where when why how your`)

// nouns are the things that people are asked for: a question is a line of few words that ends in one of them and a
// colon.
var nouns = strings.Fields(
	`name names firstname lastname surname fullname email e-mail mail address addresses number choice
	choices option selection answer response reply value file filename path directory folder host hostname ip port user
	username userid uid key id code zone timezone area region city country state province organization organisation company
	department unit title comment comments message description subject url uri domain date birthday age phone telephone
	locale language keyboard layout branch repository version author license keywords command query pattern device disk
	partition label color colour amount quantity reason feedback shell destination source target interval count question
	website location position`)

// asksFor reports whether a line that ends in a colon asks for something.
func asksFor(words []string) bool {
	noun := func(i int) bool { return slices.Contains(nouns, words[i]) }
	switch {
	case slices.Contains(askVerbs, words[0]):
		return true
	case len(words) >= 3 && len(words) <= 8 && noun(0) && slices.Contains([]string{"to", "of", "for", "or"}, words[1]):
		return true // "File to patch: ", "Name of the host: "
	}
	return len(words) <= 4 && noun(len(words)-1)
}
