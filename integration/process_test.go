package integration

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// A process is one line of the system's process table.
type process struct {
	pid, parent int
	state       byte   // 'Z' is a zombie: proc_pid_stat(5)
	command     string // its arguments, joined with spaces
}

// processes returns the process table.
func processes(tb testing.TB) []process {
	tb.Helper()
	entries, err := os.ReadDir("/proc")
	if err != nil {
		tb.Fatalf("%v: these tests look at processes through proc(5); run them on Linux", err)
	}
	var all []process
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		dir := filepath.Join("/proc", e.Name())
		stat, err := os.ReadFile(filepath.Join(dir, "stat"))
		if err != nil {
			continue // it has ended since
		}
		// The name stands in parentheses and may itself hold some.
		fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
		parent, err := strconv.Atoi(string(fields[1]))
		if err != nil {
			tb.Fatalf("%s/stat: %v", dir, err)
		}
		cmdline, _ := os.ReadFile(filepath.Join(dir, "cmdline"))
		command := strings.TrimSpace(string(bytes.ReplaceAll(cmdline, []byte{0}, []byte{' '})))
		all = append(all, process{pid, parent, fields[0][0], command})
	}
	return all
}

// below returns the processes that descend from pid, parents before their children.
func below(tb testing.TB, pid int) []process {
	tb.Helper()
	all := processes(tb)
	var found []process
	for parents := []int{pid}; len(parents) > 0; parents = parents[1:] {
		for _, p := range all {
			if p.parent == parents[0] {
				found = append(found, p)
				parents = append(parents, p.pid)
			}
		}
	}
	return found
}

// running reports whether one of the processes below pid was started as command.
func running(tb testing.TB, pid int, command string) bool {
	tb.Helper()
	return slices.ContainsFunc(below(tb, pid), func(p process) bool { return p.command == command && p.state != 'Z' })
}

// kill ends processes that a test has started, itself or through a server. Those that are gone do not matter.
func kill(tb testing.TB, ps []process) {
	tb.Helper()
	for _, p := range ps {
		if err := syscall.Kill(p.pid, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
			tb.Errorf("kill %d (%s): %v", p.pid, p.command, err)
		}
	}
}

// openFiles returns what the file descriptors of pid refer to.
func openFiles(tb testing.TB, pid int) []string {
	tb.Helper()
	dir := fmt.Sprintf("/proc/%d/fd", pid)
	entries, err := os.ReadDir(dir)
	if err != nil {
		tb.Fatal(err)
	}
	var files []string
	for _, e := range entries {
		target, err := os.Readlink(filepath.Join(dir, e.Name()))
		if errors.Is(err, fs.ErrNotExist) {
			continue // closed since
		} else if err != nil {
			tb.Fatal(err)
		}
		files = append(files, e.Name()+" -> "+target)
	}
	return files
}

// statusField returns a number from /proc/pid/status: "Threads", or "VmRSS" and "VmHWM" in KiB.
func statusField(tb testing.TB, pid int, name string) int {
	tb.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		tb.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, name+":"); ok {
			n, err := strconv.Atoi(strings.Fields(rest)[0])
			if err != nil {
				tb.Fatalf("%s: %v", line, err)
			}
			return n
		}
	}
	tb.Fatalf("/proc/%d/status has no field %s", pid, name)
	return 0
}
