package ptyx

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"ptyctl/internal/ptypair"
	"ptyctl/ptyx/internal/processes"
	"ptyctl/term"
)

// ttyMajor is the major number of the terminals of pty(7), and ttyAlias is /dev/tty, any process's own
// (Documentation/admin-guide/devices.txt).
const ttyMajor = 136

var ttyAlias = unix.Mkdev(5, 0)

// Probe implements term.Prober.
func (t *Terminal) Probe() (f term.Front) {
	group := t.pty.foreground()
	if group <= 1 {
		return f
	}
	f.First = group == t.process.pid
	if name, err := os.ReadFile(procFile(group, "comm")); err == nil {
		f.Program = strings.TrimPrefix(strings.TrimSpace(string(name)), "-")
	}
	tty, local := t.pty.state()
	keys := local&unix.ICANON == 0 && tty != 0
	f.Reads = term.Maybe
	none := true
	for _, pid := range processes.All() {
		if g, err := unix.Getpgid(pid); err != nil || g != group {
			continue
		}
		reads := readsTerminal(pid, tty)
		if pid == group {
			f.Edits = keys && reads != term.No
		}
		if none || reads == term.Yes || f.Reads == term.No {
			f.Reads, none = reads, false
		}
	}
	return f
}

// Echoes implements term.Echoer. Where the terminal does not echo, a program that takes key by key may.
func (t *Terminal) Echoes() term.Support {
	tty, local := t.pty.state()
	switch {
	case tty == 0:
		return term.Maybe
	case local&unix.ECHO != 0:
		return term.Yes
	case local&unix.ICANON == 0:
		return term.Maybe
	}
	return term.No
}

// state returns the number of the terminal's device and its local modes (termios(3)); 0: unknown.
func (t *pty) state() (tty uint64, local uint32) {
	_ = ptypair.Control(t.f, func(fd int) error {
		n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
		if err != nil {
			return err
		}
		modes, err := unix.IoctlGetTermios(fd, unix.TCGETS)
		if err != nil {
			return err
		}
		tty, local = unix.Mkdev(ttyMajor, uint32(n)), modes.Lflag
		return nil
	})
	return tty, local
}

// procFile returns the name of a file of proc(5).
func procFile(pid int, parts ...string) string {
	return "/proc/" + strconv.Itoa(pid) + "/" + strings.Join(parts, "/")
}

// readsTerminal reports whether a thread of the process waits to read the terminal. The answer is No only if each is
// known to do something else.
func readsTerminal(pid int, tty uint64) term.Support {
	if s, ok := processes.ReadStat(pid); !ok || s.Dead {
		return term.No
	}
	threads, err := os.ReadDir(procFile(pid, "task"))
	switch {
	case errors.Is(err, fs.ErrNotExist): // it has ended meanwhile
		return term.No
	case err != nil || len(threads) == 0:
		return term.Maybe
	}
	answer := term.No
	for _, thread := range threads {
		switch threadReads(pid, thread.Name(), tty) {
		case term.Yes:
			return term.Yes
		case term.No:
		default:
			answer = term.Maybe
		}
	}
	return answer
}

// elsewhere are the system calls in which a thread does not wait for a terminal: for children, time, locks, signals,
// the network and the disk. A call that may wait for several files at once is not among them.
var elsewhere = map[int]bool{
	unix.SYS_WAIT4: true, unix.SYS_WAITID: true, unix.SYS_FUTEX: true, unix.SYS_NANOSLEEP: true,
	unix.SYS_CLOCK_NANOSLEEP: true, unix.SYS_RT_SIGSUSPEND: true, unix.SYS_RT_SIGTIMEDWAIT: true,
	unix.SYS_CONNECT: true, unix.SYS_FSYNC: true, unix.SYS_FDATASYNC: true, unix.SYS_FLOCK: true,
}

// threadReads is readsTerminal for one thread, by its present system call (proc_pid_syscall(5)).
func threadReads(pid int, thread string, tty uint64) term.Support {
	text, err := os.ReadFile(procFile(pid, "task", thread, "syscall"))
	switch {
	case errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ESRCH): // it has ended meanwhile
		return term.No
	case err != nil: // another user's
		return term.Maybe
	}
	f := bytes.Fields(text)
	if len(f) == 0 {
		return term.Maybe
	}
	if string(f[0]) == "running" {
		return term.No
	}
	call, err := strconv.Atoi(string(f[0]))
	switch {
	case err != nil || len(f) < 2:
		return term.Maybe
	case elsewhere[call]:
		return term.No
	case call != unix.SYS_READ && call != unix.SYS_WRITE:
		return term.Maybe
	case call == unix.SYS_WRITE:
		return term.No
	}
	fd, err := strconv.ParseUint(string(f[1]), 0, 32)
	if err != nil {
		return term.Maybe
	}
	var file unix.Stat_t
	if unix.Stat(procFile(pid, "fd", strconv.FormatUint(fd, 10)), &file) != nil {
		return term.Maybe
	}
	if file.Mode&unix.S_IFMT == unix.S_IFCHR && (file.Rdev == tty || file.Rdev == ttyAlias) {
		return term.Yes
	}
	if file.Mode&unix.S_IFMT == unix.S_IFCHR { // another terminal may be this one, seen from within a container
		return term.Maybe
	}
	return term.No
}

var _ term.Prober = (*Terminal)(nil)
