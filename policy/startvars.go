package policy

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"ptyctl/policy/grammar"
	"ptyctl/policy/unwrap"
	"ptyctl/term"
)

// ruled reports whether there are rules for the programs of this machine.
func (p *Policy) ruled() bool { return len(p.programs)+len(p.denyPrograms) > 0 }

// variable judges NAME=value for a program of this machine. If there are rules
// for programs, a variable must not change which program runs.
func (p *Policy) variable(text string) error {
	name, value, _ := strings.Cut(text, "=")
	name = strings.TrimSuffix(name, "+") // NAME+=value of a shell
	switch {
	case name == "PATH" && value == p.env.Get("PATH"): // unchanged
		return nil
	case unwrap.Loads(name), unwrap.StartVars[name]:
		return &denial{
			rule:    p.programRule(),
			part:    name + "=…",
			why:     "this variable can change which program runs",
			instead: "leave it out",
			allowed: p.rules.Programs,
		}
	}
	return nil
}

// variables returns a function that judges the variables of a line or a call.
func (p *Policy) variables(a term.Action) func(text string) error {
	if a.Protocol != local || !p.ruled() {
		return p.commands.assignment
	}
	return func(text string) error {
		if err := p.commands.assignment(text); err != nil {
			return err
		}
		return p.variable(text)
	}
}

// programsOf returns a function that judges the programs of a line, called once
// for each command; nil if there are no rules.
func (p *Policy) programsOf(a term.Action) func(words []grammar.Word) error {
	if a.Protocol != local || !p.ruled() {
		return nil
	}
	seen, relative := 0, ""
	return func(words []grammar.Word) error {
		name := words[0].Text
		if seen++; strings.ContainsAny(name, "/"+string(os.PathSeparator)) && !filepath.IsAbs(name) {
			relative = name
		}
		if relative != "" && seen > 1 { // an earlier command may change the folder
			return &denial{
				rule:    p.programRule(),
				part:    relative,
				why:     "where this path begins is not known behind another command",
				instead: "give the whole path",
			}
		}
		if renames(words) {
			return &denial{
				rule:    p.programRule(),
				part:    grammar.Shown(words),
				why:     "a program under another name can be another program",
				instead: "leave the option out",
			}
		}
		_, err := p.program(name, a.Dir, a.Verb == term.VerbOpen)
		return err
	}
}

// renames reports whether a command runs another under a different name: exec
// -a, env --argv0.
func renames(words []grammar.Word) bool {
	switch unwrap.Program(words[0].Text) {
	case "exec":
		return slices.ContainsFunc(words[1:], unwrap.IsOption('a'))
	case "env", "genv":
		return slices.ContainsFunc(
			words[1:],
			func(w grammar.Word) bool { return strings.HasPrefix(w.Text, "--a") || unwrap.IsOption('a')(w) },
		)
	}
	return false
}

// started judges the program that an open of a local session starts, and
// returns the path of the judged file.
func (p *Policy) started(a term.Action) (path string, err error) {
	if a.Verb != term.VerbOpen || a.Target == nil || a.Target.Protocol != local || !p.ruled() ||
		len(a.Target.Local.Argv) == 0 {
		return "", nil
	}
	path, err = p.program(a.Target.Local.Argv[0], a.Dir, true)
	if path == "" && err == nil { // a builtin of shells, for which there is no file
		return "", &denial{
			rule: p.programRule(),
			part: grammar.Shorten(a.Target.Local.Argv[0]),
			why:  "there is no such program",
		}
	}
	return path, err
}
