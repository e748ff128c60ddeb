package agent

import (
	"flag"
	"os"
	"testing"
	"time"

	"ptyctl/internal/lab"
)

var compare = flag.Bool("compare", false, "do the tasks with Bash, ssh and tmux as well, and print the table")

// The most that all tasks may take with ptyctl: as it is by default, and with the set of tools for many hosts.
var (
	most      = cost{calls: 105, bytes: 40 << 10}
	mostFleet = cost{calls: 90, bytes: 24 << 10}
)

// A kind says in which totals a task counts.
type kind int

const (
	plain  kind = iota
	screen      // a full-screen program
	hosts       // many hosts
)

// A task is work on hosts, as two scripts that do it.
type task struct {
	name    string
	kind    kind
	prepare func(w *world)            // makes the state that the work begins with, for each arm
	ptyctl  func(w *world, p *ptyctl) // fails the test if a result states something false
	fleet   func(w *world, p *ptyctl) // the first script with the set of tools for many hosts; nil: the same script
	bash    func(w *world, b *bash)
	lacks   string                // the parts that Bash, ssh and tmux cannot do
	done    func(w *world) string // looks at the hosts: returns the errors there, or ""
}

var tasks = []task{
	mfa, service, dialogs, vim, gdb, build,
	routerPaste, pager, passwordChange, sudo, python, sqlite,
	logAndJob, manyHosts, htop, menu, cut, console, files, testRun,
}

// TestTasks does the tasks, each with a ptyctl of its own, as another agent would.
func TestTasks(t *testing.T) {
	for _, file := range []string{
		"/usr/bin/dialog", "/usr/bin/whiptail", "/usr/bin/htop", "/usr/bin/vim", "/usr/bin/gdb", "/usr/bin/tmux",
		"/usr/bin/sqlite3", "/usr/bin/python3", "/usr/bin/sudo", "/usr/bin/make",
	} {
		if _, err := os.Stat(file); err != nil {
			t.Fatalf("%v: run scripts/install-test-deps", err)
		}
	}
	w := newWorld(t)
	var rows []row
	for _, k := range tasks {
		t.Run(k.name, func(t *testing.T) { rows = append(rows, k.run(t, w)) })
	}
	if *compare {
		printTable(os.Stdout, rows)
	}
	var all, fleet cost
	for _, r := range rows {
		all.add(r.ptyctl)
		fleet.add(r.best())
	}
	t.Logf("the tasks took %d calls and %d bytes of results, and with the tool for many hosts %d and %d",
		all.calls, all.bytes, fleet.calls, fleet.bytes)
	for _, one := range []struct{ got, most cost }{{all, most}, {fleet, mostFleet}} {
		if one.got.calls > one.most.calls || one.got.bytes > one.most.bytes {
			t.Errorf("the tasks took %d calls and %d bytes of results, want at most %d and %d", one.got.calls, one.got.bytes,
				one.most.calls, one.most.bytes)
		}
	}
}

// run does the task in each arm.
func (k task) run(t *testing.T, w *world) row {
	r := row{task: k.name, kind: k.kind, lacks: k.lacks}
	w.t = t
	k.prepare(w)
	byPtyctl := func(script func(*world, *ptyctl), flags ...string) *ptyctl {
		p := newPtyctl(t, w, flags...)
		script(w, p)
		if wrong := k.done(w); wrong != "" {
			t.Errorf("after ptyctl's part of %q the host shows: %s", k.name, wrong)
		}
		p.client.Finish()
		return p
	}
	began := time.Now()
	p := byPtyctl(k.ptyctl)
	r.ptyctl, r.members, r.took = p.cost, p.members, time.Since(began)
	if k.fleet != nil {
		k.prepare(w)
		r.fleet = &byPtyctl(k.fleet, "--toolsets", "core,fleet").cost
	}
	if !*compare {
		return r
	}
	k.prepare(w)
	b := newBash(t, w)
	k.bash(w, b)
	r.bash = b.cost
	b.finish()
	if wrong := k.done(w); wrong != "" && k.lacks == "" {
		t.Errorf("after Bash's part of %q the host shows: %s", k.name, wrong)
	}
	return r
}

// random returns text that no arm can guess, so that an answer must come from the host.
func random(w *world) string {
	w.t.Helper()
	return lab.Tail(w.run("od -An -N4 -tx4 /dev/urandom | tr -d ' '"), 8)
}
