package processes

import (
	"bytes"
	"os"
	"strconv"
)

// A Stat is one line of the process table (proc_pid_stat(5)).
type Stat struct {
	PID, Parent int
	Dead        bool   // no thread of it runs: it only waits to be reaped
	Started     string // the time of its start in kernel ticks
}

// Places of the fields behind the program's name, which may contain any byte.
const (
	fieldState   = 0
	fieldParent  = 1
	fieldThreads = 17
	fieldStarted = 19
)

// ReadStat reads the line of one process; ok is false if it has ended.
func ReadStat(pid int) (s Stat, ok bool) {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return Stat{}, false
	}
	f := bytes.Fields(text[bytes.LastIndexByte(text, ')')+1:])
	if len(f) <= fieldStarted {
		return Stat{}, false
	}
	parent, _ := strconv.Atoi(string(f[fieldParent]))
	threads, _ := strconv.Atoi(string(f[fieldThreads]))
	state := f[fieldState][0]
	return Stat{
		PID:    pid,
		Parent: parent,
		// After the end of its first thread, a process is shown as a zombie while its other threads run.
		Dead:    state == 'X' || state == 'Z' && threads <= 1,
		Started: string(f[fieldStarted]),
	}, true
}

// All returns the numbers of all processes of this machine. Its cost grows with their number: see Children.
func All() (all []int) {
	proc, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer func() { _ = proc.Close() }()
	names, _ := proc.Readdirnames(-1)
	for _, name := range names {
		if pid, err := strconv.Atoi(name); err == nil {
			all = append(all, pid)
		}
	}
	return all
}

// Living returns those of the processes that have not ended.
func Living(pids []int) (living []Process) {
	for _, pid := range pids {
		if s, ok := ReadStat(pid); ok && !s.Dead {
			living = append(living, Process{pid, s.Started})
		}
	}
	return living
}

// WithDescendants returns the living ones of the processes and of all their descendants, found in a table of all
// processes.
func WithDescendants(roots []int) (all []Process) {
	if len(roots) == 0 {
		return nil
	}
	in := make(map[int]bool)
	for _, pid := range roots {
		in[pid] = true
	}
	var table []Stat
	for _, pid := range All() {
		if s, ok := ReadStat(pid); ok {
			table = append(table, s)
		}
	}
	self := os.Getpid()
	for grown := true; grown; { // a child may come before its parent in the table
		grown = false
		for _, s := range table {
			if !in[s.PID] && in[s.Parent] && s.PID != self {
				in[s.PID], grown = true, true
			}
		}
	}
	for _, s := range table {
		if in[s.PID] && !s.Dead {
			all = append(all, Process{s.PID, s.Started})
		}
	}
	return all
}
