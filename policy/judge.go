package policy

import (
	"cmp"
	"slices"
	"strings"

	"ptyctl/policy/grammar"
	"ptyctl/policy/preset"
	"ptyctl/policy/unwrap"
)

// A pattern is a parsed rule for commands.
type pattern struct {
	Rule
	grammar.Wildcard
}

// patterns parses the texts of rules for commands.
func patterns(rules []Rule) []pattern {
	out := make([]pattern, len(rules))
	for i, r := range rules {
		out[i] = pattern{r, grammar.NewWildcard(r.Text)}
	}
	return out
}

// commands holds the rules for commands.
type commands struct {
	allow, deny, ask []pattern
	permissions      *permissions
	preset           *preset.List // allowed in addition to allow; nil: none
	presetRule       Rule
	consented        bool // a person has consented: ask denies nothing
}

// lists reports whether a command must be in a list of allowed commands.
func (k *commands) lists() bool { return len(k.allow) > 0 || k.preset != nil }

// any reports whether commands are judged at all.
func (k *commands) any() bool {
	return k.lists() || len(k.deny)+len(k.ask) > 0 || k.permissions.judgesCommands()
}

// needed returns the rule to name for a line that needs permission and has
// none.
func (k *commands) needed() Rule {
	for _, list := range [][]pattern{k.allow, k.ask} {
		if len(list) > 0 {
			return Rule{Name: list[0].Name, Where: list[0].Where}
		}
	}
	if k.preset != nil {
		return k.presetRule
	}
	return k.first()
}

// first returns the rule to name if the command cannot be judged.
func (k *commands) first() Rule {
	for _, list := range [][]pattern{k.deny, k.ask, k.allow} {
		if len(list) > 0 {
			return Rule{Name: list[0].Name, Where: list[0].Where}
		}
	}
	if k.preset != nil {
		return k.presetRule
	}
	return Rule{Name: permissionsName, Where: permissionsName}
}

// line judges a line for a shell. screen says that it starts a terminal.
// program judges the program of each command and may be nil; variable judges
// the variables that are set.
func (k *commands) line(
	text string,
	screen bool,
	program func(words []grammar.Word) error,
	variable func(text string) error,
) error {
	r := unwrap.Reader{
		Screen: screen,
		Judge: func(c unwrap.Command) error {
			if err := k.command(c); err != nil {
				return err
			}
			// Only a command with a known name can be looked up as a file.
			if program == nil || c.Hidden || !c.Words[0].Literal() {
				return nil
			}
			return program(c.Words)
		},
		Env:  variable,
		File: k.file,
	}
	return k.named(r.Script(text), text)
}

// named adds the rule to a denial that does not name one.
func (k *commands) named(err error, text string) error {
	d, ok := asDenial(err)
	if !ok || d.rule.Name != "" {
		return err
	}
	d.rule, d.part, d.allowed = k.first(), cmp.Or(d.part, grammar.Shorten(text)), k.allowed()
	return d
}

// allowed returns the rules that a denial should list as alternatives.
func (k *commands) allowed() []Rule {
	out := make([]Rule, len(k.allow))
	for i, p := range k.allow {
		out[i] = p.Rule
	}
	return out
}

// command judges one command.
func (k *commands) command(c unwrap.Command) error {
	if !k.any() {
		return nil
	}
	callable := callable(c.Words)
	// Deny and ask match if any expansion of the words could match. Deny comes
	// first, because no consent can lift it.
	for _, p := range k.deny {
		if p.denies(callable) {
			return &denial{rule: p.Rule, part: grammar.Shown(c.Words), why: maybe(c.Words), allowed: k.allowed()}
		}
	}
	for _, p := range k.ask {
		if !k.consented && p.denies(callable) {
			return &denial{rule: p.Rule, part: grammar.Shown(c.Words), why: ask.why(), allowed: k.allowed(), asks: true}
		}
	}
	// PTY_PERMISSIONS cannot allow commands that Deny denies.
	rule, named, v := k.permissions.command(c.Words)
	if why := v.why(); why != "" {
		return &denial{rule: rule, part: grammar.Shown(c.Words), why: why, asks: v == ask}
	}
	match, why := false, "no entry allows it"
	if k.preset != nil {
		match, why = k.presets(c)
		named = named || match
	}
	// An entry allows only if it matches for every expansion, and if its first
	// word matches the program's name alone: otherwise "git *" could allow a
	// program with a space in its name.
	if len(k.allow) > 0 {
		text := grammar.Exact(c.Words)
		for _, p := range k.allow {
			if p.Must(text) && p.Parts[0].Must(c.Words[0].Text) {
				match = true
				_, literal := p.Parts[0].Literal()
				named = named || literal
			}
		}
	}
	switch {
	// The effects of the command cannot be judged. An entry with the literal name
	// shows that the operator accepts this.
	case c.Opaque != "" && !named && (!c.Hidden || !k.lists()):
		return &denial{
			rule: k.first(), part: grammar.Shown(c.Words), why: c.Opaque, allowed: k.allowed(),
			instead: "it takes an entry of the allowed commands that begins with its name to run it",
		}
	case k.lists() && !match && !c.Hidden:
		instead := ""
		if c.Words[0].Text == "cd" {
			instead = "give the folder as the working directory of the call"
		}
		return &denial{rule: k.needed(), part: grammar.Shown(c.Words), why: why, instead: instead, allowed: k.allowed()}
	}
	return nil
}

// presets reports whether the preset allows the command, and if not, why.
func (k *commands) presets(c unwrap.Command) (ok bool, why string) {
	texts := make([]string, len(c.Words))
	for i, w := range c.Words {
		if texts[i] = w.Text; w.TildeHome() { // a path, independent of the home folder
			texts[i] = "/home/~" + w.Text[1:]
		}
	}
	if texts[0] == ">" {
		return false, "a preset writes no file; read the output instead"
	}
	return k.preset.Allows(texts)
}

// maybe returns the words as text for a message, with unknown parts shown as
// such.
func maybe(words []grammar.Word) string {
	for _, w := range words {
		if !w.Literal() {
			return "after expansion it may match"
		}
	}
	return ""
}

// A calling is one of the ways to call a command's program, with the arguments.
type calling struct {
	name     grammar.Word
	args     []grammar.Word
	possible string // the whole command
}

// callable returns the ways to call the command: for example, /bin/rm is also
// rm.
func callable(words []grammar.Word) []calling {
	variants := names(words[0])
	out := make([]calling, len(variants))
	for i, name := range variants {
		out[i] = calling{name, words[1:], possible(append([]grammar.Word{name}, words[1:]...))}
	}
	return out
}

// denies reports whether the pattern may match the command: as a whole, or with
// its words in order among those of the command, with others in between. The
// word -rf also matches -r and -f.
func (p pattern) denies(command []calling) bool {
	for _, c := range command {
		if p.May(c.possible) {
			return true
		}
		if len(p.Parts) > 0 && p.Parts[0].May(c.name.Text) && among(p.Parts[1:], c.args, c.args) {
			return true
		}
	}
	return false
}

// names returns the names under which the same program can be called.
func names(w grammar.Word) []grammar.Word {
	out := []grammar.Word{w}
	// Some file systems ignore case, so RM is also rm.
	for _, n := range []string{
		unwrap.Program(w.Text), strings.ToLower(w.Text),
		w.Text[strings.LastIndexByte(w.Text, '/')+1:],
	} {
		if !slices.ContainsFunc(out, func(o grammar.Word) bool { return o.Text == n }) {
			out = append(out, grammar.Word{Text: n, Multi: w.Multi})
		}
	}
	return out
}

// among reports whether the words of the pattern occur in order in args. all
// holds the arguments from the first one on.
func among(parts []grammar.Wildcard, args, all []grammar.Word) bool {
	for len(parts) > 0 {
		p := parts[0]
		text, literal := p.Literal()
		switch {
		// A * matches any number of words.
		case text == "*":
			parts = parts[1:]
			continue
		// rm -rf also means rm -r -f and rm -fr.
		case literal && grammar.IsCluster(text) && hasFlags(text, all):
			parts = parts[1:]
			continue
		}
		found := false
		for i, a := range args {
			if a.Multi && strings.HasPrefix(a.Text, string(grammar.Hole)) {
				return true // it may expand to all missing words
			}
			if p.May(a.Text) || a.Tilde && p.May(string(grammar.Hole)+strings.TrimPrefix(a.Text, "~")) {
				args, found = args[i+1:], true
				break
			}
		}
		if !found {
			return false
		}
		parts = parts[1:]
	}
	return true
}

// hasFlags reports whether each letter of a cluster is an option in args, alone
// or in another cluster.
func hasFlags(cluster string, args []grammar.Word) bool {
	for _, letter := range cluster[1:] {
		if !slices.ContainsFunc(args, func(a grammar.Word) bool {
			return len(a.Text) > 1 && a.Text[0] == '-' && a.Text[1] != '-' && strings.ContainsRune(a.Text, letter)
		}) {
			return false
		}
	}
	return true
}

// possible returns the text that words may become. A word that may disappear
// takes its space with it.
func possible(words []grammar.Word) string {
	var b strings.Builder
	for i, w := range words {
		text := w.Text
		if w.Tilde {
			text = string(grammar.Hole) + strings.TrimPrefix(text, "~")
		}
		if i > 0 && (!w.Multi || !strings.HasPrefix(text, string(grammar.Hole))) {
			b.WriteByte(' ')
		}
		b.WriteString(text)
	}
	return b.String()
}

// harmlessVars do not change which program runs, or its effects.
var harmlessVars = grammar.SetOf("LANG LANGUAGE TZ TERM COLUMNS LINES NO_COLOR CLICOLOR COLORTERM IFS DEBIAN_FRONTEND")

// integerVars have an attribute in some shell (zsh, ksh) that makes it evaluate
// their values, even those from its environment. An expression can run a
// command.
var integerVars = grammar.SetOf(
	`
	BASHPID BAUD COLUMNS DIRSTACKSIZE EGID EPOCHREALTIME EPOCHSECONDS ERRNO EUID FUNCNEST GID HISTCMD HISTFILESIZE
	HISTSIZE KEYTIMEOUT LINENO LINES LISTMAX LOGCHECK MAILCHECK OPTIND PGRP PPID RANDOM REPORTMEMORY REPORTTIME
	SAVEHIST SECONDS SHLVL SRANDOM TIMEOUT TMOUT TRY_BLOCK_ERROR TRY_BLOCK_INTERRUPT TTYIDLE UID USER_ID
	ZSH_SUBSHELL`,
)

// assignment judges NAME=value, before a command or for the rest of the line.
func (k *commands) assignment(text string) error {
	if !k.any() {
		return nil
	}
	name, value, _ := strings.Cut(text, "=")
	if integerVars[name] && !unwrap.Numeral.MatchString(value) {
		return &denial{
			rule:    k.needed(),
			part:    name + "=…",
			why:     "some shells evaluate what this variable is set to",
			instead: "set it to a number",
			allowed: k.allowed(),
		}
	}
	for i, list := range [][]pattern{k.deny, k.ask} {
		for _, p := range list {
			if asks := i == 1; p.May(text) && (!asks || !k.consented) {
				return &denial{rule: p.Rule, part: grammar.Shorten(name + "=…"), allowed: k.allowed(), asks: asks}
			}
		}
	}
	for _, p := range k.allow {
		if first, literal := p.Parts[0].Literal(); p.Must(text) && (literal || strings.HasPrefix(first, name+"=")) {
			return nil
		}
	}
	loaded := unwrap.Loads(name)
	switch {
	case harmlessVars[name], strings.HasPrefix(name, "LC_"), !loaded && !k.lists():
		return nil
	case loaded:
		return &denial{
			rule:    k.first(),
			part:    name + "=…",
			why:     "this variable can change which program runs",
			instead: "leave it out",
			allowed: k.allowed(),
		}
	}
	return &denial{
		rule:    k.needed(),
		part:    name + "=…",
		why:     "no entry allows to set this variable",
		instead: "it takes an entry such as " + name + "=*",
		allowed: k.allowed(),
	}
}

// file judges a redirection: writing is the command "> FILE", reading is "<
// FILE".
func (k *commands) file(name string, write bool) error {
	if !k.any() {
		return nil
	}
	sign := "<"
	if write {
		sign = ">"
	}
	if write && k.lists() && strings.Contains("/"+name+"/", "/../") {
		return &denial{
			rule:    k.needed(),
			part:    grammar.Shorten("> " + name),
			why:     "a path with .. leads elsewhere",
			instead: "write the path without it",
			allowed: k.allowed(),
		}
	}
	c := unwrap.Command{Words: []grammar.Word{grammar.PlainWord(sign), {Text: name}}, Hidden: !write}
	return k.command(c)
}
