package processes_test

import (
	"bufio"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"ptyctl/ptyx/internal/processes"
)

// patience is how long a test waits for something that must come.
const patience = time.Minute

// start starts a shell that prints the numbers of processes, and returns its own and those.
func start(t *testing.T, script string) (pid int, printed []int) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "sh", "-c", script+"; echo; exec sleep 1000") // no process starts after the line
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL), cmd.Wait() })
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatalf("%q printed %q: %v", script, line, err)
	}
	for f := range strings.FieldsSeq(line) {
		n, err := strconv.Atoi(f)
		if err != nil {
			t.Fatalf("%q printed %q, want numbers", script, line)
		}
		printed = append(printed, n)
	}
	return cmd.Process.Pid, printed
}

// The children of a process are found by the kernel's list, also the dead and those of other threads, and the whole tree
// by it is the one of the table of all processes.
func TestChildren(t *testing.T) {
	pid, children := start(t, "sleep 1000 & printf '%s ' $!; sleep 1000 & printf '%s ' $!")
	found, err := processes.Children(pid)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range children {
		if !slices.Contains(found, want) {
			t.Errorf("Children(%d) = %v, want %d among them", pid, found, want)
		}
	}
	nested, _ := start(t, "(sleep 1000 & exec sleep 1000) & sh -c 'sleep 1000 & sleep 1000' & true")
	list := func() []int {
		tree, err := processes.Tree([]int{nested})
		if err != nil {
			t.Fatal(err)
		}
		return slices.Sorted(slices.Values(tree))
	}
	var tree, table []int
	// The shell does not wait for the others to start: both looks have to find all six.
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		tree, table = list(), nil
		for _, p := range processes.WithDescendants([]int{nested}) {
			table = append(table, p.PID)
		}
		slices.Sort(table)
		if len(tree) == 6 && slices.Equal(tree, table) {
			break
		}
	}
	if len(tree) != 6 || !slices.Equal(tree, table) {
		t.Errorf("Tree(%d) = %v, want the %v of the table, 6 of them", nested, tree, table)
	}
	if found, err := processes.Children(1 << 30); err != nil || len(found) != 0 {
		t.Errorf("Children of no process = %v, %v, want none", found, err)
	}
}

// A kernel without lists is distinguished from a process without children.
func TestNoLists(t *testing.T) {
	defer func(had string) { processes.ListName = had }(processes.ListName)
	processes.ListName = "no-such-list"
	pid, _ := start(t, "true")
	if found, err := processes.Children(pid); err == nil {
		t.Errorf("Children without lists = %v, want an error", found)
	}
	if found, err := processes.Adopted(); err == nil {
		t.Errorf("Adopted without lists = %v, want an error", found)
	}
}

// A process lives as long as one of its threads, even after its first thread has ended.
func TestDeadFirstThread(t *testing.T) {
	cmd := exec.CommandContext(t.Context(), "python3", "-c", `
import ctypes, sys, threading, time
threading.Thread(target=time.sleep, args=(1000,)).start()
print("up", flush=True)
ctypes.CDLL(None).pthread_exit(None)
`)
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _, _ = cmd.Process.Kill(), cmd.Wait() }()
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		t.Fatalf("python printed %q: %v", line, err)
	}
	zombie := func() bool {
		text, err := os.ReadFile("/proc/" + strconv.Itoa(cmd.Process.Pid) + "/stat")
		return err == nil && strings.Contains(string(text), ") Z ")
	}
	for deadline := time.Now().Add(patience); !zombie(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the first thread of python has not ended")
		}
	}
	living := processes.Living([]int{cmd.Process.Pid})
	if len(living) != 1 {
		t.Fatalf("Living(%d) = %v while a thread runs, want the process", cmd.Process.Pid, living)
	}
	if !processes.Signal(living, patience, unix.SIGKILL) {
		t.Error("Signal(KILL) = false, want the process to end")
	}
	if living := processes.Living([]int{cmd.Process.Pid}); len(living) != 0 {
		t.Errorf("Living = %v after KILL, want none", living)
	}
}

// A signal does not reach a process that has the number of an earlier one.
func TestReusedNumber(t *testing.T) {
	pid, _ := start(t, "true")
	earlier := processes.Process{PID: pid, Started: "1"}
	if !processes.Signal([]processes.Process{earlier}, time.Second, unix.SIGKILL) {
		t.Error("Signal to an earlier process with the number = false, want true: it has ended")
	}
	if len(processes.Living([]int{pid})) != 1 {
		t.Error("the process that has the number now was killed, want it to live")
	}
}

// A tag is found after fork and exec, and distinguishes programs and families.
func TestTag(t *testing.T) {
	mark, own := processes.NewTag()
	other, _ := processes.NewTag()
	if mark.Cur == 0 {
		t.Fatal("NewTag has no mark, want one: Linux has RLIMIT_LOCKS")
	}
	cmd := exec.CommandContext(t.Context(), "sh", "-c", "read x; env -i sleep 1000 & echo $!; wait")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _, _ = cmd.Process.Kill(), cmd.Wait() }()
	if err := unix.Prlimit(cmd.Process.Pid, unix.RLIMIT_LOCKS, &mark, nil); err != nil {
		t.Fatal(err)
	}
	_, _ = in.Write([]byte("go\n"))
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	child, _ := strconv.Atoi(strings.TrimSpace(line))
	defer func() { _ = unix.Kill(child, unix.SIGKILL) }()
	if !processes.Tag(mark.Cur).On(child) || processes.Tag(other.Cur).On(child) || processes.Tag(0).On(child) {
		t.Errorf("tag %x on the child of a tagged process, other tag %x, no tag = %v, %v, %v, want true, false, false",
			mark.Cur, other.Cur, processes.Tag(mark.Cur).On(child), processes.Tag(other.Cur).On(child), processes.Tag(0).On(child))
	}
	if has, err := processes.OwnFamily.Has(child); !has || err != nil {
		t.Errorf("the family has the child = %v, %v, want true", has, err)
	}
	if has, err := (processes.OwnFamily + 1).Has(child); has || err != nil {
		t.Errorf("another family has the child = %v, %v, want false", has, err)
	}
	if has, err := processes.OwnFamily.Has(os.Getpid()); has || err != nil {
		t.Errorf("the family has this process, whose limit is %v: %v, %v, want false", own, has, err)
	}
}
