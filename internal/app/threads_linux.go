package app

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"
)

// manyThreads is a limit so high that the threads in use need not be counted; counting reads every process.
const manyThreads = 1024

// threadsLeft returns how many more threads the user may have (RLIMIT_NPROC, getrlimit(2)). It reports false if that is
// no small number.
func threadsLeft() (n int, limited bool) {
	var l unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NPROC, &l) != nil || l.Cur >= manyThreads {
		return 0, false
	}
	used := 0
	files, _ := filepath.Glob("/proc/[0-9]*/status")
	own := []byte(strconv.Itoa(os.Getuid()))
	for _, name := range files {
		if text, err := os.ReadFile(name); err == nil && bytes.Equal(statusField(text, "Uid:"), own) {
			n, _ := strconv.Atoi(string(statusField(text, "Threads:")))
			used += n
		}
	}
	return max(0, int(l.Cur)-used), true
}

// statusField returns the first word after a name in a file of proc_pid_status(5).
func statusField(text []byte, name string) []byte {
	_, rest, _ := bytes.Cut(text, []byte("\n"+name))
	line, _, _ := bytes.Cut(rest, []byte("\n"))
	if f := bytes.Fields(line); len(f) > 0 {
		return f[0]
	}
	return nil
}
