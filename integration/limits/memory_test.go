package limits

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"ptyctl/internal/lab"
)

// A memoryGroup is a control group with a limit of memory, of version 1 or 2.
type memoryGroup struct{ dir string }

// newMemoryGroup makes a group below the tester's own. The test fails where the system gives none, for example to an
// ordinary user: a test that skips there would not exist.
func newMemoryGroup(tb testing.TB, limit int) memoryGroup {
	tb.Helper()
	var failures []error
	for _, parent := range memoryParents(tb) {
		g := memoryGroup{filepath.Join(parent, fmt.Sprintf("ptyctl-test-%d-%d", os.Getpid(), limit))}
		if err := os.Mkdir(g.dir, 0o755); err != nil { //nolint:gosec // a control group has no secrets
			failures = append(failures, err)
			continue
		}
		tb.Cleanup(func() {
			lab.Eventually(tb, "the end of the group", func() bool { return os.Remove(g.dir) == nil })
		})
		for _, name := range []string{"memory.max", "memory.limit_in_bytes"} {
			if _, err := os.Stat(filepath.Join(g.dir, name)); err != nil {
				failures = append(failures, err)
				continue
			}
			if err := os.WriteFile(filepath.Join(g.dir, name), []byte(strconv.Itoa(limit)), 0); err != nil {
				tb.Fatal(err)
			}
			return g
		}
	}
	tb.Fatalf("no control group with a limit of memory: %v; run as root where /sys/fs/cgroup can be written", failures)
	return memoryGroup{}
}

// memoryParents are the folders in which a group may be made: those of the tester's own group, and the roots.
func memoryParents(tb testing.TB) (dirs []string) {
	tb.Helper()
	for line := range strings.Lines(string(lab.ReadFile(tb, "/proc/self/cgroup"))) {
		f := strings.SplitN(strings.TrimSpace(line), ":", 3)
		switch {
		case len(f) != 3:
		case f[1] == "memory":
			dirs = append(dirs, filepath.Join("/sys/fs/cgroup/memory", f[2]), "/sys/fs/cgroup/memory")
		case f[1] == "":
			dirs = append(dirs, filepath.Join("/sys/fs/cgroup", f[2]), "/sys/fs/cgroup")
		}
	}
	return dirs
}

// wrap is the command that starts ptyctl in the group.
func (g memoryGroup) wrap() []string {
	return []string{"/bin/sh", "-euc", `echo $$ >` + g.dir + `/cgroup.procs; exec "$@"`, "sh"}
}

// killed returns how many processes the system has ended for want of memory.
func (g memoryGroup) killed(tb testing.TB) (n int) {
	tb.Helper()
	for _, name := range []string{"memory.events", "memory.oom_control"} {
		text, err := os.ReadFile(filepath.Join(g.dir, name))
		if err != nil {
			continue
		}
		for line := range strings.Lines(string(text)) {
			if f := strings.Fields(line); len(f) == 2 && f[0] == "oom_kill" {
				n, _ = strconv.Atoi(f[1])
			}
		}
	}
	return n
}

// holding is the call that opens a session with a program that takes so many bytes and says "full".
func holding(bytes int) string {
	return fmt.Sprintf(`{"action":"open","protocol":"local","argv":["/bin/sh","-c",
		"(head -c %d /dev/zero; echo full >/dev/tty; exec sleep 1000) | tail -c %[1]d >/dev/null"]}`, bytes)
}

// TestRunawayProgramInASmallGroup: the program that takes all memory of the group is ended, and not ptyctl, which is
// larger.
func TestRunawayProgramInASmallGroup(t *testing.T) {
	h := lab.NewHome(t)
	h.Program = lab.PlainBinary
	g := newMemoryGroup(t, 24<<20) // ptyctl takes more than half of it
	h.Wrap = g.wrap()
	c := h.Connect(t)
	spared := c.OpenLocal(t, []string{"/bin/cat"}, "")
	for range 3 {
		// The system learns a moment after the start of a program that it is to end it first.
		const runaway = `{"argv":["/bin/sh","-c","sleep 0.2; exec tail /dev/zero"]}`
		if r := c.Call(t, lab.ToolRun, runaway); r.ExitSignal != "KILL" {
			t.Errorf("a program that takes all memory: %s, want that it is killed", r.Text)
		}
	}
	if g.killed(t) == 0 {
		t.Error("nothing was ended for want of memory")
	}
	if r := c.Enter(t, spared, "still\r", "still"); strings.Contains(r.Text, `"eof":true`) {
		t.Errorf("another session: %s", r.Text)
	}
	c.Close(t, spared)
}
