package policy

import (
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
	"--":         {}, // behind time, in bash
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
