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

// A member is a process that belongs to another one that was started here.
type member struct {
	pid     int
	started string // when, in the kernel's ticks: with the pid, the name of a process for all time
}

// A stat is one line of the process table, from proc_pid_stat(5).
type stat struct {
	pid, parent, session int
	dead                 bool // a zombie
	started              string
}

func readStat(pid int) (stat, bool) {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return stat{}, false // it has ended
	}
	// The name of the program may hold anything; the third field and the following stand behind its last parenthesis.
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

// pids returns the numbers of all processes. They are asked for anew each time: nothing tells of new processes.
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

// table returns what is known of each process.
func table(pids []int) (all []stat) {
	for _, pid := range pids {
		if s, ok := readStat(pid); ok {
			all = append(all, s)
		}
	}
	return all
}

// members returns the living processes that p and its descendants are: those of its session, those with its tag, and what
// descends from them. Requires that p was not reaped, so that the number of the session is its own.
func (p *process) members() []member {
	own, err := unix.Getsid(0)
	if err != nil {
		return nil
	}
	self := os.Getpid()
	in := make(map[int]bool)
	some := pids()
	for _, pid := range some {
		// Nobody comes back to this process's session, where a child that somebody else starts may have the tag by mistake.
		if sid, err := unix.Getsid(pid); err == nil && pid != self && (sid == p.pid || sid != own && tagged(pid, p.tag)) {
			in[pid] = true
		}
	}
	if len(in) == 1 && in[p.pid] { // the common case, without a look at the whole table
		some = []int{p.pid}
	}
	all := table(some)
	for grown := true; grown; { // a child may stand before its parent
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

// open returns a descriptor of the process, which stays that one's when the number is used again.
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

// killLimit is how long it is tried to kill: what is left then waits in the kernel for something that does not come.
const killLimit = 10 * time.Second

// sweep ends what p has left behind when it ended: told to first, killed after the grace. Requires that p has ended and
// was not reaped.
func (p *process) sweep(grace time.Duration) {
	left := p.members()
	if len(left) == 0 {
		return
	}
	if !p.hurry.Load() {
		signalAll(left, grace, unix.SIGHUP, unix.SIGTERM, unix.SIGCONT)
	}
	p.kill() // also what they have just started
}

// kill kills p and all its descendants, those that others of them are just starting too: all are stopped before any is
// killed. Another user's are left to themselves. Requires that p was not reaped.
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

// signalAll sends the signals to each, and waits until all have ended, at most for wait. It reports whether they have.
func signalAll(ms []member, wait time.Duration, signals ...unix.Signal) (ended bool) {
	const most = 256 // descriptors at a time
	ended = true
	for some := range slices.Chunk(ms, most) {
		ended = signalSome(some, wait, signals...) && ended
	}
	return ended
}

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
		if err != nil { // it is gone, or another user's
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
		_, _ = unix.Poll(living, int(left.Milliseconds())+1) // interrupted: look again
		living = slices.DeleteFunc(living, func(f unix.PollFd) bool { return f.Revents != 0 })
	}
	return !unsure
}
