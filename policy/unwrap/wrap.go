package unwrap

import (
	"path"
	"slices"
	"strings"

	"ptyctl/policy/grammar"
)

// Program returns the name of a command without its folder.
func Program(text string) string {
	name := path.Base(strings.ReplaceAll(text, `\`, "/"))
	return strings.TrimSuffix(strings.ToLower(name), ".exe")
}

// family returns a program's name without a version at the end, for example
// python for python3.12 and lua for lua5.4.
func family(name string) string { return strings.TrimRight(name, "0123456789.-") }

// unwrap finds the commands that a command runs, or returns nil. It records in c the effects that cannot be judged.
func (r *Reader) unwrap(c *Command, in input) (inner func() error, err error) {
	name, args := Program(c.Words[0].Text), c.Words[1:]
	// zsh and fish differ from POSIX shells here.
	if strings.Contains(c.Words[0].Text, "=") {
		return nil, grammar.Ambiguous(
			"a word with = before a command is a variable in some shells, and a program in others",
			"leave it out",
		)
	}
	// In the closed grammar a runner must have a form that all its versions read
	// alike, or its command could begin at another word.
	if r.Closed {
		if err := r.strict(name, args); err != nil {
			return nil, err
		}
	}
	if run, ok := runnerNamed(name); ok {
		return r.unwrapRunner(c, run, name, args, in)
	}
	switch {
	case shells[name]:
		return r.unwrapShell(c, name, args, in)
	// busybox rm is rm.
	case name == "busybox" || name == "toybox":
		if len(args) > 0 {
			return func() error { return r.command(args, in) }, nil
		}
	case name == "find":
		return r.unwrapFind(args)
	case name == "su":
		return r.unwrapSu(c, args)
	case name == "alias":
		return r.values(args)
	// The first argument of trap is a script, unless it is an option.
	case name == "trap":
		if len(args) > 0 && args[0].Text == "--" {
			args = args[1:]
		}
		if len(args) > 0 && !strings.HasPrefix(args[0].Text, "-") {
			return r.scriptIn(name, args[0])
		}
	case name == "source" || name == ".":
		c.Opaque = "the content of the file is unknown"
	case name == "fc", name == "hist", name == "hash" && slices.ContainsFunc(args, sets), hasBuiltinOption(name, args):
		c.Opaque = "it can make another command run under a name, or an earlier one again"
	// These builtins evaluate a name such as a[$(command)].
	case evaluators[name],
		name == "printf" && slices.ContainsFunc(args, IsOption('v')),
		(name == "test" || name == "[") && slices.ContainsFunc(args, IsOption('v')):
		for _, a := range args {
			if !a.Literal() || strings.Contains(a.Text, "[") {
				return nil, grammar.Ambiguous(name+" evaluates names that are not literal", "write plain names")
			}
		}
		if err := r.sets(args); err != nil {
			return nil, err
		}
	// awk runs commands through system(), pipes, extensions and @ calls. exact
	// shows an unknown part of the program as a hole.
	case scripted[name]:
		if t := strings.ReplaceAll(grammar.Exact(args), string(grammar.Hole), "|"); strings.Contains(t, "|") ||
			strings.Contains(t, "system") ||
			strings.Contains(t, "-f") ||
			strings.Contains(t, "-E") ||
			strings.Contains(t, "-l") ||
			strings.Contains(t, "--load") ||
			strings.Contains(t, "@") {
			c.Opaque = "its program can run commands"
		}
	case name == "sed" || name == "gsed":
		if sedRuns(args) {
			c.Opaque = "its program can run commands"
		}
	// An interpreter without arguments reads its program from its input. On a new
	// terminal that is typed input, which is judged later.
	case interpreters[name] || interpreters[family(name)]:
		if len(args) == 0 || strings.HasPrefix(args[0].Text, "-") && !harmless(args) || !args[0].Literal() {
			if !r.Screen || len(args) > 0 {
				c.Opaque = "the language of its program is not supported here"
			}
		}
		if clients[name] || clients[family(name)] {
			return func() error { return r.searchTexts(args) }, nil
		}
	case name == "git":
		c.Opaque = gitRunsOther(args)
	case running[name].in(args):
		c.Opaque = "with such an option it runs another program"
	case name == "set" || name == "setenv":
		return nil, r.sets(args)
	// The commands run later and outside the session, so no rule could see them.
	case name == "at", name == "batch", name == "crontab" && (len(args) != 1 || args[0].Text != "-l"):
		c.Opaque = "it runs its input later"
	case readers[name]:
		return func() error { return r.searchTexts(args) }, nil
	case isCarrier(name):
		return func() error { return r.search(args, in) }, nil
	}
	return nil, nil
}

// harmless reports whether an interpreter is only asked for its version or
// help.
func harmless(args []grammar.Word) bool {
	return len(args) == 1 && slices.Contains([]string{"--version", "-V", "-v", "--help", "-h", "-version"}, args[0].Text)
}

// hasBuiltinOption reports whether a shell's builtin has an option by which it
// runs a command.
func hasBuiltinOption(name string, args []grammar.Word) bool {
	for _, letter := range builtinRuns[name] {
		if slices.ContainsFunc(args, IsOption(byte(letter))) {
			return true
		}
	}
	return false
}

// sets reports whether an argument assigns a value, for example hash ls=/bin/rm
// in zsh.
func sets(a grammar.Word) bool { return strings.Contains(a.Text, "=") || !a.Literal() }

// IsOption returns a test for a cluster of short options with the letter. Words
// with unknown text may be such a cluster.
func IsOption(letter byte) func(grammar.Word) bool {
	return func(w grammar.Word) bool {
		return w.Multi || strings.HasPrefix(w.Text, string(grammar.Hole)) ||
			len(w.Text) > 1 && w.Text[0] == '-' && w.Text[1] != '-' &&
				(strings.IndexByte(w.Text, letter) > 0 || strings.ContainsRune(w.Text, grammar.Hole))
	}
}

// options removes a runner's options. It fails for an unknown option, because
// the command could then begin at any word.
func (run runner) options(name string, args []grammar.Word) (rest []grammar.Word, used string, err error) {
	for len(args) > 0 {
		w := args[0]
		if !w.Literal() {
			return nil, "", grammar.Unreadable("what " + name + " is given before its command is not known before it runs")
		}
		text := w.Text
		switch {
		case text == "--":
			return args[1:], used, nil
		case text == "-": // option -i of env, and a prefix of commands in zsh
			args = args[1:]
			continue
		case run.digits && strings.HasPrefix(text, "+") && strings.Trim(text[1:], "0123456789") == "": // csh
			args = args[1:]
			continue
		case len(text) < 2 || text[0] != '-':
			if run.assigns && isAssignment(text) {
				args = args[1:]
				continue
			}
			if run.assigns && strings.Contains(text, "=") { // env(1) accepts every name that is not empty
				return nil, "", grammar.Unreadable(name + " may take " + grammar.Shorten(text) +
					" for a variable, and what follows for the command")
			}
			return args, used, nil
		case strings.HasPrefix(text, "--"):
			option, _, with := strings.Cut(text[2:], "=")
			switch {
			case !with && slices.Contains(run.long, option),
				with && slices.Contains(run.long, option+"="),
				with && slices.Contains(run.long, option):
				args = args[1:]
			case !with && slices.Contains(run.long, option+"=") && len(args) > 1:
				args = args[2:]
			default:
				return nil, "", unknownOption(name, text)
			}
			continue
		case run.digits && strings.Trim(text[1:], "+-0123456789") == "":
			args = args[1:]
			continue
		}
		args = args[1:]
		for letters := text[1:]; letters != ""; letters = letters[1:] {
			l := letters[0]
			used += string(l)
			switch {
			case strings.IndexByte(run.flags, l) >= 0:
				continue
			case strings.IndexByte(run.valued, l) < 0:
				return nil, "", unknownOption(name, "-"+string(l))
			case len(letters) > 1:
			case len(args) == 0:
				return nil, "", unknownOption(name, text)
			default:
				args = args[1:]
			}
			break
		}
	}
	return nil, used, nil
}

// takesNext reports whether the next argument is the value of an option.
func (run runner) takesNext(option string) bool {
	if long, ok := strings.CutPrefix(option, "--"); ok {
		return !slices.Contains(run.long, long) && slices.Contains(run.long, long+"=")
	}
	for i := 1; i < len(option); i++ {
		if strings.IndexByte(run.valued, option[i]) >= 0 {
			return i == len(option)-1
		}
	}
	return false
}

// unknownOption returns the refusal of an option that a runner is not known to
// have.
func unknownOption(name, option string) error {
	return grammar.Unreadable(name + " " + grammar.Shorten(option) +
		" is not known to the policy, so the command that it runs is unknown")
}

// isAssignment reports whether text has the form NAME=value.
func isAssignment(text string) bool {
	name, _, ok := strings.Cut(text, "=")
	return ok && name != "" && strings.IndexFunc(name, func(c rune) bool {
		return c != '_' && (c < '0' || c > '9') && (c < 'A' || c > 'Z') && (c < 'a' || c > 'z')
	}) < 0
}

// unwrapRunner judges the command of a runner, after its options and operands.
func (r *Reader) unwrapRunner(c *Command, run runner, name string, args []grammar.Word, in input) (func() error,
	error,
) {
	if name == "xargs" {
		return r.unwrapXargs(run, args)
	}
	value := false           // of the option before it, as -a in env -u -a
	for _, a := range args { // options with effects that cannot be judged
		if value {
			value = false
			continue
		}
		if strings.HasPrefix(a.Text, "-") && len(a.Text) > 1 && a.Text[1] != '-' &&
			strings.IndexByte(run.opaque, a.Text[1]) >= 0 {
			c.Opaque = name + " " + a.Text[:2] + " runs a command that cannot be seen"
			return func() error { return r.search(args, in) }, nil
		}
		if !strings.HasPrefix(a.Text, "-") {
			break
		}
		value = run.takesNext(a.Text)
	}
	if run.lead && len(args) > 0 && !strings.HasPrefix(args[0].Text, "-") {
		if !args[0].Literal() {
			return nil, grammar.Unreadable("what " + name + " is given before its command is not known before it runs")
		}
		args = args[1:]
	}
	rest, used, err := run.options(name, args)
	if err != nil {
		return nil, err
	}
	if run.with != "" && !strings.ContainsAny(used, run.with) || run.inert != "" && strings.ContainsAny(used, run.inert) {
		return nil, nil
	}
	if run.assigns {
		for _, a := range args[:len(args)-len(rest)] {
			if isAssignment(a.Text) {
				if err := r.Env(a.Text); err != nil {
					return nil, err
				}
			}
		}
	}
	if name == "command" && strings.ContainsAny(used, "vV") || len(rest) <= run.skip {
		return nil, nil
	}
	for _, w := range rest[:run.skip] {
		if !w.Literal() || strings.HasPrefix(w.Text, "-") {
			return nil, grammar.Unreadable("what " + name + " is given before its command is not known before it runs")
		}
	}
	rest = rest[run.skip:]
	if name == "ssh" { // accepts options after the host, too
		if rest, _, err = run.options(name, rest); err != nil || len(rest) == 0 {
			return nil, err
		}
	}
	if !run.joined {
		return func() error { return r.command(rest, in) }, nil
	}
	if r.Closed && len(rest) == 1 {
		return func() error { return r.inner(name, rest[0]) }, nil
	}
	if r.Closed {
		return nil, grammar.Outside("a line for "+name+" in several words", "give it as one word, in quotes")
	}
	line, ok := grammar.Literals(rest)
	if !ok {
		return nil, r.unknownScript(name)
	}
	return func() error { return r.Script(strings.Join(line, " ")) }, nil
}

// unwrapShell judges the script of a shell.
func (r *Reader) unwrapShell(c *Command, name string, args []grammar.Word, in input) (func() error, error) {
	script, args, err := shellOptions(name, args)
	switch {
	case err != nil:
		return nil, err
	case script && len(args) == 0: // the shell itself reports an error
	case script:
		return r.scriptIn(name+" -c", args[0])
	case len(args) > 0:
		c.Opaque = "the content of the file is unknown"
	case in.known:
		return r.scriptIn(name, in.text)
	case !r.Screen:
		c.Opaque = "it runs its input, which cannot be seen"
	}
	return nil, nil
}

// shellOptions removes a shell's options, and reports whether -c was one of
// them.
func shellOptions(name string, args []grammar.Word) (script bool, rest []grammar.Word, err error) {
	for ; len(args) > 0; args = args[1:] {
		text := args[0].Text
		switch {
		case !args[0].Literal():
			if script && text != "" && text[0] != '-' && text[0] != '+' && !strings.HasPrefix(text, string(grammar.Hole)) {
				return script, args, nil
			}
			return false, nil, grammar.Unreadable("what " + name + " is given is not known before it runs")
		case text == "--" || text == "-":
			return script, args[1:], nil
		case slices.Contains(harmlessLong, text):
		case len(text) < 2 || text[0] != '-' && text[0] != '+':
			return script, args, nil
		case strings.Trim(text[1:], "abcefhiklmnprstuvxBCDEHPToO") != "":
			return false, nil, unknownOption(name, text)
		default:
			script = script || text[0] == '-' && strings.Contains(text, "c")
			if strings.ContainsAny(text, "oO") {
				if len(args) < 2 || !args[1].Literal() {
					return false, nil, unknownOption(name, text)
				}
				args = args[1:]
			}
		}
	}
	return script, nil, nil
}

// harmlessLong holds the long options of shells that do not name a file.
var harmlessLong = strings.Fields(
	"--login --norc --noprofile --posix --restricted --verbose --noediting --private --no-config --no-rcs --version " +
		"--help",
)

// unknownScript returns the refusal of a script with unknown text in it. Where that text replaces a placeholder of
// xargs or find, there is another way to write the command.
func (r *Reader) unknownScript(shell string) error {
	why := "the line that " + shell + " runs is not known before it runs"
	if len(r.placeholders) == 0 {
		return grammar.Unreadable(why)
	}
	if r.Closed {
		return grammar.Unjudged(why, withoutShell)
	}
	placeholder := r.placeholders[len(r.placeholders)-1]
	return grammar.Unjudged(why, `pass the text to the script as an argument: sh -c 'COMMAND "$1"' sh `+placeholder)
}

// withoutShell is the advice for a script with a placeholder under an allow list, where no script takes arguments.
const withoutShell = "run the command of the script itself, without a shell"

// scriptIn judges a script that is one word of a command.
func (r *Reader) scriptIn(name string, w grammar.Word) (func() error, error) {
	if strings.ContainsRune(w.Text, grammar.Hole) || w.Multi || w.Tilde {
		return nil, r.unknownScript(name)
	}
	if r.Closed {
		return func() error { return r.inner(strings.Fields(name)[0], w) }, nil
	}
	return func() error { return r.Script(w.Text) }, nil
}
