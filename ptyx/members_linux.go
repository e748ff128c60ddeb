package ptyx

import (
	"bytes"
	"errors"
	"os"
	"slices"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// A member is a process that belongs to a program started here.
type member struct {
	pid     int
	started string // start time in kernel ticks; with the pid it identifies a process uniquely
}

// A stat is one line of the process table (proc_pid_stat(5)).
type stat struct {
	pid, parent, session int
	dead                 bool // a zombie
	started              string
}

// readStat reads the line of one process; ok is false if it has ended.
func readStat(pid int) (stat, bool) {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return stat{}, false // it has ended
	}
	// The program's name may contain any byte, so the third field is found after
	// the last parenthesis.
	f := bytes.Fields(text[bytes.LastIndexByte(text, ')')+1:])
	if len(f) < 20 {
		return stat{}, false
	}
	parent, _ := strconv.Atoi(string(f[1]))
	session, _ := strconv.Atoi(string(f[3]))
	return stat{
		pid:     pid,
		parent:  parent,
		session: session,
		dead:    f[0][0] == 'Z' || f[0][0] == 'X',
		started: string(f[19]),
	}, true
}

// pids returns the numbers of all processes. It reads /proc each time, because the
// kernel does not report new processes.
func pids() (all []int) {
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

// table returns the lines of these processes.
func table(pids []int) (all []stat) {
	for _, pid := range pids {
		if s, ok := readStat(pid); ok {
			all = append(all, s)
		}
	}
	return all
}

// members returns the living processes of p: those of its session, those with its
// tag, and all descendants of these. p must not be reaped yet, so that the number
// of the session is still its own.
func (p *process) members() []member {
	own, err := unix.Getsid(0)
	if err != nil {
		return nil
	}
	self := os.Getpid()
	in := make(map[int]bool)
	some := pids()
	for _, pid := range some {
		// Processes of this process's own session are skipped: another child may
		// have the tag by mistake.
		if sid, err := unix.Getsid(pid); err == nil && pid != self &&
			(sid == p.pid || sid != own && tagged(pid, p.tag)) {
			in[pid] = true
		}
	}
	if len(in) == 1 && in[p.pid] { // the common case needs no full table
		some = []int{p.pid}
	}
	all := table(some)
	for grown := true; grown; { // a child may come before its parent in the table
		grown = false
		for _, s := range all {
			if !in[s.pid] && in[s.parent] && s.pid != self {
				in[s.pid], grown = true, true
			}
		}
	}
	var found []member
	for _, s := range all {
		if in[s.pid] && !s.dead {
			found = append(found, member{s.pid, s.started})
		}
	}
	return found
}

// open returns a descriptor of the process, which stays valid if the number is
// reused.
func (m member) open() (pidfd int, err error) {
	fd, err := unix.PidfdOpen(m.pid, 0)
	if err != nil {
		return -1, err
	}
	if s, ok := readStat(m.pid); !ok || s.started != m.started {
		_ = unix.Close(fd)
		return -1, unix.ESRCH
	}
	return fd, nil
}

// killLimit is how long kill keeps trying. A process left after that is stuck in
// the kernel.
const killLimit = 10 * time.Second

// sweep ends the processes that p has left behind: signals first, and KILL after
// the grace. p must have ended and must not be reaped.
func (p *process) sweep(grace time.Duration) {
	left := p.members()
	if len(left) == 0 {
		return
	}
	if !p.hurry.Load() {
		signalAll(left, grace, unix.SIGHUP, unix.SIGTERM, unix.SIGCONT)
	}
	p.kill() // also processes that they have just started
}

// kill kills p and all its descendants. It stops all of them before it kills any,
// so that none can start another. Processes of other users stay. p must not be
// reaped.
func (p *process) kill() {
	stopped := make(map[member]bool)
	for deadline := time.Now().Add(killLimit); time.Now().Before(deadline); {
		var fresh []member
		all := p.members()
		for _, m := range all {
			if !stopped[m] {
				stopped[m] = true
				fresh = append(fresh, m)
			}
		}
		if len(fresh) > 0 {
			signalAll(fresh, 0, unix.SIGSTOP)
			continue
		}
		if len(all) == 0 || signalAll(all, time.Until(deadline), unix.SIGKILL) {
			return
		}
	}
}

// signalAll sends the signals to each process, and waits at most wait for all to
// end. It reports whether they have.
func signalAll(ms []member, wait time.Duration, signals ...unix.Signal) (ended bool) {
	const most = 256 // most descriptors open at a time
	ended = true
	for some := range slices.Chunk(ms, most) {
		ended = signalSome(some, wait, signals...) && ended
	}
	return ended
}

// signalSome is signalAll for a number of processes that fits into the limit of
// descriptors.
func signalSome(ms []member, wait time.Duration, signals ...unix.Signal) bool {
	var fds []unix.PollFd
	unsure := false
	for _, m := range ms {
		fd, err := m.open()
		if err != nil {
			unsure = unsure || !errors.Is(err, unix.ESRCH)
			continue
		}
		for _, sig := range signals {
			err = unix.PidfdSendSignal(fd, sig, nil, 0)
		}
		if err != nil { // the process has ended, or belongs to another user
			_ = unix.Close(fd)
			continue
		}
		fds = append(fds, unix.PollFd{Fd: int32(fd), Events: unix.POLLIN})
	}
	defer func() {
		for _, f := range fds {
			_ = unix.Close(int(f.Fd))
		}
	}()
	living := slices.Clone(fds)
	for deadline := time.Now().Add(wait); len(living) > 0; {
		left := time.Until(deadline)
		if left <= 0 {
			return false
		}
		_, _ = unix.Poll(living, int(left.Milliseconds())+1) // after an interruption, poll again
		living = slices.DeleteFunc(living, func(f unix.PollFd) bool { return f.Revents != 0 })
	}
	return !unsure
}
