package policy

import (
	"errors"
	"regexp"
	"slices"
	"strings"
)

// unwrapXargs judges the command of xargs. Its last arguments come from the
// input and are unknown.
func (r *reader) unwrapXargs(run runner, args []word) (func() error, error) {
	// The options of GNU xargs, and -J and -R of BSD.
	run.valued += "IiJR"
	replace := ""
	for i, a := range args {
		if r.closed { // strictly has checked it
			break
		}
		// -I, -J and -i name the text that xargs replaces in its command. -i without
		// a value means {}.
		if strings.HasPrefix(a.text, "-I") || strings.HasPrefix(a.text, "-J") || strings.HasPrefix(a.text, "-i") ||
			strings.HasPrefix(a.text, "--replace") {
			switch _, long, with := strings.Cut(a.text, "="); {
			case with:
				replace = long
			case len(a.text) > 2 && a.text[1] != '-':
				replace = a.text[2:]
			case i+1 < len(args) && a.text[1] != 'i':
				replace = args[i+1].text
			default:
				replace = "{}"
			}
		}
		if a.text == "-i" { // takes no value
			// The table of options knows no option with an optional value, so -i is
			// replaced by one without.
			args = slices.Replace(slices.Clone(args), i, i+1, plainWord("-r"))
			break
		}
	}
	rest, _, err := run.options("xargs", args)
	if err != nil || len(rest) == 0 {
		return nil, err
	}
	if r.closed {
		if rest, replace, err = strictly("xargs", args); err != nil || len(rest) == 0 {
			return nil, err
		}
	}
	rest = slices.Clone(rest)
	if replace != "" {
		r.placeholders = append(slices.Clip(r.placeholders), replace)
	}
	// With a placeholder the input replaces it; otherwise it is appended as any
	// number of words.
	if replace != "" {
		for i := range rest {
			rest[i].text = strings.ReplaceAll(rest[i].text, replace, string(hole))
		}
	} else {
		rest = append(rest, word{text: string(hole), multi: true})
	}
	return func() error { return r.command(rest, input{known: true}) }, nil
}

// findRuns holds the actions of find(1) that run commands.
var findRuns = []wildcard{newPart("-exec"), newPart("-execdir"), newPart("-ok"), newPart("-okdir")}

// unwrapFind judges the commands in the arguments of find(1).
func (r *reader) unwrapFind(args []word) (func() error, error) {
	var runs []func() error
	// find replaces {} by a file name at each position.
	r.placeholders = append(slices.Clip(r.placeholders), "{}")
	for i := 0; i < len(args); i++ {
		w := args[i]
		if w.multi && strings.HasPrefix(w.text, string(hole)) {
			return nil, unreadable(
				"unquoted text in the arguments of find can become -exec and a command: quote it, or begin it with ./",
			)
		}
		if w.tildeHome() || !slices.ContainsFunc(findRuns, func(p wildcard) bool { return p.may(w.text) }) {
			continue
		}
		// An action needs an argument after it. An operator of find can follow only a
		// test.
		if !w.literal() && (i+1 == len(args) || strings.IndexAny(args[i+1].text, "-()!,") == 0) {
			continue // no command follows, whatever it expands to
		}
		end := i + 1
		// A command ends with ";", or with "{} +".
		for end < len(args) && args[end].text != ";" && (args[end].text != "+" || end == i+1 || args[end-1].text != "{}") {
			end++
		}
		inner := slices.Clone(args[i+1 : end])
		for k := range inner {
			inner[k].text = strings.ReplaceAll(inner[k].text, "{}", string(hole))
		}
		if len(inner) > 0 {
			runs = append(runs, func() error { return r.command(inner, input{known: true}) })
		}
		i = end
	}
	if len(runs) == 0 {
		return nil, nil
	}
	return func() error {
		for _, run := range runs {
			if err := run(); err != nil {
				return err
			}
		}
		return nil
	}, nil
}

// unwrapSu judges the argument of -c. Without -c, su starts a shell.
func (r *reader) unwrapSu(c *command, args []word) (func() error, error) {
	for i, a := range args {
		switch {
		// An unknown word could be -c.
		case !a.literal() && (a.multi || strings.HasPrefix(a.text, string(hole))):
			return nil, unreadable("what su is given is not known before it runs")
		case (a.text == "-c" || a.text == "--command") && i+1 < len(args):
			return r.scriptIn("su -c", args[i+1])
		case strings.HasPrefix(a.text, "--command="):
			return r.scriptIn("su -c", word{text: strings.TrimPrefix(a.text, "--command="), multi: a.multi})
		case strings.HasPrefix(a.text, "-") && !strings.HasPrefix(a.text, "--") && strings.Contains(a.text, "c"):
			return nil, unknownOption("su", a.text)
		}
	}
	if !r.screen {
		c.opaque = "it starts a shell, whose input is not seen here"
	}
	return nil, nil
}

// sets judges the names in the arguments of a builtin that sets variables.
func (r *reader) sets(args []word) error {
	for _, a := range args {
		if loads(a.text) || startVars[a.text] {
			return r.env(a.text + "=")
		}
	}
	return nil
}

// values judges the commands that alias defines.
func (r *reader) values(args []word) (func() error, error) {
	var scripts []string
	for _, a := range args {
		if !a.literal() {
			return nil, unreadable("what alias defines is not known before it runs")
		}
		if _, value, ok := strings.Cut(a.text, "="); ok {
			scripts = append(scripts, value)
		}
	}
	if len(args) > 1 && !strings.Contains(args[0].text, "=") { // alias NAME COMMAND, in csh and fish
		scripts = append(scripts, exact(args[1:]))
	}
	return func() error {
		for _, s := range scripts {
			if err := r.script(s); err != nil {
				return err
			}
		}
		return nil
	}, nil
}

// search looks for denied commands at each position in the arguments where one
// could begin.
func (r *reader) search(args []word, in input) error {
	// Only deny rules apply: most positions do not hold a command, so a missing
	// permission means nothing.
	inner := r.hidden()
	defer func() { r.judged = inner.judged }()
	for i, a := range args {
		if inner.judged += len(exact(args[i:])); inner.judged > maxJudged {
			return unreadable("there is too much to read")
		}
		if err := inner.text(a); err != nil {
			return err
		}
		if a.text == "" || a.text[0] == '-' {
			continue
		}
		// Such a word would be an error as a command, so only the rules see it.
		if !a.literal() || isAssignment(a.text) || strings.IndexByte("!^%<>", a.text[0]) >= 0 ||
			shellOnly[a.text] { // the following words decide
			if err := inner.judge(command{words: args[i:]}); err != nil {
				return err
			}
			continue
		}
		// A text with = that cannot be parsed is probably an option with a value.
		if err := inner.command(args[i:], in); byRule(err) || err != nil && !strings.Contains(a.text, "=") {
			return err
		}
	}
	return nil
}

// shellOnly holds words that only a shell runs. In the arguments of other
// programs they are mere names, for example docker build .
var shellOnly = set(". alias bind builtin compgen complete enable eval exec fc hash history jobs set source trap unset")

// searchTexts looks for denied commands in the texts among the arguments,
// except for names of files.
func (r *reader) searchTexts(args []word) error {
	inner := r.hidden()
	defer func() { r.judged = inner.judged }()
	for _, a := range args {
		if err := inner.text(a); err != nil {
			return err
		}
	}
	return nil
}

// hidden returns a reader that looks only for denied commands.
func (r *reader) hidden() *reader {
	inner := *r
	inner.screen, inner.closed = false, false
	inner.judge = func(c command) error { c.hidden = true; return r.judge(c) }
	inner.env = func(assign string) error { return byPattern(r.env(assign)) }
	inner.file = func(name string, write bool) error { return byPattern(r.file(name, write)) }
	return &inner
}

// byPattern returns err if a rule's pattern matched, and nil if there was only
// no rule that allows the command.
func byPattern(err error) error {
	if d, ok := errors.AsType[*denial](err); ok && d.rule.Text == "" {
		return nil
	}
	return err
}

// The characters that can precede a command in a text of another language, and
// those that can end it.
const (
	before  = " \t\n=:!,;|&({[\"'`$"
	behind  = "\"'`)]}\\\n"
	maxText = 512 // longest text in bytes; each of its ends is tried
)

// text looks for denied commands in an argument that may be a line for a shell,
// or contain one: shell COMMAND, !COMMAND, --option=COMMAND, system("COMMAND").
func (r *reader) text(a word) error {
	if !strings.ContainsAny(a.text, before+behind) {
		return nil
	}
	// A command can begin at the start of the text and after each separator.
	for i := range len(a.text) {
		if i > 0 && (strings.IndexByte(before, a.text[i-1]) < 0 || strings.IndexByte(before, a.text[i]) >= 0) {
			continue
		}
		// The unknown part may contain any command, like an expansion.
		rest := strings.ReplaceAll(a.text[i:], string(hole), "$x")
		end := strings.IndexAny(rest, behind)
		tries := []string{rest}
		// In a long text only the nearest end is tried, which bounds the cost.
		switch {
		case end >= 0 && (len(a.text) <= maxText || i == 0):
			tries = append(tries, rest[:end])
		case end >= 0:
			tries[0] = rest[:end]
		case len(rest) > maxText && i > 0:
			tries[0] = rest[:maxText]
		}
		for _, t := range tries {
			if err := r.script(t); byRule(err) || r.judged > maxJudged {
				return err
			}
		}
	}
	return nil
}

// sedRuns reports whether a program for sed may use the command or flag e of
// GNU sed, which run commands.
func sedRuns(args []word) bool {
	given := false
	for i, a := range args {
		switch {
		case strings.HasPrefix(a.text, "--file"),
			a.text == "-f",
			strings.HasPrefix(a.text, "-") && strings.HasSuffix(a.text, "f"):
			return true
		case strings.HasPrefix(a.text, "--expression="), strings.HasPrefix(a.text, "-e") && len(a.text) > 2:
			given = true
		case i > 0 && strings.HasPrefix(args[i-1].text, "-") && strings.HasSuffix(args[i-1].text, "e") &&
			!strings.HasPrefix(args[i-1].text, "--"),
			i > 0 && args[i-1].text == "--expression":
			given = true
		case strings.HasPrefix(a.text, "-"), given:
			continue
		default:
			given = true
		}
		if strings.ContainsRune(a.text, hole) || sedRun.MatchString(a.text) {
			return true
		}
	}
	return false
}

// sedRun matches a text that may be such a program.
var sedRun = regexp.MustCompile(
	`(?:^|[;{}\n])[\s0-9,$!~+]*(?:/[^/]*/)?[\s!]*e|[^\w\s][gpiImM0-9]*e[gpiImM0-9]*(?:[\s;}]|$)`,
)
