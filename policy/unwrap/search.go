package unwrap

import (
	"errors"
	"slices"
	"strings"

	"ptyctl/internal/lazyregexp"
	"ptyctl/policy/grammar"
)

// unwrapXargs judges the command of xargs. Its last arguments come from the
// input and are unknown.
func (r *Reader) unwrapXargs(run runner, args []grammar.Word) (func() error, error) {
	// The options of GNU xargs, and -J and -R of BSD.
	run.valued += "IiJR"
	replace := ""
	for i, a := range args {
		if r.Closed { // strictly has checked it
			break
		}
		// -I, -J and -i name the text that xargs replaces in its command. -i without
		// a value means {}.
		if strings.HasPrefix(a.Text, "-I") || strings.HasPrefix(a.Text, "-J") || strings.HasPrefix(a.Text, "-i") ||
			strings.HasPrefix(a.Text, "--replace") {
			switch _, long, with := strings.Cut(a.Text, "="); {
			case with:
				replace = long
			case len(a.Text) > 2 && a.Text[1] != '-':
				replace = a.Text[2:]
			case i+1 < len(args) && a.Text[1] != 'i':
				replace = args[i+1].Text
			default:
				replace = "{}"
			}
		}
		if a.Text == "-i" { // takes no value
			// The table of options knows no option with an optional value, so -i is
			// replaced by one without.
			args = slices.Replace(slices.Clone(args), i, i+1, grammar.PlainWord("-r"))
			break
		}
	}
	rest, _, err := run.options("xargs", args)
	if err != nil || len(rest) == 0 {
		return nil, err
	}
	if r.Closed {
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
			rest[i].Text = strings.ReplaceAll(rest[i].Text, replace, string(grammar.Hole))
		}
	} else {
		rest = append(rest, grammar.Word{Text: string(grammar.Hole), Multi: true})
	}
	return func() error { return r.command(rest, input{known: true}) }, nil
}

// findRuns holds the actions of find(1) that run commands.
var findRuns = []grammar.Wildcard{
	grammar.NewPart("-exec"), grammar.NewPart("-execdir"), grammar.NewPart("-ok"),
	grammar.NewPart("-okdir"),
}

// unwrapFind judges the commands in the arguments of find(1).
func (r *Reader) unwrapFind(args []grammar.Word) (func() error, error) {
	var runs []func() error
	// find replaces {} by a file name at each position.
	r.placeholders = append(slices.Clip(r.placeholders), "{}")
	for i := 0; i < len(args); i++ {
		w := args[i]
		if w.Multi && strings.HasPrefix(w.Text, string(grammar.Hole)) {
			return nil, grammar.Unjudged(
				"unquoted text in the arguments of find can become -exec and a command", "quote it, or begin it with ./",
			)
		}
		if w.TildeHome() || !slices.ContainsFunc(findRuns, func(p grammar.Wildcard) bool { return p.May(w.Text) }) {
			continue
		}
		// An action needs an argument after it. An operator of find can follow only a
		// test.
		if !w.Literal() && (i+1 == len(args) || strings.IndexAny(args[i+1].Text, "-()!,") == 0) {
			continue // no command follows, whatever it expands to
		}
		end := i + 1
		// A command ends with ";", or with "{} +".
		for end < len(args) && args[end].Text != ";" && (args[end].Text != "+" || end == i+1 || args[end-1].Text != "{}") {
			end++
		}
		inner := slices.Clone(args[i+1 : end])
		for k := range inner {
			inner[k].Text = strings.ReplaceAll(inner[k].Text, "{}", string(grammar.Hole))
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
func (r *Reader) unwrapSu(c *Command, args []grammar.Word) (func() error, error) {
	for i, a := range args {
		switch {
		// An unknown word could be -c.
		case !a.Literal() && (a.Multi || strings.HasPrefix(a.Text, string(grammar.Hole))):
			return nil, grammar.Unreadable("what su is given is not known before it runs")
		case (a.Text == "-c" || a.Text == "--command") && i+1 < len(args):
			return r.scriptIn("su -c", args[i+1])
		case strings.HasPrefix(a.Text, "--command="):
			return r.scriptIn("su -c", grammar.Word{Text: strings.TrimPrefix(a.Text, "--command="), Multi: a.Multi})
		case strings.HasPrefix(a.Text, "-") && !strings.HasPrefix(a.Text, "--") && strings.Contains(a.Text, "c"):
			return nil, unknownOption("su", a.Text)
		}
	}
	if !r.Screen {
		c.Opaque = "it starts a shell, whose input is not seen here"
	}
	return nil, nil
}

// sets judges the names in the arguments of a builtin that sets variables.
func (r *Reader) sets(args []grammar.Word) error {
	for _, a := range args {
		if Loads(a.Text) || StartVars[a.Text] {
			return r.Env(a.Text + "=")
		}
	}
	return nil
}

// values judges the commands that alias defines.
func (r *Reader) values(args []grammar.Word) (func() error, error) {
	var scripts []string
	for _, a := range args {
		if !a.Literal() {
			return nil, grammar.Unreadable("what alias defines is not known before it runs")
		}
		if _, value, ok := strings.Cut(a.Text, "="); ok {
			scripts = append(scripts, value)
		}
	}
	if len(args) > 1 && !strings.Contains(args[0].Text, "=") { // alias NAME COMMAND, in csh and fish
		scripts = append(scripts, grammar.Exact(args[1:]))
	}
	return func() error {
		for _, s := range scripts {
			if err := r.Script(s); err != nil {
				return err
			}
		}
		return nil
	}, nil
}

// search looks for denied commands at each position in the arguments where one
// could begin.
func (r *Reader) search(args []grammar.Word, in input) error {
	// Only deny rules apply: most positions do not hold a command, so a missing
	// permission means nothing.
	inner := r.hidden()
	defer func() { r.Judged = inner.Judged }()
	for i, a := range args {
		if inner.Judged += len(grammar.Exact(args[i:])); inner.Judged > maxJudged {
			return grammar.TooLong("there is too much to read")
		}
		if err := inner.text(a); err != nil {
			return err
		}
		if a.Text == "" || a.Text[0] == '-' {
			continue
		}
		// Such a word would be an error as a command, so only the rules see it.
		if !a.Literal() || isAssignment(a.Text) || strings.IndexByte("!^%<>", a.Text[0]) >= 0 ||
			shellOnly[a.Text] { // the following words decide
			if err := inner.Judge(Command{Words: args[i:]}); err != nil {
				return err
			}
			continue
		}
		// A text with = that cannot be parsed is probably an option with a value.
		if err := inner.command(args[i:], in); byRule(err) || err != nil && !strings.Contains(a.Text, "=") {
			return err
		}
	}
	return nil
}

// shellOnly holds words that only a shell runs. In the arguments of other
// programs they are mere names, for example docker build .
var shellOnly = grammar.SetOf(
	". alias bind builtin compgen complete enable eval exec fc hash history jobs set source trap unset")

// searchTexts looks for denied commands in the texts among the arguments,
// except for names of files.
func (r *Reader) searchTexts(args []grammar.Word) error {
	inner := r.hidden()
	defer func() { r.Judged = inner.Judged }()
	for _, a := range args {
		if err := inner.text(a); err != nil {
			return err
		}
	}
	return nil
}

// hidden returns a reader that looks only for denied commands.
func (r *Reader) hidden() *Reader {
	inner := *r
	inner.Screen, inner.Closed = false, false
	inner.Judge = func(c Command) error { c.Hidden = true; return r.Judge(c) }
	inner.Env = func(assign string) error { return byPattern(r.Env(assign)) }
	inner.File = func(name string, write bool) error { return byPattern(r.File(name, write)) }
	return &inner
}

// A Ruled error names the operator's rule by which it denies.
type Ruled interface {
	error
	ByRule() (name, text string) // empty: no rule is known yet
}

// byRule reports whether a rule matched. It is false if the command merely
// could not be judged.
func byRule(err error) bool {
	r, ok := errors.AsType[Ruled](err)
	if !ok {
		return false
	}
	name, _ := r.ByRule()
	return name != ""
}

// byPattern returns err if a rule's pattern matched, and nil if there was only
// no rule that allows the command.
func byPattern(err error) error {
	if _, ok := errors.AsType[*grammar.Refusal](err); ok {
		return nil
	}
	if r, ok := errors.AsType[Ruled](err); ok {
		if _, text := r.ByRule(); text == "" {
			return nil
		}
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
func (r *Reader) text(a grammar.Word) error {
	if !strings.ContainsAny(a.Text, before+behind) {
		return nil
	}
	// A command can begin at the start of the text and after each separator.
	for i := range len(a.Text) {
		if i > 0 && (strings.IndexByte(before, a.Text[i-1]) < 0 || strings.IndexByte(before, a.Text[i]) >= 0) {
			continue
		}
		// The unknown part may contain any command, like an expansion.
		rest := strings.ReplaceAll(a.Text[i:], string(grammar.Hole), "$x")
		end := strings.IndexAny(rest, behind)
		tries := []string{rest}
		// In a long text only the nearest end is tried, which bounds the cost.
		switch {
		case end >= 0 && (len(a.Text) <= maxText || i == 0):
			tries = append(tries, rest[:end])
		case end >= 0:
			tries[0] = rest[:end]
		case len(rest) > maxText && i > 0:
			tries[0] = rest[:maxText]
		}
		for _, t := range tries {
			if err := r.Script(t); byRule(err) || r.Judged > maxJudged {
				return err
			}
		}
	}
	return nil
}

// sedRuns reports whether a program for sed may use the command or flag e of
// GNU sed, which run commands.
func sedRuns(args []grammar.Word) bool {
	given := false
	for i, a := range args {
		switch {
		case strings.HasPrefix(a.Text, "--file"),
			a.Text == "-f",
			strings.HasPrefix(a.Text, "-") && strings.HasSuffix(a.Text, "f"):
			return true
		case strings.HasPrefix(a.Text, "--expression="), strings.HasPrefix(a.Text, "-e") && len(a.Text) > 2:
			given = true
		case i > 0 && strings.HasPrefix(args[i-1].Text, "-") && strings.HasSuffix(args[i-1].Text, "e") &&
			!strings.HasPrefix(args[i-1].Text, "--"),
			i > 0 && args[i-1].Text == "--expression":
			given = true
		case strings.HasPrefix(a.Text, "-"), given:
			continue
		default:
			given = true
		}
		if strings.ContainsRune(a.Text, grammar.Hole) || sedRun.MatchString(a.Text) {
			return true
		}
	}
	return false
}

// sedRun matches a text that may be such a program.
var sedRun = lazyregexp.New(
	`(?:^|[;{}\n])[\s0-9,$!~+]*(?:/[^/]*/)?[\s!]*e|[^\w\s][gpiImM0-9]*e[gpiImM0-9]*(?:[\s;}]|$)`,
)
