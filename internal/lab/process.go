package lab

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

	"ptyctl/internal/lab/system"
)

// A Process is one line of the system's process table.
type Process struct {
	PID, parent int
	state       byte   // 'Z' is a zombie: proc_pid_stat(5)
	Command     string // its arguments, joined with spaces
}

// Processes returns the process table.
func Processes(tb testing.TB) []Process {
	tb.Helper()
	entries, err := os.ReadDir("/proc")
	if err != nil {
		tb.Fatalf("%v: these tests look at processes through proc(5); run them on Linux", err)
	}
	var all []Process
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
		// The name is in parentheses and may itself contain some.
		fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
		parent, err := strconv.Atoi(string(fields[1]))
		if err != nil {
			tb.Fatalf("%s/stat: %v", dir, err)
		}
		cmdline, _ := os.ReadFile(filepath.Join(dir, "cmdline"))
		command := strings.TrimSpace(string(bytes.ReplaceAll(cmdline, []byte{0}, []byte{' '})))
		all = append(all, Process{pid, parent, fields[0][0], command})
	}
	return all
}

// watcher is the command of the process that ends local programs when ptyctl is killed. It is a part of ptyctl.
const watcher = "pty-watcher pty-internal-watcher"

// Watchers returns the watchers of a ptyctl.
func Watchers(tb testing.TB, pid int) []Process {
	tb.Helper()
	return slices.DeleteFunc(Processes(tb), func(p Process) bool { return p.parent != pid || p.Command != watcher })
}

// Descendants returns the processes that descend from pid, parents before their children, without ptyctl's watchers.
func Descendants(tb testing.TB, pid int) []Process {
	tb.Helper()
	all := Processes(tb)
	var found []Process
	for parents := []int{pid}; len(parents) > 0; parents = parents[1:] {
		for _, p := range all {
			if p.parent == parents[0] && p.Command != watcher {
				found = append(found, p)
				parents = append(parents, p.PID)
			}
		}
	}
	return found
}

// Ended reports whether all of the processes are zombies, or about to be: they have no arguments any more.
func Ended(ps []Process) bool {
	return !slices.ContainsFunc(ps, func(p Process) bool { return p.state != 'Z' && p.Command != "" })
}

// Runs reports whether one of the processes below pid was started as command.
func Runs(tb testing.TB, pid int, command string) bool {
	tb.Helper()
	return slices.ContainsFunc(
		Descendants(tb, pid),
		func(p Process) bool { return p.Command == command && p.state != 'Z' },
	)
}

// Kill ends processes that a test has started, itself or through a server. Those that are gone do not matter.
func Kill(tb testing.TB, ps []Process) {
	tb.Helper()
	for _, p := range ps {
		if err := system.Kill(p.PID, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
			tb.Errorf("kill %d (%s): %v", p.PID, p.Command, err)
		}
	}
}

// OpenFiles returns the targets of pid's file descriptors.
func OpenFiles(tb testing.TB, pid int) []string {
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

// StatusField returns a number from /proc/pid/status: "Threads", or "VmRSS" and "VmHWM" in KiB.
func StatusField(tb testing.TB, pid int, name string) int {
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

// ReadFile reads a file, or ends the test.
func ReadFile(tb testing.TB, path string) []byte {
	tb.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		tb.Fatal(err)
	}
	return text
}

// ProgramsRunning returns the processes that run the program under test.
func ProgramsRunning(tb testing.TB) []Process {
	tb.Helper()
	return slices.DeleteFunc(Processes(tb), func(p Process) bool {
		return !strings.HasPrefix(p.Command, Binary+" ") && !strings.HasPrefix(p.Command, PlainBinary+" ")
	})
}
