package natstest

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Stop stops the process with SIGSTOP, and waits until all of its threads have stopped: a signal takes a moment.
func (s *Server) Stop(tb testing.TB) {
	tb.Helper()
	if err := s.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		tb.Fatal(err)
	}
	for end := time.Now().Add(time.Minute); !stopped(s.cmd.Process.Pid); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			tb.Fatalf("server %s does not stop", s.Name)
		}
	}
}

// Continue lets the process go on.
func (s *Server) Continue(tb testing.TB) {
	tb.Helper()
	if err := s.cmd.Process.Signal(syscall.SIGCONT); err != nil {
		tb.Fatal(err)
	}
}

// stopped reports whether each thread of a process has stopped (proc_pid_stat(5): the state follows the name).
func stopped(pid int) bool {
	threads, err := filepath.Glob("/proc/" + strconv.Itoa(pid) + "/task/*/stat")
	if err != nil || len(threads) == 0 {
		return false
	}
	for _, t := range threads {
		text, err := os.ReadFile(t)
		if err != nil || !strings.HasPrefix(string(text[strings.LastIndexByte(string(text), ')')+1:]), " T") {
			return false
		}
	}
	return true
}
