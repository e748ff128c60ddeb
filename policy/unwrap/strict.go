package unwrap

import (
	"slices"
	"strings"

	"ptyctl/internal/lazyregexp"
	"ptyctl/policy/grammar"
)

// If commands need permission, a program that runs others is accepted only in a
// form that all its versions read alike: each option separate and from a closed
// list, with its value as the next word or, for a long option, after =. Any
// other argument is denied, because the inner command could begin at another
// word than the rules assume.
var strictRunners = map[string]runner{
	"chronic": {},
	"command": {flags: "pvV"},
	"doas":    {flags: "n", valued: "u"},
	"env":     {flags: "i", valued: "uC", long: []string{"ignore-environment", "unset=", "chdir="}, assigns: true},
	"ionice":  {flags: "t", valued: "cn", long: []string{"ignore", "class=", "classdata="}},
	"nice":    {valued: "n", long: []string{"adjustment="}},
	"nohup":   {},
	"setsid":  {flags: "cfw", long: []string{"ctty", "fork", "wait"}},
	"ssh":     {flags: "46nqTt", valued: "lp", skip: 1, joined: true},
	"stdbuf":  {valued: "ioe", long: []string{"input=", "output=", "error="}},
	"sudo":    {flags: "nHS", valued: "ug", long: []string{"non-interactive", "set-home", "stdin", "user=", "group="}, assigns: true},
	"time":    {},
	"timeout": {valued: "ks", long: []string{"foreground", "preserve-status", "kill-after=", "signal="}, skip: 1},
	"xargs":   {flags: "0rtx", valued: "nPLsdEaI", long: []string{"null", "no-run-if-empty", "verbose", "exit", "max-args=", "max-procs=", "max-chars=", "delimiter=", "arg-file="}},
}

// strict denies a call of a program that runs others, unless it has the plain
// form.
func (r *Reader) strict(name string, args []grammar.Word) error {
	_, runs := runnerNamed(name)
	switch {
	case shells[name]:
		return r.strictShell(name, args)
	case name == "su":
		return strictSu(args)
	case name == "find":
		return strictFind(args)
	case name == "busybox" || name == "toybox":
		if len(args) > 0 && !programName.MatchString(args[0].Text) {
			return grammar.Outside(name+" "+grammar.Shown(args[:1]), "name the command")
		}
	case runs && !reserved[name] && !stateful[name]:
		_, _, err := strictly(name, args)
		return err
	}
	return nil
}

// strictly removes the options of the closed list and denies all others before
// a runner's command. replace is the text that xargs replaces in the command;
// empty: none.
func strictly(name string, args []grammar.Word) (rest []grammar.Word, replace string, err error) {
	run, ok := strictRunners[name]
	if !ok {
		return nil, "", grammar.Outside("a command behind "+name, "run the command itself")
	}
	assigned := false
	for i := 0; i < len(args); i++ {
		text := args[i].Text
		option, _, with := strings.Cut(strings.TrimPrefix(text, "--"), "=")
		switch {
		case !args[i].Literal():
			return nil, "", grammar.Unreadable("what " + name + " is given before its command is not known before it runs")
		case run.assigns && isAssignment(text):
			assigned = true
		case text == "" || text[0] != '-' && text[0] != '+':
			return strictRest(name, args[i:], replace)
		case assigned: // no more options
			return nil, "", strictOption(name, text, run)
		case text == "--":
			return strictRest(name, args[i+1:], replace)
		case strings.HasPrefix(text, "--") &&
			(!with && slices.Contains(run.long, option) || with && slices.Contains(run.long, option+"=")):
		case text == "-I" && name == "xargs" && i+1 < len(args):
			if i++; !strictPlaceholder.MatchString(args[i].Text) {
				return nil, "", grammar.Outside("xargs -I "+grammar.Shown(args[i:i+1]), "use {} or a few capital letters")
			}
			replace = args[i].Text
		case len(text) == 2 && text[0] == '-' && strings.Contains(run.valued, text[1:]):
			if i++; i == len(args) || !args[i].Literal() {
				return nil, "", strictOption(name, text, run)
			}
		case len(text) > 1 && text[0] == '-' && run.flags != "" && strings.Trim(text[1:], run.flags) == "":
		case len(text) > 2 && text[0] == '-' && strings.Contains(run.valued, text[1:2]) && text[1] != 'I' &&
			plainValue.MatchString(text[2:]):
		default:
			return nil, "", strictOption(name, text, run)
		}
	}
	return nil, replace, nil
}

// strictRest returns the words after a runner's options. ssh accepts options
// after the host, too.
func strictRest(name string, rest []grammar.Word, replace string) ([]grammar.Word, string, error) {
	if name == "ssh" && len(rest) > 1 && strings.HasPrefix(rest[1].Text, "-") {
		return nil, "", grammar.Outside("an option of ssh behind the host", "write it before the host")
	}
	return rest, replace, nil
}

// plainValue matches the value of an option that is joined to its letter: -n1,
// -oL, -k5s.
var plainValue = lazyregexp.New(`^[A-Z0-9][A-Za-z0-9.]{0,15}$`)

// strictOption returns the refusal of an option that is not in the closed list.
func strictOption(name, text string, run runner) error {
	var known []string
	for _, l := range run.flags + run.valued {
		known = append(known, "-"+string(l))
	}
	for _, l := range run.long {
		known = append(known, "--"+l)
	}
	instead := "give it none"
	switch {
	case len(text) > 2 && text[0] == '-' && strings.Contains(run.valued, text[1:2]): // no such letter is -
		instead = "write " + text[:2] + " and its value as two words: " + text[:2] + " " + grammar.Shorten(text[2:])
	case len(known) > 0:
		instead = "use " + strings.Join(known, " ") + ", each by itself"
	}
	return grammar.Outside(name+" "+grammar.Shorten(text), instead)
}

// strictShell denies every call of a shell except: options, then -c and its
// script, or a script file. Most shells read options as shellOptions does, but
// not all: in zsh -c -oNAME the next word is the script, in dash -c -s the
// input is.
func (r *Reader) strictShell(name string, args []grammar.Word) error {
	i := 0
	for i < len(args) && (strictShellOptions.MatchString(args[i].Text) ||
		slices.Contains(harmlessLong, args[i].Text) && name != "fish") {
		i++
	}
	script := i > 0 && strings.Contains(args[i-1].Text, "c") && !strings.HasPrefix(args[i-1].Text, "--")
	if script && i == len(args) {
		return grammar.Outside(name+" -c without a script", "give the script as one word")
	}
	for k, a := range args[:i] {
		if strings.Contains(a.Text, "c") && !strings.HasPrefix(a.Text, "--") && k != i-1 {
			return grammar.Outside(name+" with options behind -c", "write -c last")
		}
	}
	for k, a := range args[i:] {
		if k == 0 && !a.Literal() {
			return r.unknownScript(name)
		}
		if a.Text == "" && k == 0 || strings.HasPrefix(a.Text, "-") || strings.HasPrefix(a.Text, "+") ||
			strings.HasPrefix(a.Text, string(grammar.Hole)) {
			return grammar.Outside(name+" "+grammar.Shown([]grammar.Word{a}),
				"call it as "+name+" -c SCRIPT, with words that do not begin with - or +")
		}
	}
	return nil
}

// strictShellOptions matches -e, -u, -x, -l and -i, alone or together, and with
// -c as the last.
var strictShellOptions = lazyregexp.New(`^-[euxli]{0,5}c?$`)

// strictSu accepts su [-] [USER] -c LINE.
func strictSu(args []grammar.Word) error {
	rest := args
	if len(rest) > 0 && (rest[0].Text == "-" || rest[0].Text == "-l" || rest[0].Text == "--login") {
		rest = rest[1:]
	}
	if len(rest) > 0 && rest[0].Literal() && programName.MatchString(rest[0].Text) {
		rest = rest[1:]
	}
	if len(rest) == 0 ||
		len(rest) == 2 && rest[0].Text == "-c" && rest[1].Literal() && !strings.HasPrefix(rest[1].Text, "-") &&
			!strings.HasPrefix(rest[1].Text, "+") {
		return nil
	}
	return grammar.Outside("su with such arguments", "write su [-] USER -c LINE")
}

// strictPlaceholder matches the text that xargs -I may replace: it must not
// occur in the printed form of other words.
var strictPlaceholder = lazyregexp.New(`^(?:\{\}|%|@|_|[A-Z_]{2,16})$`)

// strictFind denies arguments of find(1) that may become an action, and actions
// without a clear end.
func strictFind(args []grammar.Word) error {
	for i := 0; i < len(args); i++ {
		a := args[i]
		if a.TildeHome() {
			continue
		}
		if strings.HasPrefix(a.Text, string(grammar.Hole)) {
			return grammar.Unjudged(
				"an argument that begins with unknown text can become an action of find", "begin it with ./ or a folder",
			)
		}
		if !slices.ContainsFunc(findRuns, func(p grammar.Wildcard) bool { return p.May(a.Text) }) {
			continue
		}
		end := i + 1
		for end < len(args) && args[end].Text != ";" && (args[end].Text != "+" || args[end-1].Text != "{}") {
			end++
		}
		if !a.Literal() || end == len(args) || end == i+1 {
			return grammar.Outside("find "+grammar.Shown([]grammar.Word{a})+" without an end",
				"end the command with \\; or with {} +")
		}
		i = end
	}
	return nil
}
