package unwrap

import (
	"fmt"
	"strings"

	"ptyctl/internal/lazyregexp"
	"ptyctl/policy/grammar"
)

// This file lists words that some shell treats as more than the name of a
// program, or that have their arguments evaluated, even in quotes. The lists
// come from the manuals of bash, dash, zsh, ksh93, mksh, busybox ash, fish and
// tcsh.

// reserved holds the reserved words of all grammars (fish and csh recognize
// them in quotes, too) and modifiers that precede a command.
var reserved = grammar.SetOf(
	`! { } [[ ]] (( )) if then else elif fi case esac for select while until do done in function time coproc
	end and or not begin switch foreach breaksw default endif endsw repeat nocorrect noglob builtin - -- @
	always namespace`,
)

// stateful holds builtins that run text later or again, rename commands, or set
// variables by name. After one of them, nothing is known about the rest of the
// line.
var stateful = grammar.SetOf(
	`
	. abbr alias argparse autoload bg bind bindkey block breakpoint caller commandline compctl compgen complete
	compopt declare dirs disable disown emulate emit enable eval exec export fc fg fish_add_path fish_config float
	functions funced funcsave getln getopts glob hash hist history hup integer jobs let limit local log login
	mapfile newgrp notify onintr popd print psub pushd pushln r read readarray readonly rehash sched set setenv
	setopt setpath settc setty shopt source status stop string suspend trap typeset nameref unalias unfunction
	unhash unlimit unset unsetenv unsetopt vared wait zcompile zformat zle zmodload zparseopts zpty zregexparse
	zsocket zstyle ztcp`,
)

// counting holds builtins that take numbers, which some shells evaluate as
// expressions.
var counting = grammar.SetOf("break continue exit logout return shift")

// plainArgs holds the form of harmless arguments for other builtins. Some
// shells evaluate anything else.
var plainArgs = map[string]*lazyregexp.Regexp{
	"kill":   lazyregexp.New(`^(?:-?[A-Z0-9+]{1,12}|-[a-z]|%?[0-9]{1,18})$`),
	"sleep":  lazyregexp.New(`^[0-9.]{1,18}[smhd]?$`),
	"times":  lazyregexp.New(`^$`),
	"ulimit": lazyregexp.New(`^(?:-[A-Za-z]{1,4}|[0-9]{1,18}|unlimited|soft|hard)$`),
	"umask":  lazyregexp.New(`^(?:-[Sp]|[0-7]{1,5}|[ugoarwxXst,=+-]*)$`),
}

var (
	// Numeral matches a whole number.
	Numeral = lazyregexp.New(`^[+-]?[0-9]{1,18}$`)
	decimal = lazyregexp.New(`^[+-]?[0-9]{1,18}(?:\.[0-9]{1,18})?$`)

	// textual matches a conversion of printf(1) that takes its argument as text.
	textual = lazyregexp.New(`%(?:%|-?[0-9]{0,6}(?:\.[0-9]{1,6})?[sbc])`)

	// programName matches a safe name of a command. Some shell gives other
	// characters in a name a meaning.
	programName = lazyregexp.New(`^(?:[A-Za-z0-9_./][A-Za-z0-9_./+@:,-]*|\[|:)$`)
)

// numbers holds the operators of test(1) that take numbers.
var numbers = grammar.SetOf("-eq -ne -lt -le -gt -ge")

// evaluated refuses arguments that a shell might evaluate: a number may be an
// expression, and a[$(command)] in an expression runs a command.
func evaluated(words []grammar.Word) error {
	name, args := words[0].Text, words[1:]
	refuse := func(a grammar.Word, what string) error {
		return &grammar.Refusal{
			Part:    grammar.Shown([]grammar.Word{words[0], a}),
			Why:     name + " is a command of the shell, and some shells evaluate its arguments",
			Instead: what,
		}
	}
	switch {
	case !programName.MatchString(name):
		if strings.ContainsAny(name, " \t\n") {
			return grammar.Outside(
				"the program name "+fmt.Sprintf("%q", grammar.Shorten(name)),
				"give the program and each argument as a word of its own",
			)
		}
		return grammar.Outside("the program name "+fmt.Sprintf("%q", grammar.Shorten(name)),
			"call the program by a name of letters and digits")
	case reserved[name]:
		return grammar.Outside("the word "+name, "write the command itself")
	case stateful[name]:
		return grammar.Outside("the shell's own command "+name, "run the intended command itself")
	case counting[name]:
		for _, a := range args {
			if !Numeral.MatchString(a.Text) {
				return refuse(a, "give a number")
			}
		}
	case plainArgs[name] != nil:
		for _, a := range args {
			if !plainArgs[name].MatchString(a.Text) {
				return refuse(a, "give it numbers and options alone")
			}
		}
	case name == "cd" || name == "chdir":
		for _, a := range args {
			if strings.ContainsAny(a.Text, grammar.Expands) && !a.TildeHome() {
				return refuse(a, "give the folder's name without $, ` and (")
			}
		}
	case name == "test" || name == "[":
		return tested(args, refuse)
	case name == "printf":
		return formatted(args, refuse)
	}
	return nil
}

// tested judges the arguments of test(1). Operands of numeric operators must be
// plain numbers.
func tested(args []grammar.Word, refuse func(grammar.Word, string) error) error {
	for i, a := range args {
		if strings.ContainsAny(a.Text, grammar.Expands) && !a.TildeHome() {
			return refuse(a, "give text without $, `, ( and file patterns")
		}
		if !numbers[a.Text] {
			continue
		}
		if i == 0 || i+1 == len(args) {
			continue
		}
		for _, n := range []grammar.Word{args[i-1], args[i+1]} {
			if !Numeral.MatchString(n.Text) {
				return refuse(n, "give a number")
			}
		}
	}
	for i, a := range args {
		next := grammar.Word{}
		if i+1 < len(args) {
			next = args[i+1]
		}
		switch {
		case a.Text == "-t" && next.Text != "" && !Numeral.MatchString(next.Text) && next.Text != "]":
			return refuse(next, "give a number")
		case (a.Text == "-v" || a.Text == "-R") && next.Text != "" && !grammar.VariableName.MatchString(next.Text) &&
			next.Text != "]":
			return refuse(next, "give the name of a variable")
		}
	}
	return nil
}

// formatted judges the arguments of printf(1). If the format has a conversion
// to numbers, all arguments must be numbers.
func formatted(args []grammar.Word, refuse func(grammar.Word, string) error) error {
	if len(args) > 0 && args[0].Text == "--" {
		args = args[1:]
	}
	if len(args) == 0 {
		return nil
	}
	if !args[0].Literal() || strings.HasPrefix(args[0].Text, "-") {
		return refuse(args[0], "begin with the format, in quotes")
	}
	if !strings.Contains(textual.ReplaceAllString(args[0].Text, ""), "%") {
		return nil
	}
	for _, a := range args[1:] {
		if !decimal.MatchString(a.Text) {
			return refuse(a, "give numbers, or use %s alone")
		}
	}
	return nil
}
