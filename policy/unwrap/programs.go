package unwrap

import (
	"ptyctl/policy/grammar"
)

// A runner describes how a program runs the command in its arguments.
type runner struct {
	flags   string   // short options
	valued  string   // short options with a value
	long    []string // long options; those with a value end in =
	digits  bool     // -10 is an option
	assigns bool     // NAME=value may precede the command
	skip    int      // number of operands before the command
	lead    bool     // an operand may precede the options
	with    string   // a command follows only after one of these options
	joined  bool     // the arguments are joined to a line for a shell
	inert   string   // options that mean that no command follows
	opaque  string   // options with effects that cannot be judged
}

// runners holds the programs that run the command in their arguments, and some
// modifiers of shells. The options are those of GNU and BSD versions.
var runners = map[string]runner{
	"-":          {}, // zsh
	"--":         {}, // after time, in bash
	"and":        {}, // fish, as begin, not and or
	"begin":      {},
	"builtin":    {},
	"caffeinate": {flags: "dimsu", valued: "tw"},
	"choom":      {flags: "p", valued: "n", long: []string{"adjust="}, inert: "p"},
	"chronic":    {flags: "ve"},
	"chrt":       {flags: "abdfioRrvpm", valued: "TPD", skip: 1, inert: "pm", long: []string{"all-tasks", "batch", "deadline", "fifo", "idle", "other", "rr", "reset-on-fork", "verbose", "sched-runtime=", "sched-period=", "sched-deadline="}},
	"command":    {flags: "pvV"},
	"doas":       {flags: "nL", valued: "u", opaque: "Cs"},
	"env":        {flags: "i0v", valued: "uCP", long: []string{"ignore-environment", "null", "debug", "unset=", "chdir=", "argv0=", "default-signal", "ignore-signal", "block-signal", "list-signal-handling"}, assigns: true, opaque: "Sa"},
	"eval":       {joined: true},
	"exec":       {flags: "cl", valued: "a"},
	"fakeroot":   {flags: "hv", opaque: "lsifbu"},
	"ifne":       {flags: "n"},
	"jobs":       {flags: "lnprsx", with: "x"},
	"ionice":     {flags: "tpPu", valued: "cn", long: []string{"class=", "classdata=", "ignore"}, inert: "pPu"},
	"nice":       {valued: "n", long: []string{"adjustment="}, digits: true},
	"nocache":    {valued: "n"},
	"noglob":     {},
	"nocorrect":  {},
	"nohup":      {},
	"not":        {},
	"or":         {},
	"repeat":     {skip: 1}, // of zsh and csh
	"sched":      {skip: 1},
	"setarch":    {lead: true, flags: "vRFZLXBIST3", long: []string{"verbose", "addr-no-randomize", "fdpic-funcptrs", "mmap-page-zero", "addr-compat-layout", "read-implies-exec", "32bit", "short-inode", "whole-seconds", "sticky-timeouts", "3gb", "4gb", "uname-2.6"}},
	"setsid":     {flags: "cfw", long: []string{"ctty", "fork", "wait"}},
	"ssh":        {flags: "46AaCfGgKkMNnqsTtVvXxYy", valued: "BbcDeIiJLlmpQRWw", skip: 1, joined: true, opaque: "EFOSo"},
	"stdbuf":     {valued: "ioe", long: []string{"input=", "output=", "error="}},
	"sudo":       {flags: "AbEHknPSvKBN", valued: "ugphCRrtTUD", assigns: true, long: []string{"askpass", "background", "bell", "preserve-env", "preserve-env=", "set-home", "non-interactive", "reset-timestamp", "stdin", "user=", "group=", "prompt=", "host=", "chdir=", "close-from=", "command-timeout="}, opaque: "isel"},
	"taskset":    {flags: "acp", skip: 1, inert: "p", long: []string{"all-tasks", "cpu-list"}},
	"time":       {flags: "apqvlh", valued: "fo", long: []string{"append", "portability", "quiet", "verbose", "format=", "output="}},
	"timeout":    {flags: "vfp", valued: "ks", skip: 1, long: []string{"foreground", "preserve-status", "verbose", "kill-after=", "signal="}},
	"torify":     {},
	"uclampset":  {flags: "asRp", valued: "mM", inert: "p", long: []string{"all-tasks", "system", "reset-on-fork", "util-min=", "util-max="}},
	"torsocks":   {flags: "iq", valued: "Paup"},
	"unbuffer":   {flags: "p"},
	"watch":      {flags: "bcCdegtwx", valued: "nq", joined: true, long: []string{"beep", "color", "no-color", "differences", "errexit", "chgexit", "no-title", "no-wrap", "exec", "precise", "interval=", "equexit="}},
	"xargs":      {flags: "0rtpxo", valued: "nPdELsa", long: []string{"null", "no-run-if-empty", "verbose", "interactive", "exit", "open-tty", "max-args=", "max-procs=", "delimiter=", "max-lines=", "max-chars=", "arg-file=", "replace=", "process-slot-var="}},
}

// shells read a script from -c, from a file or from their input.
var shells = grammar.SetOf(
	"sh bash rbash dash ash zsh rzsh ksh ksh93 mksh lksh pdksh oksh rksh yash posh hush fish csh tcsh osh ysh",
)

// interpreters take a program in their arguments or input, in a language that
// this package does not parse.
var interpreters = grammar.SetOf(
	"python python2 python3 pypy pypy3 perl ruby jruby node nodejs deno bun php lua luajit tclsh wish guile R Rscript " +
		"osascript pwsh powershell pwsh.exe powershell.exe cmd cmd.exe irb ipython julia ghci scala groovy gnuplot octave " +
		"sqlite3 psql mysql mariadb ed red ex vi vim vim.basic vim.tiny nvim emacs dc m4 expect elixir iex erl jshell " +
		"jsh groovysh kotlin racket sbcl clisp ecl csi maxima gp sage crystal swift nim xonsh nu elvish",
)

// clients are those interpreters that may have other arguments before the
// program, for example a database or a file.
var clients = grammar.SetOf(
	"sqlite3 psql mysql mariadb ed red ex vi vim vim.basic vim.tiny nvim emacs gnuplot maxima octave")

// scripted holds programs that run commands in their program text.
var scripted = grammar.SetOf("awk gawk mawk nawk original-awk bwk goawk")

// evaluators are builtins that evaluate a name: a[$(command)] runs a command.
var evaluators = grammar.SetOf("unset read mapfile readarray getopts wait integer float zstyle zmodload autoload")
