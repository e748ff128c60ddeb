//go:build unix

package policy_test

import (
	"context"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"ptyctl/internal/shelltest"
)

// runnerOptions are the options of real programs that run other programs. Many of them are outside the closed lists of
// the policy on purpose: it must deny those, or read them as the program does.
var runnerOptions = map[string][]string{
	"env": {
		"-i", "-u", "-uHOME", "-u HOME", "-C", "-C .", "-S", "-S'canary a'", "-vS", "-iS", "-0", "-v", "-a", "-a x",
		"--ignore-environment", "--unset=HOME", "--unset", "--uns=HOME", "--chdir=.", "--ch=.", "--split-string=canary",
		"--split-string", "--sp=canary", "--null", "--debug", "--block-signal", "--default-signal=INT", "--argv0=x",
		"--list-signal-handling", "-", "FOO=1", "PATH=.", "=x", "FOO=", "'A B=1'", "ENV=in", "BASH_ENV=in", "-iu HOME",
	},
	"xargs": {
		"-0", "-a in", "-ain", "-d x", "-dx", "-E x", "-Ex", "-e", "-ex", "-I {}", "-I{}", "-I x", "-I canary", "-I show",
		"-i", "-i{}", "-L 1", "-L1", "-l", "-l1", "-n 1", "-n1", "-n", "-o", "-P 2", "-P2", "-p", "-r", "-s 500", "-s500",
		"-t", "-x", "-rt", "-r0", "-tn1", "-rI{}", "-ri", "-tI {}", "-J {}", "-R 1", "-S 9", "--null", "--arg-file=in",
		"--arg-file in", "--delimiter=x", "--eof", "--eof=x", "--replace", "--replace={}", "--replace=x", "--repl",
		"--max-lines", "--max-lines=1", "--max-args=1", "--max-args 1", "--max-procs=2", "--interactive", "--exit",
		"--no-run-if-empty", "--max-chars=500", "--process-slot-var=FOO", "--process-slot-var FOO", "--show-limits",
		"--verbose", "--open-tty", "--max-a=1", "--a=in", "--ver",
	},
	"find": {
		".", ". a1", "-H", "-L", "-P", "-O2", "-D exec", "-name a1", "-name '*'", "-type f", "-maxdepth 1", "-print", "-quit",
		"-exec", "-execdir", "-ok", "-okdir", "-exec show {} +", "-exec show {} \\;", "-exec canary {} +", "-exec canary \\;",
		"-exec show \\; -exec canary \\;", "-exec show + \\;", "-exec show {} x + canary \\;", "-exec echo \\; ",
		"-exec show \\; canary", "-exec {} \\;", "-exec sh -c {} \\;", "-exec sh -c 'show' {} +", "-o", "-a", "!", "\\(",
		"\\)", ",", "-not", "-or", "-files0-from in", "-newermt 1", "-regex x", "-printf x", "-exe", "-ex show \\;",
		"-exec env show {} \\;", "-exec xargs show \\;",
	},
	"timeout": {
		"1", "1s", "0.5", "5", "-k 1", "-k1", "-s INT", "-sINT", "-s", "-v", "-p", "-f", "--foreground", "--preserve-status",
		"--kill-after=1", "--kill-after 1", "--signal=INT", "--signal INT", "--sig=INT", "--verbose", "--fore", "x", "-5",
	},
	"nice":   {"-n 1", "-n1", "-n", "-1", "-10", "--1", "--adjustment=1", "--adjustment 1", "--adj=1", "+1", "-n +1", "-nn1"},
	"nohup":  {"--", "-x", "--help", "-p 1"},
	"setsid": {"-c", "-f", "-w", "-fw", "-wc", "--ctty", "--fork", "--wait", "--wa", "-x"},
	"stdbuf": {
		"-oL", "-o L", "-o0", "-i 0", "-e 0", "-eL", "-oLL", "--output=L", "--output L", "--out=L", "--input=0", "-oi0",
		"--error=0", "-o",
	},
	"ionice":  {"-c 3", "-c3", "-n 1", "-t", "-tc 3", "-tc3", "--class=3", "--class idle", "--cl=3", "-p 1", "--ignore", "-u 1"},
	"time":    {"-p", "-v", "-f x", "-o out", "-a", "--", "--format=x", "-x", "!"},
	"command": {"-p", "-v", "-V", "-pv", "-x", "--", "-pp"},
	"exec":    {"-a x", "-c", "-l", "-cl", "-ax", "--"},
	"builtin": {"command", "eval", "exec", "--"},
	"busybox": {"env", "xargs", "find .", "nice", "sh", "ash -c", "show", "nohup", "time", "setsid", "--list", "-x"},
}

// shellOptions are the options of shells.
var shellOptions = []string{
	"-c", "-c", "-c", "-ec", "-ce", "-xc", "-cx", "-c -e", "-e -c", "-c -c", "-c -s", "-s", "-s -c", "-s --", "-i", "-ic", "-l",
	"-lc", "-ci", "-cl", "-x", "-o errexit", "-oerrexit", "-c -o errexit", "-c -oerrexit", "-co errexit", "+o errexit",
	"-c +o errexit", "-O extglob", "-c -O extglob", "+O", "-c +x", "+x", "+c", "-", "--", "-c -", "-c --", "- -c", "-- -c",
	"--norc", "--noprofile", "--posix", "--login", "--rcfile in", "--init-file in", "--command", "--command=canary", "-C canary",
	"--init-command=canary", "-f", "-fc", "-cf", "-p", "-pc", "-n", "-nc", "-v", "-vc", "-a", "-r", "-D", "-T", "-b", "-m", "-k",
	"-t", "-V", "-X", "-N", "in", "a1", "show", "-Z", "--emulate sh", "-cb", "-bc", "-o", "-c -x -e", "--version",
}

// runnerShells are shells by the names under which lines find them.
var runnerShells = map[string]string{
	"sh": "dash", "bash": "bash", "dash": "dash", "zsh": "zsh", "mksh": "mksh", "ksh": "ksh93", "fish": "fish", "tcsh": "tcsh",
}

// shellEntries are the entries of a careful operator for a runner: all of its forms, but of a shell only those that
// name their script, because an entry that begins with a shell's name allows any script file and any input.
func shellEntries(name string) []string {
	if _, ok := runnerShells[name]; !ok {
		return []string{name + " *"}
	}
	return []string{
		name + " -c *", name + " -ec *", name + " -xc *", name + " -lc *", name + " -ic *", name + " -e -c *", name +
			" -x -c *",
		name + " -l -c *", name + " -i -c *", name + " --norc -c *", name + " --noprofile -c *", name + " --posix -c *",
		name + " --login -c *", name + " --* -c *", name + " -* -c *",
	}
}

// runnerWords may be at any position in a runner's arguments.
var runnerWords = []string{
	"--", "-", "1", "x", "{}", "canary", "'canary a'", "show", "'show a'", "'show; canary'", "''", "+", "\\;", "-x", "--x", "FOO=1",
	"-c", "a1", "'-c'", "'show {}'", "'$0 $1'", "'$1'", "'\"$@\"'", "'$@'", "'eval $1'", "'${1}'", "'. in'", "'show $1'", "echo",
}

// runnerLine is a line that has programs run others, or tries to.
func runnerLine(rnd *rand.Rand, names []string) string {
	one := func(list []string) string { return list[rnd.IntN(len(list))] }
	var b strings.Builder
	switch rnd.IntN(8) {
	case 0, 1:
		b.WriteString("echo canary | ")
	case 2:
		b.WriteString("printf '%s\\n' 'canary a' ';canary' '$(canary)' -c canary | ")
	}
	for range 1 + rnd.IntN(3) {
		name := one(names)
		b.WriteString(name)
		options := runnerOptions[name]
		if _, ok := runnerShells[name]; ok {
			options = shellOptions
		}
		for range rnd.IntN(4) {
			b.WriteString(" " + one(options))
		}
		if rnd.IntN(4) == 0 {
			b.WriteString(" " + one(runnerWords))
		}
		b.WriteString(" ")
	}
	b.WriteString(one([]string{
		"show a", "show", "echo x", "canary", "canary a", "'show a'", "'show; canary'", "sh -c 'show a'", "sh -c 'canary'",
		"'show {}' {}", "'show \"$@\"' x", "'$0' canary", "'\"$@\"' show canary", "'\"$@\"' canary show", "{} a", "'show $1' canary a",
		"eval 'show'", "cat in", "-c 'canary'", "show canary", "env canary", "show -c canary",
	}))
	for rnd.IntN(4) == 0 {
		b.WriteString(" " + one(runnerWords))
	}
	if rnd.IntN(8) == 0 {
		b.WriteString(one([]string{" <in", " >out", " | show", " | sh", " | xargs show", " ; show", " && list"}))
	}
	return b.String()
}

// runnerAdversary allows all runners and the harmless programs. sudo, doas, su and ssh are not among them: they take
// rights or a server, so runnersTable alone covers them.
func runnerAdversary(tb testing.TB) (a *adversary, names []string, links map[string]string) {
	tb.Helper()
	r := harmless()
	links = map[string]string{}
	for name := range runnerOptions {
		names = append(names, name)
		if name != "command" && name != "exec" && name != "builtin" && name != "time" {
			links[name] = name
		}
	}
	for name, program := range runnerShells {
		names = append(names, name)
		links[name] = program
	}
	slices.Sort(names)
	for _, name := range names {
		r.Allow = append(r.Allow, rules("allow", shellEntries(name)...)...)
	}
	a = classes(tb, r)[0]
	a.exact = false
	a.shells = slices.DeleteFunc(a.shells, func(s shelltest.Shell) bool {
		return s.Name != "dash" && s.Name != "bash" && s.Name != "zsh"
	})
	return a, names, links
}

// TestAdversaryRunners looks for a line in which a real env, xargs, find, timeout or shell runs something that the
// policy, which looks through these programs, did not see.
func TestAdversaryRunners(t *testing.T) {
	seed := *adversarySeed
	if seed == 0 {
		seed = uint64(time.Now().UnixNano()) //nolint:gosec // any number will do
	}
	limit := *adversaryTime
	if limit == 0 {
		limit = 4 * time.Second
		if os.Getenv("PTYCTL_LONG") != "" {
			limit = 30 * time.Minute
		}
	}
	a, names, links := runnerAdversary(t)
	ctx, stop := context.WithTimeout(t.Context(), limit)
	defer stop()
	var judged, accepted, found atomic.Int64
	var workers sync.WaitGroup
	for n := range 2 {
		w := shelltest.NewWorld(t, links)
		rnd := rand.New(rand.NewPCG(seed, uint64(n))) //nolint:gosec // no secret
		workers.Go(func() {
			for ctx.Err() == nil && found.Load() < 10 {
				line := runnerLine(rnd, names)
				judged.Add(1)
				runs, err := a.judge(ctx, line)
				if err == nil && (runs == "" || shelltest.Harmful(runs)) {
					continue
				}
				accepted.Add(1)
				for _, s := range a.shells {
					if err == nil { // a program that does not end is no finding: some of these wait, as busybox's timeout does
						err = a.tryShell(ctx, w, s, runs, nil)
					}
				}
				if err != nil && ctx.Err() == nil {
					found.Add(1)
					t.Errorf("the policy allows %q: %v", line, err)
				}
			}
		})
	}
	workers.Wait()
	t.Logf("-adversary.seed %d: %d lines judged, %d of them allowed and run", seed, judged.Load(), accepted.Load())
	if accepted.Load() < 20 && found.Load() == 0 {
		t.Errorf("allowed lines = %d of %d, want at least 20", accepted.Load(), judged.Load())
	}
}
