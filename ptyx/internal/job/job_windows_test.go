package job_test

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/windows"

	"ptyctl/ptyx"
	"ptyctl/term"
)

// TestMain is a program for the tests, too: "spawn" starts one more that never ends, prints its process id, and ends;
// "stay" does the same and stays.
func TestMain(m *testing.M) {
	if len(os.Args) != 2 || strings.HasPrefix(os.Args[1], "-") {
		os.Exit(m.Run())
	}
	if os.Args[1] != "idle" {
		self, err := os.Executable()
		if err != nil {
			panic(err)
		}
		idle := exec.Command(self, "idle")
		if err := idle.Start(); err != nil {
			panic(err)
		}
		fmt.Printf("child %d\n", idle.Process.Pid)
		if os.Args[1] == "spawn" {
			os.Exit(3)
		}
	}
	time.Sleep(time.Hour) // ended by a job, or with the tests
}

// child reads a line of "spawn" or "stay", and returns a handle of the process that it names.
func child(t *testing.T, line string) windows.Handle {
	t.Helper()
	pid, err := strconv.Atoi(strings.TrimSpace(strings.TrimPrefix(line, "child ")))
	if err != nil {
		t.Fatalf("the program has printed %q, want a process id", line)
	}
	h, err := windows.OpenProcess(windows.SYNCHRONIZE, false, uint32(pid))
	if err != nil {
		return 0 // it has ended, and its id is free
	}
	t.Cleanup(func() { _ = windows.CloseHandle(h) })
	return h
}

// gone reports whether a process has ended, or ends within seconds.
func gone(h windows.Handle) bool {
	if h == 0 {
		return true
	}
	event, err := windows.WaitForSingleObject(h, 10_000)
	return err == nil && event == windows.WAIT_OBJECT_0
}

// A lineWriter passes the first line on.
type lineWriter struct {
	buf   bytes.Buffer
	first chan string
}

func (w *lineWriter) Write(p []byte) (int, error) {
	w.buf.Write(p)
	if line, _, ok := strings.Cut(w.buf.String(), "\n"); ok && w.first != nil {
		w.first <- line
		w.first = nil
	}
	return len(p), nil
}

// program makes a program of this file, without a terminal.
func program(t *testing.T, mode string) term.Transport {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	tr, err := ptyx.Host{}.Open(t.Context(), term.Target{
		Protocol: "local", Local: term.LocalOptions{Argv: []string{self, mode}}, PTY: term.PTY{Disabled: true},
	}, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = tr.Close() })
	return tr
}

// Processes that a program leaves behind end with it, even if they hold the output open.
func TestChildrenEndWithTheProgram(t *testing.T) {
	first := make(chan string, 1)
	exit, err := program(t, "spawn").(term.Execer).Exec(t.Context(), term.ExecRequest{}, &lineWriter{first: first}, io.Discard)
	if err != nil || exit.Code != 3 || exit.Killed != "" {
		t.Errorf("Exec = %+v, %v, want code 3", exit, err)
	}
	if !gone(child(t, <-first)) {
		t.Error("the program's child runs after its end")
	}
}

// Close ends a program with all that it has started.
func TestChildrenEndWithClose(t *testing.T) {
	tr, first := program(t, "stay"), make(chan string, 1)
	done := make(chan term.Exit)
	go func() {
		exit, _ := tr.(term.Execer).Exec(t.Context(), term.ExecRequest{}, &lineWriter{first: first}, io.Discard)
		done <- exit
	}()
	h := child(t, <-first)
	if err := tr.Close(); err != nil {
		t.Errorf("Close = %v", err)
	}
	if exit := <-done; exit.Killed == "" {
		t.Errorf("Exec = %+v, want a killed program", exit)
	}
	if h == 0 || !gone(h) {
		t.Error("the child runs after Close, or did not run before")
	}
}
