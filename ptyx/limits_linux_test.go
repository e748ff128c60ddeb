package ptyx_test

import (
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"ptyctl/ptyx"
	"ptyctl/term"
)

// Each limit must take effect, and the result must name it.
func TestLimits(t *testing.T) {
	const forks = `
import os, time
n = 0
try:
    while True:
        if os.fork() == 0:
            time.sleep(1000)
        n += 1
except OSError as e:
    print(n, e.errno, flush=True)
    os._exit(8)
`
	for name, c := range map[string]struct {
		argv      []string
		limits    term.Limits
		out       string
		code      int
		limit     term.Limit
		suspected string
	}{
		"cpu":         {[]string{"sh", "-c", "while :; do :; done"}, term.Limits{CPUSeconds: 1}, "", 152, term.LimitCPU, ""},
		"cpu ignored": {[]string{"/usr/bin/python3", "-c", "import signal\nsignal.signal(signal.SIGXCPU, signal.SIG_IGN)\nwhile True: pass"}, term.Limits{CPUSeconds: 1}, "", 137, term.LimitCPU, ""},
		"memory":      {[]string{"/usr/bin/python3", "-c", "x = []\ntry:\n  while True: x.append(bytearray(10 << 20))\nexcept MemoryError: print('no memory'); exit(9)"}, term.Limits{MemoryBytes: 300 << 20}, "no memory\n", 9, "", "memory"},
		"files":       {[]string{"/usr/bin/python3", "-c", "import os\ntry:\n  while True: os.dup(0)\nexcept OSError as e: print(e.errno); exit(7)"}, term.Limits{OpenFiles: 40}, "24\n", 7, "", "files"},
		"processes":   {[]string{"/usr/bin/python3", "-c", forks}, term.Limits{Processes: 12}, "11 11\n", 8, "processes", ""},
		"none met":    {[]string{"sh", "-c", "echo $(true) ok"}, term.Limits{CPUSeconds: 5, MemoryBytes: 1 << 30, OpenFiles: 100, Processes: 20}, "ok\n", 0, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			began := time.Now()
			out, errs, e := run(t, ptyx.Host{}, job{LocalOptions: term.LocalOptions{Argv: c.argv, Limits: c.limits}})
			if out != c.out || e.Code != c.code || e.Limit != c.limit || e.Suspected != c.suspected {
				t.Errorf("after %v: %q, %q, %+v", time.Since(began), out, errs, e)
			}
		})
	}
}

// A fork bomb on a terminal must stay within its limit, and must be gone after
// Close.
func TestForkBomb(t *testing.T) {
	mark := "mark-bomb-" + strings.ReplaceAll(t.TempDir(), "/", "-")
	tr := open(
		t,
		term.LocalOptions{
			Argv:   []string{"bash", "-c", `b() { b | b & }; b; b; wait; sleep 1000`, mark},
			Limits: term.Limits{Processes: 30},
		},
	)
	go func() {
		p := make([]byte, 4096)
		for {
			if _, err := tr.Read(p); err != nil {
				return
			}
		}
	}()
	most := 0
	for looks, began := 0, time.Now(); looks < 40 || most < 5 && time.Since(began) < patience; looks++ {
		// One look takes time, in which some end and others begin: those of two looks lived between them.
		before := marked(t, mark)
		both := slices.DeleteFunc(marked(t, mark), func(pid int) bool { return !slices.Contains(before, pid) })
		most = max(most, len(both))
		time.Sleep(20 * time.Millisecond)
	}
	if most > 31 || most < 5 {
		t.Errorf("%d processes at a time, 30 are allowed, and those that are just being started", most)
	}
	began := time.Now()
	_ = tr.Close()
	if took := time.Since(began); took > patience {
		t.Errorf("Close took %v, want at most %v", took, patience)
	}
	if left := living(t, mark); len(left) > 0 {
		t.Errorf("%d are left", len(left))
	}
	if e, _ := tr.Wait(); e.Limit != term.LimitProcesses {
		t.Errorf("Wait = %+v, want limit processes", e)
	}
}

// A program below its limit may start any number of processes one after the other.
func TestForksOneByOne(t *testing.T) {
	out, errs, e := run(
		t,
		ptyx.Host{},
		job{
			LocalOptions: term.LocalOptions{
				Argv:   []string{"sh", "-c", "i=0; while [ $i -lt 300 ]; do /bin/true || exit 9; i=$((i+1)); done; echo $i"},
				Limits: term.Limits{Processes: 4},
			},
		},
	)
	if out != "300\n" || e.Code != 0 || e.Limit != "" {
		t.Errorf("%q, %q, %+v", out, errs, e)
	}
}

// Threads must not count as processes.
func TestThreadsAreNotCounted(t *testing.T) {
	const script = `import threading, time
ts = [threading.Thread(target=time.sleep, args=(0.2,)) for _ in range(20)]
for t in ts: t.start()
for t in ts: t.join()
print('joined')`
	j := program("/usr/bin/python3", "-c", script)
	j.Limits.Processes = 3
	out, errs, e := run(t, ptyx.Host{}, j)
	if out != "joined\n" || e.Code != 0 {
		t.Errorf("%q, %q, %+v", out, errs, e)
	}
}

// The operator's limits must apply if the call has none, and if it asks for more.
func TestOperatorsLimits(t *testing.T) {
	h := ptyx.Host{Limits: term.Limits{OpenFiles: 50, CPUSeconds: 100}}
	for want, l := range map[string]term.Limits{
		"50 100": {},
		"50 20":  {OpenFiles: 100, CPUSeconds: 20},
		"30 100": {OpenFiles: 30},
	} {
		out, errs, e := run(
			t,
			h,
			job{LocalOptions: term.LocalOptions{Argv: []string{"sh", "-c", "echo $(ulimit -n) $(ulimit -t)"}, Limits: l}},
		)
		if strings.TrimSpace(out) != want {
			t.Errorf("%+v: %q, %q, %+v; want %s", l, out, errs, e, want)
		}
	}
}

func TestShimFails(t *testing.T) {
	script := t.TempDir() + "/script"
	if err := os.WriteFile(script, []byte("echo no first line\n"), 0o700); err != nil { //nolint:gosec // a program
		t.Fatal(err)
	}
	for _, l := range []term.Limits{{}, {OpenFiles: 50}, {Processes: 5}} {
		_, _, _, err := tryRun(
			t.Context(),
			ptyx.Host{},
			job{LocalOptions: term.LocalOptions{Argv: []string{script}, Limits: l}},
		)
		if term.KindOf(err) != term.IOError || !strings.Contains(err.Error(), "exec format error") {
			t.Errorf("%+v: %v", l, err)
		}
	}
}
