package ptyx

import (
	"errors"
	"os"
	"runtime"
	"sync"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The number of a program's processes is bounded by asking before each new one: a filter (seccomp(2)) lets fork and its like
// wait for our word (seccomp_unotify(2)). RLIMIT_NPROC would count all processes of the user, and does not bind root.

// rescan is how long a count that came to the limit stands: a program that tries on and on costs no more than that.
const rescan = 50 * time.Millisecond

// A guard gives its word for the processes of one program.
type guard struct {
	p     *process
	limit int
	f     *os.File // the listener of the filter
	wg    sync.WaitGroup

	// Of the goroutine:
	count   int                  // processes at most, as far as is known
	full    time.Time            // when they were last found to be too many
	forking map[uint32]time.Time // who was last allowed to fork, and when: until he asks again, the new one may not be there yet
	refused bool
}

// newGuard takes the listener over, and watches over p.
func newGuard(listener int, p *process, limit int) *guard {
	_ = unix.SetNonblock(listener, true)
	g := &guard{
		p:       p,
		limit:   limit,
		f:       os.NewFile(uintptr(listener), "seccomp"),
		count:   1,
		forking: make(map[uint32]time.Time),
	}
	g.wg.Go(g.watch)
	return g
}

// end waits for the guard, whose processes are gone, and reports whether it has refused one. A nil guard has not.
func (g *guard) end() bool {
	if g == nil {
		return false
	}
	_ = g.f.Close()
	g.wg.Wait()
	return g.refused
}

// watch answers until the last process that asks is gone, or the listener is closed.
func (g *guard) watch() {
	conn, err := g.f.SyscallConn()
	if err != nil {
		return
	}
	_ = conn.Read(func(fd uintptr) (over bool) {
		for {
			poll := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
			n, err := unix.Poll(poll, 0)
			switch {
			case err != nil && !errors.Is(err, unix.EINTR):
				return true
			case n == 0:
				return false
			case poll[0].Revents&unix.POLLIN == 0: // nobody is left
				return true
			}
			g.answer(fd)
		}
	})
}

// A notice is struct seccomp_notif, a reply struct seccomp_notif_resp.
type (
	notice struct {
		id    uint64
		pid   uint32
		flags uint32
		data  [64]byte // struct seccomp_data
	}
	reply struct {
		id    uint64
		val   int64
		err   int32
		flags uint32
	}
)

// answer answers one question.
func (g *guard) answer(fd uintptr) {
	var q notice
	if _, _, errno := unix.Syscall(unix.SYS_IOCTL, fd, unix.SECCOMP_IOCTL_NOTIF_RECV, uintptr(unsafe.Pointer(&q))); errno != 0 {
		return // whoever asked is gone
	}
	r := reply{id: q.id, flags: unix.SECCOMP_USER_NOTIF_FLAG_CONTINUE}
	delete(g.forking, q.pid)
	if g.room() {
		g.forking[q.pid] = time.Now()
	} else {
		g.refused = true
		r.flags, r.err = 0, -int32(unix.EAGAIN)
	}
	_, _, _ = unix.Syscall(unix.SYS_IOCTL, fd, unix.SECCOMP_IOCTL_NOTIF_SEND, uintptr(unsafe.Pointer(&r)))
}

// room reports whether there may be one process more. It counts those that it has let start, and looks for those that have
// ended only when these are too many.
func (g *guard) room() bool {
	if time.Since(g.full) < rescan {
		return false
	}
	if g.count >= g.limit {
		for pid, since := range g.forking {
			if time.Since(since) > rescan {
				delete(g.forking, pid)
			}
		}
		g.count = len(g.forking) + len(g.p.members())
	}
	if g.count >= g.limit {
		g.full = time.Now()
		return false
	}
	g.count++
	return true
}

// askBeforeFork installs the filter for this thread, and sends its listener to the parent.
func askBeforeFork() error {
	// Without it only root may have a filter. With it, sudo and its like give no rights.
	if os.Geteuid() != 0 {
		if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
			return os.NewSyscallError("PR_SET_NO_NEW_PRIVS", err)
		}
	}
	filter := forkFilter()
	program := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	listener, _, errno := unix.Syscall(
		unix.SYS_SECCOMP,
		unix.SECCOMP_SET_MODE_FILTER,
		unix.SECCOMP_FILTER_FLAG_NEW_LISTENER,
		uintptr(unsafe.Pointer(&program)),
	)
	runtime.KeepAlive(filter)
	if errno != 0 {
		return errors.New("limits.processes is not supported by this system (seccomp: " + errno.Error() + "); leave it out")
	}
	err := unix.Sendmsg(shimSocket, []byte{0}, unix.UnixRights(int(listener)), nil, 0)
	_ = unix.Close(int(listener))
	return os.NewSyscallError("sendmsg", err)
}

// Offsets in struct seccomp_data.
const (
	offsetNumber = 0
	offsetArch   = 4
	offsetFlags  = 16 // the low half of the first argument
)

// A forkCall is a system call that makes a process.
type forkCall struct {
	number  uint32
	flagged bool // its first argument are flags as of clone(2): a thread is no process
	hidden  bool // its flags lie in memory that a filter cannot see
}

// forkFilter lets forkCalls be asked for, on each of the processor's architectures, and allows all else.
func forkFilter() []unix.SockFilter {
	load := func(offset uint32) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: offset}
	}
	jump := func(op uint16, k uint32, yes, no uint8) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_JMP | op | unix.BPF_K, K: k, Jt: yes, Jf: no}
	}
	give := func(verdict uint32) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: verdict}
	}

	var f []unix.SockFilter
	for _, a := range forkCalls {
		block := []unix.SockFilter{
			load(offsetNumber),
			{Code: unix.BPF_ALU | unix.BPF_AND | unix.BPF_K, K: a.mask},
		}
		for _, c := range a.calls {
			switch {
			case c.hidden: // the caller falls back to clone, as on a system that is older than this call
				block = append(block, jump(unix.BPF_JEQ, c.number, 0, 1), give(unix.SECCOMP_RET_ERRNO|uint32(unix.ENOSYS)))
			case c.flagged:
				block = append(block, jump(unix.BPF_JEQ, c.number, 0, 4), load(offsetFlags),
					jump(unix.BPF_JSET, unix.CLONE_THREAD, 0, 1), give(unix.SECCOMP_RET_ALLOW), give(unix.SECCOMP_RET_USER_NOTIF))
			default:
				block = append(block, jump(unix.BPF_JEQ, c.number, 0, 1), give(unix.SECCOMP_RET_USER_NOTIF))
			}
		}
		block = append(block, give(unix.SECCOMP_RET_ALLOW))
		f = append(f, load(offsetArch), jump(unix.BPF_JEQ, a.arch, 0, uint8(len(block))))
		f = append(f, block...)
	}
	return append(f, give(unix.SECCOMP_RET_KILL_PROCESS)) // a system that nobody has thought of
}

// An abi is one of the processor's ways to call the system.
type abi struct {
	arch  uint32 // AUDIT_ARCH_*
	mask  uint32 // of the call's number
	calls []forkCall
}

// legacy are the calls of 32-bit programs, which are the same for x86 and ARM.
var legacy = []forkCall{{number: 2}, {number: 190}, {number: 120, flagged: true}, {number: 435, hidden: true}}
