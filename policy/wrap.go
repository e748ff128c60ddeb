package policy

import (
	"path"
	"regexp"
	"slices"
	"strings"
)

// A runner is a program that runs the command in its arguments.
type runner struct {
	flags   string   // its short options
	valued  string   // its short options that take an argument
	long    []string // its long options; those that take one end with =
	digits  bool     // -10 is an option
	assigns bool     // NAME=value may stand before the command
	skip    int      // operands before the command
	joined  bool     // the arguments are joined to a line for a shell
	opaque  string   // options that make it do what cannot be seen
}

var runners = map[string]runner{
	"-":          {}, // of zsh
	"and":        {}, // of fish, as begin, not and or
	"begin":      {},
	"builtin":    {},
	"caffeinate": {flags: "dimsu", valued: "tw"},
	"chronic":    {flags: "ve"},
	"chrt":       {flags: "abdfioRrv", valued: "TPD", skip: 1, opaque: "pm", long: []string{"all-tasks", "batch", "deadline", "fifo", "idle", "other", "rr", "reset-on-fork", "verbose"}},
	"command":    {flags: "pvV"},
	"doas":       {flags: "nL", valued: "u", opaque: "Cs"},
	"env":        {flags: "i0v", valued: "uCP", long: []string{"ignore-environment", "null", "debug", "unset=", "chdir=", "argv0=", "default-signal", "ignore-signal", "block-signal", "list-signal-handling"}, assigns: true, opaque: "Sa"},
	"eval":       {joined: true},
	"exec":       {flags: "cl", valued: "a"},
	"fakeroot":   {flags: "hv", opaque: "lsifbu"},
	"ionice":     {flags: "t", valued: "cn", long: []string{"class=", "classdata=", "ignore"}, opaque: "pPu"},
	"nice":       {valued: "n", long: []string{"adjustment="}, digits: true},
	"nocache":    {valued: "n"},
	"noglob":     {},
	"nocorrect":  {},
	"nohup":      {},
	"not":        {},
	"or":         {},
	"repeat":     {skip: 1}, // of zsh and csh
	"sched":      {skip: 1},
	"setarch":    {skip: 1, flags: "vRFZLXBI3S", long: []string{"verbose", "addr-no-randomize"}},
	"setsid":     {flags: "cfw", long: []string{"ctty", "fork", "wait"}},
	"ssh":        {flags: "46AaCfGgKkMNnqsTtVvXxYy", valued: "BbcDeIiJLlmpQRWw", skip: 1, joined: true, opaque: "EFOSo"},
	"stdbuf":     {valued: "ioe", long: []string{"input=", "output=", "error="}},
	"sudo":       {flags: "AbEHknPSvKBN", valued: "ugphCRrtTUD", assigns: true, long: []string{"askpass", "background", "bell", "preserve-env", "preserve-env=", "set-home", "non-interactive", "reset-timestamp", "stdin", "user=", "group=", "prompt=", "host=", "chdir=", "close-from=", "command-timeout="}, opaque: "isel"},
	"taskset":    {flags: "ac", skip: 1, opaque: "p", long: []string{"all-tasks", "cpu-list"}},
	"time":       {flags: "apqvlh", valued: "fo", long: []string{"append", "portability", "quiet", "verbose", "format=", "output="}},
	"timeout":    {flags: "vfp", valued: "ks", skip: 1, long: []string{"foreground", "preserve-status", "verbose", "kill-after=", "signal="}},
	"torify":     {},
	"torsocks":   {flags: "iq", valued: "Paup"},
	"unbuffer":   {flags: "p"},
	"watch":      {flags: "bcCdegtwx", valued: "nq", joined: true, long: []string{"beep", "color", "no-color", "differences", "errexit", "chgexit", "no-title", "no-wrap", "exec", "precise", "interval=", "equexit="}},
	"xargs":      {flags: "0rtpxo", valued: "nPdELsa", long: []string{"null", "no-run-if-empty", "verbose", "interactive", "exit", "open-tty", "max-args=", "max-procs=", "delimiter=", "max-lines=", "max-chars=", "arg-file=", "replace=", "process-slot-var="}},
}

// carriers run others too, in ways that are too many to know: a command can stand anywhere in their arguments. Whatever
// is denied is looked for there.
var carriers = set("ansible apptainer bwrap cgexec chpst chroot cpulimit crictl ctr daemon daemonize dbus-run-session docker entr expect fd fdfind firejail flock flatpak gdb gcloud incus ip kubectl ltrace lxc lxc-attach lxc-execute machinectl make mosh multipass nerdctl nsenter numactl oc parallel perf pkexec podman proot prlimit psexec qm rlwrap rsh run-parts runcon runuser schroot screen script sem setpriv setuidgid setfacl sg singularity socat softlimit start-stop-daemon strace su-exec systemd-inhibit systemd-run systemd-nspawn tmux toolbox tsocks unshare uv valgrind vagrant vserver xvfb-run")

// shells read a script from -c, from a file or from their input.
var shells = set("sh bash rbash dash ash zsh rzsh ksh ksh93 mksh lksh pdksh oksh rksh yash posh hush fish csh tcsh osh ysh")

// interpreters take a program in their arguments or from their input, in a language that is not read here.
var interpreters = set("python python2 python3 pypy pypy3 perl ruby jruby node nodejs deno bun php lua luajit tclsh wish guile R Rscript osascript pwsh powershell pwsh.exe powershell.exe cmd cmd.exe irb ipython julia ghci scala groovy gnuplot octave sqlite3 psql mysql mariadb ed ex vi vim nvim emacs")

// programs that run what stands in their program text.
var scripted = set("awk gawk mawk nawk original-awk")

// evaluators are builtins that evaluate a name: a[$(command)] runs a command.
var evaluators = set("unset read mapfile readarray getopts wait integer float zstyle zmodload autoload")

func set(list string) map[string]bool {
	m := make(map[string]bool)
	for w := range strings.FieldsSeq(list) {
		m[w] = true
	}
	return m
}

// program is the name by which a command is known here, whatever folder it is called from.
func program(text string) string {
	name := path.Base(strings.ReplaceAll(text, `\`, "/"))
	return strings.TrimSuffix(strings.ToLower(name), ".exe")
}

// An option by which a program runs another.
type option struct {
	short string
	long  []string
}

// running are programs that run others only with some options.
var running = map[string]option{
	"git":   {long: []string{"--config-env", "--exec-path=", "--upload-pack", "--receive-pack", "--exec", "--extcmd", "filter-branch", "foreach", "bisect"}},
	"tar":   {short: "IF", long: []string{"--to-command", "--checkpoint-action", "--use-compress-program", "--info-script", "--new-volume-script", "--rsh-command", "--rmt-command"}},
	"rsync": {short: "e", long: []string{"--rsh", "--rsync-path"}},
	"scp":   {short: "So"},
	"sftp":  {short: "SoD"},
	"man":   {short: "P", long: []string{"--pager"}},
	"sort":  {long: []string{"--compress-program"}},
	"split": {long: []string{"--filter"}},
	"wget":  {long: []string{"--use-askpass"}},
	"zip":   {short: "T", long: []string{"--unzip-command"}},
}

// in reports whether the option is among args. Long options may be cut short.
func (o option) in(args []word) bool {
	return slices.ContainsFunc(args, func(a word) bool {
		name, _, _ := strings.Cut(a.text, "=")
		for _, l := range o.long {
			if a.text == l || strings.HasPrefix(a.text, l) || len(name) > 4 && name[0] == '-' && strings.HasPrefix(l, name) {
				return true
			}
		}
		return len(a.text) > 1 && a.text[0] == '-' && a.text[1] != '-' && strings.ContainsAny(a.text, o.short)
	})
}

// gitConfigures reports whether git is given a setting before its own command: aliases and pagers are commands.
func gitConfigures(args []word) bool {
	for i, a := range args {
		switch {
		case strings.HasPrefix(a.text, "-c"), strings.HasPrefix(a.text, "--config"):
			return true
		case !strings.HasPrefix(a.text, "-") && (i == 0 || args[i-1].text != "-C"):
			return false
		}
	}
	return false
}

// family is a program's name without the version at its end: python3.12, lua5.4.
func family(name string) string { return strings.TrimRight(name, "0123456789.-") }

// unwrap finds what a command runs. It returns nil if that is nothing, and notes in c what cannot be seen.
func (r *reader) unwrap(c *command, in input) (inner func() error, err error) {
	name, args := program(c.words[0].text), c.words[1:]
	if run, ok := runners[name]; ok {
		return r.unwrapRunner(c, run, name, args, in)
	}
	switch {
	case shells[name]:
		return r.unwrapShell(c, name, args, in)
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
	case name == "trap":
		if len(args) > 0 && !strings.HasPrefix(args[0].text, "-") {
			return r.scriptIn(name, args[0])
		}
	case name == "source" || name == ".":
		c.opaque = "what the file holds is not known here"
	case name == "hash" && slices.ContainsFunc(args, isOption('p')), name == "enable" && slices.ContainsFunc(args, isOption('f')), name == "bind" && slices.ContainsFunc(args, isOption('x')), name == "complete" && slices.ContainsFunc(args, isOption('C')), name == "fc", name == "history":
		c.opaque = "it can make another command run under a name, or an earlier one again"
	case evaluators[name], name == "printf" && slices.ContainsFunc(args, isOption('v')), (name == "test" || name == "[") && slices.ContainsFunc(args, isOption('v')):
		for _, a := range args {
			if !a.literal() || strings.Contains(a.text, "[") {
				return nil, ambiguous(name+" evaluates names that are not literal", "write plain names")
			}
		}
		if err := r.sets(args); err != nil {
			return nil, err
		}
		if slices.ContainsFunc(args, isOption('C')) {
			c.opaque = "it runs a command for each line"
		}
	case scripted[name]:
		if t := shown(c.words); strings.ContainsAny(t, "|…") || strings.Contains(t, "system") || strings.Contains(t, "-f") || strings.Contains(t, "@") {
			c.opaque = "its program can run commands"
		}
	case name == "sed" || name == "gsed":
		if sedRuns(args) {
			c.opaque = "its program can run commands"
		}
	case interpreters[name] || interpreters[family(name)]:
		if len(args) == 0 || strings.HasPrefix(args[0].text, "-") && !harmless(args) || !args[0].literal() {
			if !r.screen || len(args) > 0 {
				c.opaque = "the language of its program is not read here"
			}
		}
	case running[name].in(args), name == "git" && gitConfigures(args):
		c.opaque = "with such an option it runs another program"
	case name == "set" || name == "setenv":
		return nil, r.sets(args)
	case name == "at", name == "batch", name == "crontab" && (len(args) != 1 || args[0].text != "-l"):
		c.opaque = "it runs later what it reads now"
	case carriers[name]:
		return func() error { return r.search(args, in) }, nil
	}
	return nil, nil
}

// harmless reports whether all that is asked of an interpreter is who it is.
func harmless(args []word) bool {
	return len(args) == 1 && slices.Contains([]string{"--version", "-V", "-v", "--help", "-h", "-version"}, args[0].text)
}

// isOption returns a test for a cluster of short options with that letter, or for what could be one.
func isOption(letter byte) func(word) bool {
	return func(w word) bool {
		return w.multi || strings.HasPrefix(w.text, string(hole)) ||
			len(w.text) > 1 && w.text[0] == '-' && w.text[1] != '-' && (strings.IndexByte(w.text, letter) > 0 || strings.ContainsRune(w.text, hole))
	}
}

// options takes a runner's options away. It fails on what it does not know: the command could begin anywhere then.
func (run runner) options(name string, args []word) (rest []word, used string, err error) {
	for len(args) > 0 {
		w := args[0]
		if !w.literal() {
			return nil, "", unreadable("what " + name + " is given before its command is not known before it runs")
		}
		text := w.text
		switch {
		case text == "--":
			return args[1:], used, nil
		case text == "-": // env's -i, and a prefix of commands in zsh
			args = args[1:]
			continue
		case run.digits && strings.HasPrefix(text, "+") && strings.Trim(text[1:], "0123456789") == "": // of csh
			args = args[1:]
			continue
		case len(text) < 2 || text[0] != '-':
			if run.assigns && isAssignment(text) {
				args = args[1:]
				continue
			}
			return args, used, nil
		case strings.HasPrefix(text, "--"):
			option, _, with := strings.Cut(text[2:], "=")
			switch {
			case !with && slices.Contains(run.long, option), with && slices.Contains(run.long, option+"="), with && slices.Contains(run.long, option):
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

func unknownOption(name, option string) error {
	return unreadable(name + " " + cut(option) + " is not known to the policy, so what it runs is not known either")
}

func isAssignment(text string) bool {
	name, _, ok := strings.Cut(text, "=")
	return ok && name != "" && strings.IndexFunc(name, func(c rune) bool {
		return c != '_' && (c < '0' || c > '9') && (c < 'A' || c > 'Z') && (c < 'a' || c > 'z')
	}) < 0
}

func (r *reader) unwrapRunner(c *command, run runner, name string, args []word, in input) (func() error, error) {
	if name == "xargs" {
		return r.unwrapXargs(run, args)
	}
	for _, a := range args { // what it cannot be seen through with
		if strings.HasPrefix(a.text, "-") && len(a.text) > 1 && a.text[1] != '-' && strings.IndexByte(run.opaque, a.text[1]) >= 0 {
			c.opaque = name + " " + a.text[:2] + " runs what is not seen here"
			return func() error { return r.search(args, in) }, nil
		}
		if !strings.HasPrefix(a.text, "-") {
			break
		}
	}
	rest, used, err := run.options(name, args)
	if err != nil {
		return nil, err
	}
	if run.assigns {
		for _, a := range args[:len(args)-len(rest)] {
			if isAssignment(a.text) {
				if err := r.env(a.text); err != nil {
					return nil, err
				}
			}
		}
	}
	if name == "command" && strings.ContainsAny(used, "vV") || len(rest) <= run.skip {
		return nil, nil
	}
	for _, w := range rest[:run.skip] {
		if !w.literal() || strings.HasPrefix(w.text, "-") {
			return nil, unreadable("what " + name + " is given before its command is not known before it runs")
		}
	}
	rest = rest[run.skip:]
	if name == "ssh" { // which takes options after the host, too
		if rest, _, err = run.options(name, rest); err != nil || len(rest) == 0 {
			return nil, err
		}
	}
	if !run.joined {
		return func() error { return r.command(rest, in) }, nil
	}
	line, ok := literals(rest)
	if !ok {
		return nil, unreadable("the line that " + name + " runs is not known before it runs")
	}
	return func() error { return r.script(strings.Join(line, " ")) }, nil
}

// unwrapXargs: the command of xargs gets arguments that are not seen.
func (r *reader) unwrapXargs(run runner, args []word) (func() error, error) {
	run.valued += "IiJR"
	replace := ""
	for i, a := range args {
		if strings.HasPrefix(a.text, "-I") || strings.HasPrefix(a.text, "-J") || strings.HasPrefix(a.text, "-i") || strings.HasPrefix(a.text, "--replace") {
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
		if a.text == "-i" { // which takes no argument of its own
			args = slices.Replace(slices.Clone(args), i, i+1, plainWord("-r"))
			break
		}
	}
	rest, _, err := run.options("xargs", args)
	if err != nil || len(rest) == 0 {
		return nil, err
	}
	rest = slices.Clone(rest)
	if replace != "" {
		for i := range rest {
			rest[i].text = strings.ReplaceAll(rest[i].text, replace, string(hole))
		}
	} else {
		rest = append(rest, word{text: string(hole), multi: true})
	}
	return func() error { return r.command(rest, input{known: true}) }, nil
}

// unwrapShell finds the script of a shell.
func (r *reader) unwrapShell(c *command, name string, args []word, in input) (func() error, error) {
	script, args, err := shellOptions(name, args)
	switch {
	case err != nil:
		return nil, err
	case script && len(args) == 0: // an error of its own
	case script:
		return r.scriptIn(name+" -c", args[0])
	case len(args) > 0:
		c.opaque = "what the file holds is not known here"
	case in.known:
		return r.scriptIn(name, in.text)
	case !r.screen:
		c.opaque = "it runs what it reads, which is not seen here"
	}
	return nil, nil
}

// shellOptions takes a shell's options away, and reports whether -c was one of them.
func shellOptions(name string, args []word) (script bool, rest []word, err error) {
	for ; len(args) > 0; args = args[1:] {
		text := args[0].text
		switch {
		case !args[0].literal():
			if script && text != "" && text[0] != '-' && text[0] != '+' && !strings.HasPrefix(text, string(hole)) {
				return script, args, nil
			}
			return false, nil, unreadable("what " + name + " is given is not known before it runs")
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
				if len(args) < 2 || !args[1].literal() {
					return false, nil, unknownOption(name, text)
				}
				args = args[1:]
			}
		}
	}
	return script, nil, nil
}

// harmlessLong are the long options of shells that name no file.
var harmlessLong = strings.Fields("--login --norc --noprofile --posix --restricted --verbose --noediting --private --no-config --no-rcs --version --help")

// scriptIn judges the script that a command gets as one word.
func (r *reader) scriptIn(name string, w word) (func() error, error) {
	if strings.ContainsRune(w.text, hole) || w.multi || w.tilde {
		return nil, unreadable("the line that " + name + " runs is not known before it runs")
	}
	return func() error { return r.script(w.text) }, nil
}

// findRuns are the actions of find(1) that run commands.
var findRuns = []wildcard{newPart("-exec"), newPart("-execdir"), newPart("-ok"), newPart("-okdir")}

func (r *reader) unwrapFind(args []word) (func() error, error) {
	var runs []func() error
	for i := 0; i < len(args); i++ {
		w := args[i]
		if w.multi && strings.HasPrefix(w.text, string(hole)) {
			return nil, unreadable("unquoted text in the arguments of find can become -exec and a command: quote it, or begin it with ./")
		}
		if !slices.ContainsFunc(findRuns, func(p wildcard) bool { return p.may(w.text) }) {
			continue
		}
		if !w.literal() && (i+1 == len(args) || strings.IndexAny(args[i+1].text, "-()!,") == 0) {
			continue // no command follows, whatever it becomes
		}
		end := i + 1
		for end < len(args) && args[end].text != ";" && (args[end].text != "+" || end == i+1) {
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

// unwrapSu: su runs the argument of -c, and without one a shell.
func (r *reader) unwrapSu(c *command, args []word) (func() error, error) {
	for i, a := range args {
		switch {
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

// sets judges the names among the arguments of what sets variables.
func (r *reader) sets(args []word) error {
	for _, a := range args {
		if loads(a.text) {
			return r.env(a.text + "=")
		}
	}
	return nil
}

// values judges the commands behind the names that alias defines.
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
	return func() error {
		for _, s := range scripts {
			if err := r.script(s); err != nil {
				return err
			}
		}
		return nil
	}, nil
}

// search looks for what is denied wherever in the arguments a command could begin.
func (r *reader) search(args []word, in input) error {
	inner := *r
	inner.screen = false
	inner.judge = func(c command) error { c.hidden = true; return r.judge(c) }
	defer func() { r.judged = inner.judged }()
	for i, a := range args {
		if inner.judged += len(exact(args[i:])); inner.judged > maxJudged {
			return unreadable("there is too much to read")
		}
		if a.literal() && strings.ContainsAny(a.text, " \t\n;|&`$(") { // it may be a line for a shell, or anything else
			if err := inner.script(a.text); byRule(err) || inner.judged > maxJudged {
				return err
			}
		}
		if a.text == "" || a.text[0] == '-' {
			continue
		}
		if !a.literal() || isAssignment(a.text) || strings.IndexByte("!^%<>", a.text[0]) >= 0 { // what comes after it tells
			if err := inner.judge(command{words: args[i:]}); err != nil {
				return err
			}
			continue
		}
		if err := inner.command(args[i:], in); err != nil {
			return err
		}
	}
	return nil
}

// sedRuns reports whether a program for sed could use the command or the flag e of GNU sed, which run commands.
func sedRuns(args []word) bool {
	given := false
	for i, a := range args {
		switch {
		case strings.HasPrefix(a.text, "--file"), a.text == "-f", strings.HasPrefix(a.text, "-") && strings.HasSuffix(a.text, "f"):
			return true
		case strings.HasPrefix(a.text, "--expression="), strings.HasPrefix(a.text, "-e") && len(a.text) > 2:
			given = true
		case i > 0 && strings.HasPrefix(args[i-1].text, "-") && strings.HasSuffix(args[i-1].text, "e") && !strings.HasPrefix(args[i-1].text, "--"), i > 0 && args[i-1].text == "--expression":
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

var sedRun = regexp.MustCompile(`(?:^|[;{}\n])[\s0-9,$!~+]*(?:/[^/]*/)?[\s!]*e(?:\s|$)|[^\w\s][gpiImM0-9]*e[gpiImM0-9]*(?:[\s;}]|$)`)
