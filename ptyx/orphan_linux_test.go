package ptyx_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"ptyctl/ptyx"
	"ptyctl/ptyx/internal/processes"
	"ptyctl/term"
)

// marked returns the processes with the mark among their arguments.
func marked(tb testing.TB, mark string) (pids []int) {
	tb.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		tb.Fatal(err)
	}
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil || !bytes.Contains(text, []byte(mark)) {
			continue
		}
		if pid, _ := strconv.Atoi(strings.Split(f, "/")[2]); pid != os.Getpid() {
			pids = append(pids, pid)
		}
	}
	return pids
}

// living returns the processes with the mark that have not ended. One that was killed may wait for init to reap it.
func living(tb testing.TB, mark string) []int {
	tb.Helper()
	return slices.DeleteFunc(marked(tb, mark), func(pid int) bool {
		s, ok := processes.ReadStat(pid)
		return !ok || s.Dead
	})
}

// childrenOf returns the children of this process, with their states. The watcher is not among them.
func childrenOf(tb testing.TB) (all []string) {
	tb.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		tb.Fatal(err)
	}
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			continue
		}
		fields := bytes.Fields(text[bytes.LastIndexByte(text, ')')+1:])
		if line, err := os.ReadFile(filepath.Join(filepath.Dir(f), "cmdline")); err == nil &&
			bytes.Contains(line, []byte(processes.WatcherArg)) {
			continue
		}
		if string(fields[1]) == strconv.Itoa(os.Getpid()) {
			all = append(all, string(text))
		}
	}
	return all
}

// daemon leaves its terminal completely: it forks twice, starts a session, closes
// all files and clears the environment.
const daemon = `
import os, sys, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.closerange(0, 100)
        os.execve("/bin/sh", ["sh", "-c", "trap '' HUP TERM; while :; do sleep 0.1; done", sys.argv[1]], {})
    os._exit(0)
os.wait()
`

// runner does not stay the same process for long: each forks the next one, in a session of its own, and ends. It gives up
// after twice the patience, so that a test that fails leaves none behind.
const runner = `
import os, time
for i in range(2400):
    if os.fork(): os._exit(0)
    os.setsid()
    time.sleep(0.05)
`

// All processes of a program must be gone after Close, for every way to escape.
func TestNobodyStays(t *testing.T) {
	for name, supervised := range map[string]bool{"alone": false, "supervised": true, "without lists": true} {
		t.Run(name, func(t *testing.T) {
			if name == "without lists" { // a kernel without CONFIG_PROC_CHILDREN
				defer func(had string) { processes.ListName = had }(processes.ListName)
				processes.ListName = "no-such-list"
			}
			if supervised {
				stop, err := ptyx.Supervise()
				if err != nil {
					t.Fatal(err)
				}
				defer stop()
			}
			for name, script := range map[string]string{
				"ignores HUP":  `trap '' HUP TERM INT; echo up; while :; do sleep 0.1; done`,
				"double fork":  `/usr/bin/python3 -c "$DAEMON" $MARK; echo up; sleep 1000`,
				"setsid":       `setsid sh -c 'trap "" HUP; while :; do sleep 0.1; done' $MARK & sleep 0.1; echo up; sleep 1000`,
				"nohup":        `nohup sh -c 'while :; do sleep 0.1; done' $MARK >/dev/null 2>&1 & echo up; sleep 1000`,
				"a hundred":    `for i in $(seq 100); do sh -c 'trap "" HUP; while :; do sleep 1; done' $MARK & done; echo up; wait`,
				"still forks":  `trap '' HUP; echo up; while :; do sh -c 'sleep 3' $MARK & done`,
				"stopped":      `sh -c 'kill -STOP $$' $MARK & sleep 0.1; echo up; sleep 1000`,
				"has left it":  `exec >/dev/null 2>&1 </dev/null; trap '' HUP; while :; do sleep 0.1; done`,
				"runs on":      `/usr/bin/python3 -c "$RUNNER" $MARK & sleep 0.3; echo up; sleep 1000`,
				"exits at end": `/usr/bin/python3 -c "$DAEMON" $MARK; nohup sh -c 'while :; do sleep 0.1; done' $MARK >/dev/null 2>&1 & echo up; exit 5`,
			} {
				if name == "runs on" && (!supervised || processes.ListName != "children") { // only luck finds it in a table of all processes
					continue
				}
				if !supervised { // the tag is set a moment after the start, before open returns
					script = "read go; " + script
				}
				mark := "mark-" + strconv.Itoa(os.Getpid()) + "-" + strings.ReplaceAll(name, " ", "-")
				tr := open(
					t,
					term.LocalOptions{
						Argv: []string{"sh", "-c", script, mark},
						Env:  []term.EnvVar{{Name: "MARK", Value: mark}, {Name: "DAEMON", Value: daemon}, {Name: "RUNNER", Value: runner}},
					},
				)
				if !supervised {
					mustWrite(t, tr, "\r")
				}
				if name == "has left it" {
					time.Sleep(100 * time.Millisecond)
				} else {
					until(t, tr, "up\r\n")
				}
				if name == "exits at end" {
					rest(t, tr)
					if e := exitOf(t, tr); e.Code != 5 {
						t.Errorf("%s: %+v", name, e)
					}
				} else if len(marked(t, mark)) == 0 {
					t.Fatalf("%s: the test looks for the wrong processes", name)
				}
				began := time.Now()
				if err := tr.Close(); err != nil {
					t.Fatal(err)
				}
				if took := time.Since(began); took > patience {
					t.Errorf("%s: Close took %v, want at most %v", name, took, patience)
				}
				left := living(t, mark)
				if len(left) > 0 {
					t.Errorf("%s: %d processes are left: %v", name, len(left), left)
				}
				for _, pid := range left {
					_ = syscall.Kill(pid, syscall.SIGKILL)
				}
			}
			for deadline := time.Now().Add(patience); len(childrenOf(t)) > 0; time.Sleep(5 * time.Millisecond) {
				if time.Now().After(deadline) {
					t.Fatalf("children are left:\n%s", strings.Join(childrenOf(t), ""))
				}
			}
		})
	}
}

// Closing one terminal must not end processes of another, not even those that have
// left it.
func TestOthersStay(t *testing.T) {
	mark := fmt.Sprintf("mark-%d-others", os.Getpid())
	o := term.LocalOptions{
		Argv: []string{"sh", "-c", `read go; /usr/bin/python3 -c "$DAEMON" $MARK; echo up; sleep 1000`},
		Env:  []term.EnvVar{{Name: "MARK", Value: mark}, {Name: "DAEMON", Value: daemon}},
	}
	stays := open(t, o)
	mustWrite(t, stays, "\r") // the tag is set before open returns
	until(t, stays, "up\r\n")
	before := marked(t, mark)
	goes := open(t, sh("echo up; sleep 1000"))
	until(t, goes, "up\r\n")
	if err := goes.Close(); err != nil {
		t.Fatal(err)
	}
	// A child that the daemon has forked has its arguments until it runs sleep: more may be found than the daemon.
	after := marked(t, mark)
	if !slices.ContainsFunc(before, func(pid int) bool { return slices.Contains(after, pid) }) {
		t.Errorf("processes of the other terminal: %v before Close, %v after; want the daemon in both", before, after)
	}
}

// A program must not count as ended before the processes that it left behind are
// gone.
func TestProgramLeavesNothing(t *testing.T) {
	mark, tagged := fmt.Sprintf("mark-%d-run", os.Getpid()), filepath.Join(t.TempDir(), "tagged")
	ctx, cancel := context.WithCancel(t.Context())
	var looks sync.WaitGroup
	defer looks.Wait()
	defer cancel()
	looks.Go(func() { // the tag is set a moment after the start
		for ; ctx.Err() == nil; time.Sleep(5 * time.Millisecond) {
			for _, pid := range marked(t, mark) {
				if is, err := processes.OwnFamily.Has(pid); err == nil && is {
					if err := os.WriteFile(tagged, nil, 0o600); err != nil {
						t.Error(err)
					}
					return
				}
			}
		}
	})
	out, _, e := run(
		t,
		ptyx.Host{},
		job{
			LocalOptions: term.LocalOptions{
				Argv: []string{
					"sh",
					"-c",
					`until [ -e $TAGGED ]; do sleep 0.05; done; ` +
						`/usr/bin/python3 -c "$DAEMON" $MARK; sh -c 'trap "" TERM HUP; sleep 1000' $MARK & echo up; exit 3`,
					mark,
				},
				Env: []term.EnvVar{
					{Name: "MARK", Value: mark}, {Name: "DAEMON", Value: daemon}, {Name: "TAGGED", Value: tagged},
				},
			},
		},
	)
	if out != "up\n" || e.Code != 3 {
		t.Errorf("%q, %+v", out, e)
	}
	if left := living(t, mark); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

// threads returns the number of threads of this process.
func threads(tb testing.TB) int {
	tb.Helper()
	tasks, err := os.ReadDir("/proc/self/task")
	if err != nil {
		tb.Fatal(err)
	}
	return len(tasks)
}

func descriptors(tb testing.TB) int {
	tb.Helper()
	fds, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		tb.Fatal(err)
	}
	return len(fds)
}

// Idle terminals must cost no threads, even with a reader on each.
func TestIdleTerminalsCostNoThreads(t *testing.T) {
	for range 5 { // the threads needed to start programs
		tr := open(t, sh("exec sleep 1000"))
		go func() { _, _ = tr.Read(make([]byte, 4096)) }()
	}
	time.Sleep(100 * time.Millisecond)
	before := threads(t)
	for range 50 {
		tr := open(t, sh("exec sleep 1000"))
		go func() { _, _ = tr.Read(make([]byte, 4096)) }()
	}
	time.Sleep(100 * time.Millisecond)
	if after := threads(t); after > before+4 { // the runtime may start some of its own
		t.Errorf("%d threads with 5 terminals, %d with 55", before, after)
	}
}

// A thousand terminals and programs must leave no process, no descriptor and no
// zombie.
func TestThousandStarts(t *testing.T) {
	open(t, sh("true")).Close()
	before := descriptors(t)
	for i := range 500 {
		tr := open(t, sh("echo x; exit 3"))
		if got := rest(t, tr); got != "x\r\n" {
			t.Fatalf("round %d: %q", i, got)
		}
		if e := exitOf(t, tr); e.Code != 3 {
			t.Fatalf("round %d: %+v", i, e)
		}
		if err := tr.Close(); err != nil {
			t.Fatal(err)
		}
		echo := job{LocalOptions: term.LocalOptions{Argv: []string{"echo", "y"}}}
		if out, _, e := run(t, ptyx.Host{}, echo); out != "y\n" || e.Code != 0 {
			t.Fatalf("round %d: %q, %+v", i, out, e)
		}
	}
	if left := childrenOf(t); len(left) > 0 {
		t.Errorf("children are left:\n%s", strings.Join(left, ""))
	}
	if after := descriptors(t); after > before {
		t.Errorf("%d descriptors before, %d after", before, after)
	}
}

// A program must get its own three descriptors only, even if this process has an
// inheritable one.
func TestDescriptors(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	foreign, err := syscall.Dup(int(r.Fd())) // without close-on-exec, like a descriptor left open by a parent
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Close(foreign)
	stop, err := ptyx.Supervise()
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	list := []string{"/usr/bin/python3", "-c", `
import os
for fd in range(1000):
    try: os.fstat(fd); print(fd, end=" ")
    except OSError: pass
`}
	if out, _, _ := run(t, ptyx.Host{}, job{LocalOptions: term.LocalOptions{Argv: list}}); out != "0 1 2 " {
		t.Errorf("a program has %s", out)
	}
	if out := rest(t, open(t, term.LocalOptions{Argv: list})); out != "0 1 2 " {
		t.Errorf("a terminal has %s", out)
	}
	limited := job{LocalOptions: term.LocalOptions{Argv: list, Limits: term.Limits{OpenFiles: 50}}}
	if out, _, _ := run(t, ptyx.Host{}, limited); out != "0 1 2 " {
		t.Errorf("a program with limits has %s", out)
	}
}

// Programs must end with the process that has started them, even if they ignore the
// loss of their terminal.
func TestDeathOfTheHolder(t *testing.T) {
	mark := fmt.Sprintf("mark-%d-holder", os.Getpid())
	if os.Getenv("PTYX_HOLDER") != "" {
		tr := open(
			t,
			term.LocalOptions{
				Argv: []string{
					"sh",
					"-c",
					"trap '' HUP TERM; echo up; while read x; do :; done; while :; do sleep 0.1; done",
					os.Getenv("PTYX_HOLDER"),
				},
			},
		)
		until(t, tr, "up")
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestDeathOfTheHolder$")
	cmd.Env = append(os.Environ(), "PTYX_HOLDER="+mark)
	if out, err := cmd.CombinedOutput(); err == nil || cmd.ProcessState.ExitCode() != -1 {
		t.Fatalf("the holder ended with %v: %s", err, out)
	}
	for deadline := time.Now().Add(patience); len(marked(t, mark)) > 0; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("left: %v", marked(t, mark))
		}
	}
}

// Under Supervise nothing stays of a process that was killed: no child of a program, however far it is from it, and not
// the watcher that has ended them.
func TestDeathOfTheSupervisor(t *testing.T) {
	mark := fmt.Sprintf("mark-%d-supervisor", os.Getpid())
	if os.Getenv("PTYX_SUPERVISOR") != "" {
		if _, err := ptyx.Supervise(); err != nil {
			t.Fatal(err)
		}
		stubborn := `trap '' HUP TERM INT; sh -c 'while :; do sleep 0.1; done' $MARK & setsid sh -c 'while :; do sleep 0.1; done' $MARK &` +
			` /usr/bin/python3 -c "$DAEMON" $MARK; /usr/bin/python3 -c "$RUNNER" $MARK & sleep 0.2; echo up; sleep 1000`
		o := term.LocalOptions{
			Argv: []string{"sh", "-c", stubborn, os.Getenv("PTYX_SUPERVISOR")},
			Env: []term.EnvVar{
				{Name: "MARK", Value: os.Getenv("PTYX_SUPERVISOR")}, {Name: "DAEMON", Value: daemon},
				{Name: "RUNNER", Value: runner},
			},
		}
		until(t, open(t, o), "up")
		go func() { _, _, _, _ = tryRun(t.Context(), ptyx.Host{}, job{LocalOptions: o}) }()
		for len(marked(t, os.Getenv("PTYX_SUPERVISOR"))) < 8 {
			time.Sleep(5 * time.Millisecond)
		}
		fmt.Println("watcher", watcherOf(t, os.Getpid()))
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestDeathOfTheSupervisor$")
	cmd.Env = append(os.Environ(), "PTYX_SUPERVISOR="+mark)
	out, err := cmd.CombinedOutput()
	if err == nil || cmd.ProcessState.ExitCode() != -1 {
		t.Fatalf("the supervisor ended with %v: %s", err, out)
	}
	_, after, _ := strings.Cut(string(out), "watcher ")
	watcher, err := strconv.Atoi(strings.TrimSpace(after))
	if err != nil {
		t.Fatalf("the supervisor printed %q, want the number of its watcher", out)
	}
	gone(t, "a killed supervisor", func() []int {
		left := marked(t, mark)
		if s, ok := processes.ReadStat(watcher); ok && !s.Dead {
			left = append(left, watcher)
		}
		return left
	})
}

// watcherOf returns the watcher of a process.
func watcherOf(tb testing.TB, pid int) int {
	tb.Helper()
	children, err := processes.Children(pid)
	if err != nil {
		tb.Fatal(err)
	}
	for _, child := range children {
		if text, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", child)); err != nil ||
			!bytes.Contains(text, []byte(processes.WatcherArg)) {
			continue
		}
		for deadline := time.Now().Add(patience); ; time.Sleep(5 * time.Millisecond) {
			name, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", child))
			if string(name) == "pty-watcher\n" { // from now on it ignores signals
				return child
			}
			if err != nil || time.Now().After(deadline) {
				tb.Fatalf("the watcher %d has the name %q: %v", child, name, err)
			}
		}
	}
	tb.Fatalf("none of the children %v of %d is a watcher", children, pid)
	return 0
}

// gone waits until nothing is left.
func gone(tb testing.TB, of string, left func() []int) {
	tb.Helper()
	for deadline := time.Now().Add(patience); len(left()) > 0; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			tb.Errorf("left of %s after %v: %v", of, patience, left())
			for _, pid := range left() {
				_ = syscall.Kill(pid, syscall.SIGKILL)
			}
			return
		}
	}
}

// The watcher starts with the first program and ends with the supervision, which ends the programs that still run. It
// does not get the signals to the process group, and a program does not need it.
func TestWatcher(t *testing.T) {
	stop, err := ptyx.Supervise()
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	mark := fmt.Sprintf("mark-%d-watcher", os.Getpid())
	tr := open(t, term.LocalOptions{Argv: []string{"sh", "-c", "trap '' HUP TERM; echo up; sleep 1000; :", mark}})
	until(t, tr, "up")
	watcher := watcherOf(t, os.Getpid())
	if group, err := syscall.Getpgid(watcher); err != nil || group != watcher {
		t.Errorf("the process group of the watcher %d = %d, %v, want its own", watcher, group, err)
	}
	for _, sig := range []syscall.Signal{syscall.SIGHUP, syscall.SIGINT, syscall.SIGTERM} {
		_ = syscall.Kill(watcher, sig)
	}
	time.Sleep(50 * time.Millisecond)
	if now := watcherOf(t, os.Getpid()); now != watcher || len(marked(t, mark)) == 0 {
		t.Errorf("after signals to it the watcher = %d, the program %v, want %d and one", now, marked(t, mark), watcher)
	}
	stop()
	gone(t, "the supervision", func() []int {
		if s, ok := processes.ReadStat(watcher); ok && !s.Dead {
			return append(marked(t, mark), watcher)
		}
		return marked(t, mark)
	})

	again, err := ptyx.Supervise()
	if err != nil {
		t.Fatal(err)
	}
	defer again()
	tr = open(t, term.LocalOptions{Argv: []string{"sh", "-c", "trap '' HUP TERM; echo up; sleep 1000; :", mark}})
	until(t, tr, "up")
	_ = syscall.Kill(watcherOf(t, os.Getpid()), syscall.SIGKILL)
	time.Sleep(50 * time.Millisecond)
	if len(marked(t, mark)) == 0 {
		t.Error("a program has ended with its watcher, want it to go on")
	}
	if out, _, e := run(t, ptyx.Host{}, program("echo", "x")); out != "x\n" || e.Code != 0 {
		t.Errorf("a program without a watcher printed %q and ended with %+v", out, e)
	}
}

// All that a terminal starts is known as this process's own, also behind setsid(1) and without variables; others are
// not. The terminal gets its mark a moment after its start, because this process does not supervise.
func TestStarted(t *testing.T) {
	tr := open(t, sh("read go; setsid -f env -i sh -c 'echo child $$; sleep 1000'; echo own $$; sleep 1000"))
	mustWrite(t, tr, "\r")
	var text string
	for !regexp.MustCompile(`child \d+\r`).MatchString(text) || !regexp.MustCompile(`own \d+\r`).MatchString(text) {
		text += until(t, tr, "\n") // either may come first
	}
	for _, name := range []string{"child ", "own "} {
		_, rest, _ := strings.Cut(text, name)
		line, _, _ := strings.Cut(rest, "\r")
		pid, err := strconv.Atoi(line)
		if err != nil {
			t.Fatalf("the terminal shows %q, want the number of the process %s", text, name)
		}
		if !ptyx.Started(pid) {
			t.Errorf("Started(%d) of %s= false, want true", pid, name)
		}
	}
	for _, pid := range []int{1, os.Getpid(), os.Getppid()} {
		if ptyx.Started(pid) {
			t.Errorf("Started(%d) = true, want false: this package has not started it", pid)
		}
	}
	ended := exec.CommandContext(t.Context(), "true")
	if err := ended.Run(); err != nil {
		t.Fatal(err)
	}
	if pid := ended.Process.Pid; !ptyx.Started(pid) {
		t.Errorf("Started(%d) of a process that has ended = false, want true: it may have left a connection to a child", pid)
	}
}
