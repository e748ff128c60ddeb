package policy

import (
	"cmp"
	"errors"
	"slices"
	"strings"
)

// A pattern is a parsed rule for commands.
type pattern struct {
	Rule
	wildcard
}

// patterns parses the texts of rules for commands.
func patterns(rules []Rule) []pattern {
	out := make([]pattern, len(rules))
	for i, r := range rules {
		out[i] = pattern{r, newWildcard(r.Text)}
	}
	return out
}

// commands holds the rules for commands.
type commands struct {
	allow, deny, ask []pattern
	permissions      *permissions
	preset           *preset // allowed in addition to allow; nil: none
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
	program func(words []word) error,
	variable func(text string) error,
) error {
	r := reader{
		screen: screen,
		judge: func(c command) error {
			if err := k.command(c); err != nil {
				return err
			}
			// Only a command with a known name can be looked up as a file.
			if program == nil || c.hidden || !c.words[0].literal() {
				return nil
			}
			return program(c.words)
		},
		env:  variable,
		file: k.file,
	}
	return k.named(r.script(text), text)
}

// named adds the rule to a denial that does not name one.
func (k *commands) named(err error, text string) error {
	if d, ok := errors.AsType[*denial](err); ok && d.rule.Name == "" {
		d.rule, d.part, d.allowed = k.first(), cmp.Or(d.part, cut(text)), k.allowed()
	}
	return err
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
func (k *commands) command(c command) error {
	if !k.any() {
		return nil
	}
	callable := callable(c.words)
	// Deny and ask match if any expansion of the words could match. Deny comes
	// first, because no consent can lift it.
	for _, p := range k.deny {
		if p.denies(callable) {
			return &denial{rule: p.Rule, part: shown(c.words), why: maybe(c.words), allowed: k.allowed()}
		}
	}
	for _, p := range k.ask {
		if !k.consented && p.denies(callable) {
			return &denial{rule: p.Rule, part: shown(c.words), why: ask.why(), allowed: k.allowed(), asks: true}
		}
	}
	// PTY_PERMISSIONS cannot allow what Deny denies.
	rule, named, v := k.permissions.command(c.words)
	if why := v.why(); why != "" {
		return &denial{rule: rule, part: shown(c.words), why: why, asks: v == ask}
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
		text := exact(c.words)
		for _, p := range k.allow {
			if p.must(text) && p.parts[0].must(c.words[0].text) {
				match = true
				_, literal := p.parts[0].literal()
				named = named || literal
			}
		}
	}
	switch {
	// The effects of the command cannot be judged. An entry with the literal name
	// shows that the operator accepts this.
	case c.opaque != "" && !named && (!c.hidden || !k.lists()):
		return &denial{
			rule: k.first(), part: shown(c.words), why: c.opaque, allowed: k.allowed(),
			instead: "it takes an entry of the allowed commands that begins with its name to run it",
		}
	case k.lists() && !match && !c.hidden:
		instead := ""
		if c.words[0].text == "cd" {
			instead = "give the folder as the working directory of the call"
		}
		return &denial{rule: k.needed(), part: shown(c.words), why: why, instead: instead, allowed: k.allowed()}
	}
	return nil
}

// presets reports whether the preset allows the command, and if not, why.
func (k *commands) presets(c command) (ok bool, why string) {
	texts := make([]string, len(c.words))
	for i, w := range c.words {
		if texts[i] = w.text; w.tildeHome() { // a path, independent of the home folder
			texts[i] = "/home/~" + w.text[1:]
		}
	}
	if texts[0] == ">" {
		return false, "a preset writes no file; read the output instead"
	}
	return k.preset.allows(texts)
}

// maybe returns the words as text for a message, with unknown parts shown as
// such.
func maybe(words []word) string {
	for _, w := range words {
		if !w.literal() {
			return "after expansion it may match"
		}
	}
	return ""
}

// A calling is one of the ways to call a command's program, with the arguments.
type calling struct {
	name     word
	args     []word
	possible string // the whole command
}

// callable returns the ways to call the command: for example, /bin/rm is also
// rm.
func callable(words []word) []calling {
	variants := names(words[0])
	out := make([]calling, len(variants))
	for i, name := range variants {
		out[i] = calling{name, words[1:], possible(append([]word{name}, words[1:]...))}
	}
	return out
}

// denies reports whether the pattern may match the command: as a whole, or with
// its words in order among those of the command, with others in between. The
// word -rf also matches -r and -f.
func (p pattern) denies(command []calling) bool {
	for _, c := range command {
		if p.may(c.possible) {
			return true
		}
		if len(p.parts) > 0 && p.parts[0].may(c.name.text) && among(p.parts[1:], c.args, c.args) {
			return true
		}
	}
	return false
}

// names returns the names under which the same program can be called.
func names(w word) []word {
	out := []word{w}
	// Some file systems ignore case, so RM is also rm.
	for _, n := range []string{program(w.text), strings.ToLower(w.text), w.text[strings.LastIndexByte(w.text, '/')+1:]} {
		if !slices.ContainsFunc(out, func(o word) bool { return o.text == n }) {
			out = append(out, word{text: n, multi: w.multi})
		}
	}
	return out
}

// among reports whether the words of the pattern occur in order in args. all
// holds the arguments from the first one on.
func among(parts []wildcard, args, all []word) bool {
	for len(parts) > 0 {
		p := parts[0]
		text, literal := p.literal()
		switch {
		// A * matches any number of words.
		case text == "*":
			parts = parts[1:]
			continue
		// rm -rf also means rm -r -f and rm -fr.
		case literal && isCluster(text) && hasFlags(text, all):
			parts = parts[1:]
			continue
		}
		found := false
		for i, a := range args {
			if a.multi && strings.HasPrefix(a.text, string(hole)) {
				return true // it may expand to all missing words
			}
			if p.may(a.text) || a.tilde && p.may(string(hole)+strings.TrimPrefix(a.text, "~")) {
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

// isCluster reports whether a word is several short options in one.
func isCluster(text string) bool {
	return len(text) >= 3 && len(text) <= 4 && text[0] == '-' && strings.IndexFunc(text[1:], func(c rune) bool {
		return (c < 'a' || c > 'z') && (c < 'A' || c > 'Z')
	}) < 0
}

// hasFlags reports whether each letter of a cluster is an option in args, alone
// or in another cluster.
func hasFlags(cluster string, args []word) bool {
	for _, letter := range cluster[1:] {
		if !slices.ContainsFunc(args, func(a word) bool {
			return len(a.text) > 1 && a.text[0] == '-' && a.text[1] != '-' && strings.ContainsRune(a.text, letter)
		}) {
			return false
		}
	}
	return true
}

// possible returns the text that words may become. A word that may disappear
// takes its space with it.
func possible(words []word) string {
	var b strings.Builder
	for i, w := range words {
		text := w.text
		if w.tilde {
			text = string(hole) + strings.TrimPrefix(text, "~")
		}
		if i > 0 && (!w.multi || !strings.HasPrefix(text, string(hole))) {
			b.WriteByte(' ')
		}
		b.WriteString(text)
	}
	return b.String()
}

// exact returns the text that a pattern must match to allow words.
func exact(words []word) string {
	parts := make([]string, len(words))
	for i, w := range words {
		parts[i] = w.text
	}
	return strings.Join(parts, " ")
}

// harmlessVars do not change which program runs, or its effects.
var harmlessVars = set("LANG LANGUAGE TZ TERM COLUMNS LINES NO_COLOR CLICOLOR COLORTERM IFS DEBIAN_FRONTEND")

// integerVars have an attribute in some shell (zsh, ksh) that makes it evaluate
// their values, even those from its environment. An expression can run a
// command.
var integerVars = set(
	`
	BASHPID BAUD COLUMNS DIRSTACKSIZE EGID EPOCHREALTIME EPOCHSECONDS ERRNO EUID FUNCNEST GID HISTCMD HISTFILESIZE
	HISTSIZE KEYTIMEOUT LINENO LINES LISTMAX LOGCHECK MAILCHECK OPTIND PGRP PPID RANDOM REPORTMEMORY REPORTTIME
	SAVEHIST SECONDS SHLVL SRANDOM TIMEOUT TMOUT TRY_BLOCK_ERROR TRY_BLOCK_INTERRUPT TTYIDLE UID USER_ID
	ZSH_SUBSHELL`,
)

// loadedVars make a shell or a program run their values.
var loadedVars = set(
	"PATH BASH_ENV ENV ZDOTDIR PROMPT_COMMAND PS0 PS1 PS2 PS3 PS4 SHELLOPTS BASHOPTS BASH_LOADABLES_PATH FPATH CDPATH " +
		"SHELL EDITOR VISUAL PAGER MANPAGER BROWSER LESSOPEN LESSCLOSE PERL5OPT PERL5LIB PERL5DB PYTHONPATH PYTHONSTARTUP " +
		"PYTHONHOME PYTHONBREAKPOINT NODE_OPTIONS NODE_PATH RUBYOPT RUBYLIB JAVA_TOOL_OPTIONS _JAVA_OPTIONS TAR_OPTIONS " +
		"MAKEFLAGS MAKE SUDO_ASKPASS SUDO_EDITOR SSH_ASKPASS RSYNC_RSH CVS_RSH GCONV_PATH HOSTALIASES NLSPATH TERMINFO " +
		"TERMCAP FCEDIT HISTFILE TMPDIR GOFLAGS GOPROXY LUA_INIT path fpath PHPRC INPUTRC",
)

// assignment judges NAME=value, before a command or for the rest of the line.
func (k *commands) assignment(text string) error {
	if !k.any() {
		return nil
	}
	name, value, _ := strings.Cut(text, "=")
	if integerVars[name] && !numeral.MatchString(value) {
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
			if asks := i == 1; p.may(text) && (!asks || !k.consented) {
				return &denial{rule: p.Rule, part: cut(name + "=…"), allowed: k.allowed(), asks: asks}
			}
		}
	}
	for _, p := range k.allow {
		if first, literal := p.parts[0].literal(); p.must(text) && (literal || strings.HasPrefix(first, name+"=")) {
			return nil
		}
	}
	loaded := loads(name)
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

// loads reports whether a variable makes a program run its value.
func loads(name string) bool {
	return loadedVars[name] || steering[name] ||
		slices.ContainsFunc(
			[]string{"LD_", "DYLD_", "BASH_FUNC_", "GIT_", "npm_config_", "NPM_CONFIG_", "PIP_", "CARGO_"},
			func(prefix string) bool {
				return strings.HasPrefix(name, prefix)
			},
		)
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
			part:    cut("> " + name),
			why:     "a path with .. leads elsewhere",
			instead: "write the path without it",
			allowed: k.allowed(),
		}
	}
	c := command{words: []word{plainWord(sign), {text: name}}, hidden: !write}
	return k.command(c)
}
