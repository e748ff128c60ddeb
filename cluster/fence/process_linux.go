package fence

import (
	"errors"
	"os"
	"os/signal"
	"runtime/debug"
	"strconv"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"ptyctl/internal/resident"
)

// fenceArg is the only argument of a fence process. Neither it nor the name is like the program's, so that a user who
// kills processes of the program by name does not kill the fence.
const (
	fenceArg  = "console-internal-fence"
	fenceName = "console-fence"
)

// fenceSocket is the descriptor of the socket in the fence process.
const fenceSocket = 3

// fenceEnv keeps the runtime of a fence process small.
var fenceEnv = []string{"GOMAXPROCS=1", "GOGC=10"}

// fenceMain is the main function of a fence process. It returns when this process has nothing more to do.
func fenceMain() error {
	signal.Ignore(
		unix.SIGHUP, unix.SIGINT, unix.SIGQUIT, unix.SIGTERM, unix.SIGPIPE, unix.SIGTSTP, unix.SIGTTIN, unix.SIGTTOU,
		unix.SIGUSR1, unix.SIGUSR2, unix.SIGALRM,
	)
	confine()
	g, err := newGuard(fenceSocket)
	if err != nil {
		return err
	}
	debug.FreeOSMemory()
	resident.Release()
	return g.run()
}

// confine gives up everything that a fence process does not need. Its work depends on none of these calls, so errors
// are ignored.
func confine() {
	name := append([]byte(fenceName), 0)
	_ = unix.Prctl(unix.PR_SET_NAME, uintptr(unsafe.Pointer(&name[0])), 0, 0, 0)
	_ = unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0) // no process may take the sockets out of it (pidfd_getfd(2))
	_ = unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
	_ = unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{})
	// Package ptyx finds the processes of programs by this limit, which the parent lends itself while it starts one.
	var locks unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_LOCKS, &locks) == nil {
		_ = unix.Setrlimit(unix.RLIMIT_LOCKS, &unix.Rlimit{Cur: locks.Max, Max: locks.Max})
	}
	// execve(2) closes the runtime's own descriptors, but not those that the parent has from its own parent.
	unix.CloseOnExec(fenceSocket)
	entries, _ := os.ReadDir("/proc/self/fd")
	for _, e := range entries {
		fd, err := strconv.Atoi(e.Name())
		if err != nil || fd <= fenceSocket {
			continue
		}
		if flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0); err == nil && flags&unix.FD_CLOEXEC == 0 {
			_ = unix.Close(fd)
		}
	}
}

// A guard is the state of a fence process. It runs in one thread, and waits in poll(2): a fence that waits runs no code
// of the runtime.
type guard struct {
	socket, timer int
	held          map[uint64]*heldSocket
	armed         time.Duration // when the timer fires; 0: never
	answers       [][]byte      // packets for the other side
	packet, oob   []byte
	packets       uint64 // received so far: the other side counts the same
}

// A heldSocket is a connection that the fence holds.
type heldSocket struct {
	fd    int
	until time.Duration // on CLOCK_BOOTTIME
}

func newGuard(socket int) (*guard, error) {
	if err := unix.SetNonblock(socket, true); err != nil {
		return nil, os.NewSyscallError("fcntl", err)
	}
	// A timer of CLOCK_BOOTTIME is over as soon as a machine that was suspended has woken up (timerfd_create(2)).
	timer, err := unix.TimerfdCreate(unix.CLOCK_BOOTTIME, unix.TFD_CLOEXEC|unix.TFD_NONBLOCK)
	if err != nil {
		return nil, os.NewSyscallError("timerfd_create", err)
	}
	return &guard{
		socket: socket, timer: timer, held: make(map[uint64]*heldSocket),
		packet: make([]byte, perPacket*recordSize), oob: make([]byte, unix.CmsgSpace(4*16)),
	}, nil
}

// run works until the other side has ended.
func (g *guard) run() error {
	for {
		events := int16(unix.POLLIN)
		if len(g.answers) > 0 {
			events |= unix.POLLOUT
		}
		wait := []unix.PollFd{{Fd: int32(g.socket), Events: events}, {Fd: int32(g.timer), Events: unix.POLLIN}}
		if _, err := unix.Poll(wait, -1); err != nil && !errors.Is(err, unix.EINTR) {
			return g.finish(os.NewSyscallError("poll", err))
		}
		// Renewals that wait in the socket come before the look at the clock: both may have been stopped.
		over, err := g.receive()
		if over || err != nil {
			return g.finish(err)
		}
		if err := g.expire(); err != nil {
			return g.finish(err)
		}
		g.send()
	}
}

// finish cuts all connections: without the other side no process may use them.
func (g *guard) finish(err error) error {
	for _, h := range g.held {
		_ = cut(h.fd)
		_ = unix.Close(h.fd)
	}
	clear(g.held)
	return err
}

// receive carries out all packets that wait. over says that the other side has closed the socket.
func (g *guard) receive() (over bool, err error) {
	for {
		n, oobn, flags, _, err := unix.Recvmsg(g.socket, g.packet, g.oob, unix.MSG_CMSG_CLOEXEC)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case errors.Is(err, unix.EAGAIN):
			return false, nil
		case errors.Is(err, unix.ECONNRESET) || err == nil && n == 0:
			return true, nil
		case err != nil:
			return false, os.NewSyscallError("recvmsg", err)
		}
		fds := passed(g.oob[:oobn])
		g.packets++
		for _, r := range decode(g.packet[:n]) {
			switch {
			case r.op != opHold:
				g.carryOut(r, -1)
			case len(fds) == 1 && flags&unix.MSG_CTRUNC == 0:
				g.carryOut(r, fds[0])
				fds = nil
			}
		}
		if len(fds) > 0 || flags&unix.MSG_CTRUNC != 0 {
			// A descriptor was lost, because there are too many. The other side must not believe that it is held.
			for _, fd := range fds {
				_ = unix.Close(fd)
			}
			return false, unix.EMFILE
		}
		g.answers = append(g.answers, record{op: opAnswer, id: g.packets}.encode(nil))
	}
}

// passed returns the descriptors that came with a packet.
func passed(oob []byte) (fds []int) {
	messages, err := unix.ParseSocketControlMessage(oob)
	if err != nil {
		return nil
	}
	for i := range messages {
		if some, err := unix.ParseUnixRights(&messages[i]); err == nil {
			fds = append(fds, some...)
		}
	}
	return fds
}

// carryOut carries out a record.
func (g *guard) carryOut(r record, fd int) {
	h := g.held[r.id]
	switch {
	case r.op == opHold && h == nil:
		g.held[r.id] = &heldSocket{fd, r.until}
	case r.op == opHold:
		_ = unix.Close(fd)
		return
	case h == nil: // it was cut
		return
	case r.op == opRenew:
		h.until = r.until
	case r.op == opDrop:
		_ = unix.Close(h.fd)
		delete(g.held, r.id)
		return
	}
	// Renewals make the time longer, and leave the timer as it is: it looks again when it fires.
	if g.armed == 0 || r.until < g.armed {
		g.arm(r.until)
	}
}

// arm sets the timer; 0: never.
func (g *guard) arm(at time.Duration) {
	g.armed = at
	spec := unix.ItimerSpec{Value: unix.NsecToTimespec(int64(max(at, 0)))}
	if at < 0 {
		spec.Value.Nsec = 1 // in the past; all zero would stop it
	}
	_ = unix.TimerfdSettime(g.timer, unix.TFD_TIMER_ABSTIME, &spec, nil) // fails only for wrong arguments
}

// expire cuts the connections that have reached their time, and sets the timer for the others.
func (g *guard) expire() error {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &ts); err != nil {
		return os.NewSyscallError("clock_gettime", err)
	}
	now := time.Duration(ts.Nano())
	if g.armed == 0 || now < g.armed {
		return nil
	}
	next := time.Duration(0)
	for id, h := range g.held {
		if h.until > now {
			if next == 0 || h.until < next {
				next = h.until
			}
			continue
		}
		var errno unix.Errno
		_ = errors.As(cut(h.fd), &errno)
		_ = unix.Close(h.fd)
		delete(g.held, id)
		g.answers = append(g.answers, record{op: opCut, id: id, until: time.Duration(errno)}.encode(nil))
	}
	g.arm(next)
	return nil
}

// send sends the answers for which there is room: the other side may be stopped.
func (g *guard) send() {
	for len(g.answers) > 0 {
		err := unix.Sendmsg(g.socket, g.answers[0], nil, nil, unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil { // no room; or it has ended, which the next receive tells
			return
		}
		g.answers = g.answers[1:]
	}
}
