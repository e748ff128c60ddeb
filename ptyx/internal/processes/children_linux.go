package processes

import (
	"bytes"
	"errors"
	"io"
	"os"
	"slices"
	"strconv"

	"golang.org/x/sys/unix"
)

// ListName is the name of the file that lists the children of a thread (proc_tid_children(5)). A kernel without
// CONFIG_PROC_CHILDREN has none. It is a variable for the tests of that case.
var ListName = "children"

var (
	errNoLists  = errors.New("the kernel lists no children of threads")
	errUnsteady = errors.New("the list of children has changed each time that it was read")
)

// steadyTries is how often a list that changes is read again.
const steadyTries = 16

// Adopted returns the children of this process that it has adopted as orphans, and perhaps others. The kernel lists
// an orphan with the first living thread of its new parent (find_new_reaper, find_alive_thread in kernel/exit.c), and
// Go never ends the first thread. An error means that they are unknown; it does not mean that there are no such
// children.
//
// Dead ones that are not yet reaped are among them. The kernel may leave out a child while another one is reaped. Two
// equal readings in a row therefore count as one.
func Adopted() ([]int, error) {
	self := strconv.Itoa(os.Getpid())
	fd, err := unix.Open("/proc/self/task/"+self+"/"+ListName, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	defer func() { _ = unix.Close(fd) }()
	return steady(func(text []byte) ([]byte, error) {
		if _, err := unix.Seek(fd, 0, io.SeekStart); err != nil {
			return text, err
		}
		return appendAll(text, fd)
	})
}

// Children is Adopted for all children of another process. One that has ended has none.
func Children(pid int) ([]int, error) {
	task, err := unix.Open("/proc/"+strconv.Itoa(pid)+"/task", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, unlessEnded(err)
	}
	defer func() { _ = unix.Close(task) }()
	found, err := steady(func(text []byte) ([]byte, error) { return appendLists(text, task) })
	return found, unlessEnded(err)
}

// steady returns the numbers in a text as soon as two readings are equal.
func steady(read func([]byte) ([]byte, error)) ([]int, error) {
	var before, now []byte
	var err error
	for try := range steadyTries {
		if now, err = read(now[:0]); err != nil {
			return nil, err
		}
		if try > 0 && bytes.Equal(before, now) {
			return numbers(now), nil
		}
		before, now = now, before
	}
	return nil, errUnsteady
}

// appendLists appends the lists of all threads.
func appendLists(text []byte, task int) ([]byte, error) {
	threads, err := names(task)
	if err != nil {
		return text, err
	}
	for _, thread := range threads {
		fd, err := unix.Openat(task, thread+"/"+ListName, unix.O_RDONLY|unix.O_CLOEXEC, 0)
		if err != nil {
			var s unix.Stat_t
			if unix.Fstatat(task, thread, &s, 0) == nil { // the thread lives: it has no such file
				return text, errNoLists
			}
			continue
		}
		before := len(text)
		if text, err = appendAll(text, fd); err != nil {
			text = text[:before] // the thread has ended
		}
		_ = unix.Close(fd)
	}
	return text, nil
}

// names returns the names in a folder, in order.
func names(folder int) ([]string, error) {
	if _, err := unix.Seek(folder, 0, io.SeekStart); err != nil {
		return nil, err
	}
	var found []string
	buf := make([]byte, 4096)
	for {
		n, err := unix.ReadDirent(folder, buf)
		if err != nil {
			return nil, err
		}
		if n <= 0 {
			slices.Sort(found)
			return found, nil
		}
		_, _, found = unix.ParseDirent(buf[:n], -1, found)
	}
}

// appendAll appends the rest of a file. It uses the system call itself: package os would register the file with the
// poller, which costs more than the reading.
func appendAll(text []byte, fd int) ([]byte, error) {
	for {
		text = slices.Grow(text, 1024)
		n, err := unix.Read(fd, text[len(text):cap(text)])
		switch {
		case errors.Is(err, unix.EINTR):
		case err != nil:
			return text, err
		case n == 0:
			return text, nil
		default:
			text = text[:len(text)+n]
		}
	}
}

// unlessEnded returns err, or nil if it says that a process has ended.
func unlessEnded(err error) error {
	if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ESRCH) {
		return nil
	}
	return err
}

// numbers returns the numbers in a list.
func numbers(text []byte) (all []int) {
	for f := range bytes.FieldsSeq(text) {
		if pid, err := strconv.Atoi(string(f)); err == nil {
			all = append(all, pid)
		}
	}
	return all
}

// Tree returns the processes and all their descendants, the dead included. An error means that they are not known.
func Tree(roots []int) ([]int, error) {
	self := os.Getpid()
	all := slices.Clone(roots)
	seen := make(map[int]bool)
	for _, pid := range roots {
		seen[pid] = true
	}
	for i := 0; i < len(all); i++ {
		below, err := Children(all[i])
		if err != nil {
			return nil, err
		}
		for _, pid := range below {
			if !seen[pid] && pid != self {
				seen[pid] = true
				all = append(all, pid)
			}
		}
	}
	return all, nil
}
