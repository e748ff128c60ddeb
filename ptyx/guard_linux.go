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

// The number of a program's processes is limited by a check before each new one: a
// filter (seccomp(2)) stops fork and similar calls until this process allows them
// (seccomp_unotify(2)). RLIMIT_NPROC would count all processes of the user, and
// does not limit root.

// rescan is how long a count at the limit stays valid, so that a program that keeps
// trying stays cheap.
const rescan = 50 * time.Millisecond

// A guard limits the processes of one program.
type guard struct {
	p     *process
	limit int
	f     *os.File // the listener of the filter
	wg    sync.WaitGroup

	// The following belong to the goroutine of watch.
	count   int       // upper bound of the number of processes
	full    time.Time // when the limit was last reached
	refused bool      // a new process was refused

	// forking has the processes allowed to fork, with the time. Until such a
	// process asks again, its child may not be in the process table yet.
	forking map[uint32]time.Time
}

// newGuard takes over the listener and starts answering for p.
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

// end waits for the guard after its processes have ended, and reports whether it
// has refused one. On a nil guard it returns false.
func (g *guard) end() bool {
	if g == nil {
		return false
	}
	_ = g.f.Close()
	g.wg.Wait()
	return g.refused
}

// watch answers requests until the last process with the filter ends, or the
// listener is closed.
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
			case poll[0].Revents&unix.POLLIN == 0: // no process with the filter is left
				return true
			}
			g.answer(fd)
		}
	})
}

// A notice is struct seccomp_notif, and a reply is struct seccomp_notif_resp.
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

// answer answers one request. A process that has ended meanwhile is ignored.
func (g *guard) answer(fd uintptr) {
	var q notice
	_, _, errno := unix.Syscall(unix.SYS_IOCTL, fd, unix.SECCOMP_IOCTL_NOTIF_RECV, uintptr(unsafe.Pointer(&q)))
	if errno != 0 {
		return
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

// room reports whether one more process is allowed. It counts the processes that it
// has allowed, and only at the limit reads the process table to find those that
// have ended.
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

// askBeforeFork installs the filter for this thread, and sends its listener to the
// parent process.
func askBeforeFork() error {
	// Without this flag only root may install a filter. With it, sudo gives no
	// rights.
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
		return errors.New(
			"a limit on processes is not supported by this system (seccomp: " + errno.Error() + "); leave it out",
		)
	}
	err := unix.Sendmsg(shimSocket, []byte{0}, unix.UnixRights(int(listener)), nil, 0)
	_ = unix.Close(int(listener))
	return os.NewSyscallError("sendmsg", err)
}

// Offsets in struct seccomp_data (seccomp(2)).
const (
	offsetNumber = 0
	offsetArch   = 4
	offsetFlags  = 16 // the low half of the first argument
)

// A forkCall is a system call that creates a process.
type forkCall struct {
	number  uint32
	flagged bool // the first argument is the flags of clone(2); a thread is not counted
	hidden  bool // the flags are in memory, which a filter cannot read
}

// forkFilter returns a BPF program that asks for permission for forkCalls, on each
// architecture of the processor, and allows all other calls.
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
			case c.hidden: // the caller falls back to clone, as on a kernel without this call
				block = append(block, jump(unix.BPF_JEQ, c.number, 0, 1),
					give(unix.SECCOMP_RET_ERRNO|uint32(unix.ENOSYS)))
			case c.flagged:
				block = append(
					block,
					jump(unix.BPF_JEQ, c.number, 0, 4),
					load(offsetFlags),
					jump(
						unix.BPF_JSET,
						unix.CLONE_THREAD,
						0,
						1,
					),
					give(unix.SECCOMP_RET_ALLOW),
					give(unix.SECCOMP_RET_USER_NOTIF),
				)
			default:
				block = append(block, jump(unix.BPF_JEQ, c.number, 0, 1), give(unix.SECCOMP_RET_USER_NOTIF))
			}
		}
		block = append(block, give(unix.SECCOMP_RET_ALLOW))
		f = append(f, load(offsetArch), jump(unix.BPF_JEQ, a.arch, 0, uint8(len(block))))
		f = append(f, block...)
	}
	return append(f, give(unix.SECCOMP_RET_KILL_PROCESS)) // an unknown architecture
}

// An abi is one system call interface of the processor.
type abi struct {
	arch  uint32 // AUDIT_ARCH_*
	mask  uint32 // the significant bits of a call number
	calls []forkCall
}

// legacy has the calls of 32-bit programs, which have the same numbers on x86 and
// ARM.
var legacy = []forkCall{{number: 2}, {number: 190}, {number: 120, flagged: true}, {number: 435, hidden: true}}
