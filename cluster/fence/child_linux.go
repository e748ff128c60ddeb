package fence

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// A child is a fence process, as its parent sees it.
type child struct {
	f       *Fence
	cmd     *exec.Cmd
	conn    *net.UnixConn
	started time.Time
	deaths  int           // of children before it, each soon after its start
	over    chan struct{} // closed when it has ended

	writing  sync.Mutex // held while a packet is sent and counted: the numbers have the order of the packets
	finished bool       // it gets no more packets; guarded by writing

	mu       sync.Mutex // guards the following
	sent     uint64     // packets
	answered uint64
	waiters  map[uint64]chan<- struct{} // of the answer to a packet
	watch    *time.Timer                // fires when an answer is late
	late     bool                       // an answer was late, and this process may have been paused itself
	cause    error                      // why it was killed; nil: it has ended by itself, or was no longer needed
	devices  map[uint64]string          // by the number of the connection
}

// lateGrace is how much longer a late answer may take: if this process was paused, the answer may have arrived and not
// been read yet.
const lateGrace = time.Second

// start starts a child. Requires f.mu.
func (f *Fence) start() (*child, error) {
	if !enabled.Load() {
		return nil, errors.New("fence: not built into this program: its main function must call fence.Enable")
	}
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("fence: %w", os.NewSyscallError("socketpair", err))
	}
	ours, theirs := os.NewFile(uintptr(pair[0]), "fence"), os.NewFile(uintptr(pair[1]), "fence")
	defer func() { _, _ = ours.Close(), theirs.Close() }()
	conn, err := net.FileConn(ours)
	if err != nil {
		return nil, fmt.Errorf("fence: %w", err)
	}
	c := &child{
		f: f, conn: conn.(*net.UnixConn), started: time.Now(), over: make(chan struct{}), // it was made as one
		waiters: make(map[uint64]chan<- struct{}), devices: make(map[uint64]string),
		cmd: &exec.Cmd{
			Path: "/proc/self/exe", Args: []string{fenceName, fenceArg}, Env: fenceEnv, Dir: "/",
			ExtraFiles: []*os.File{theirs},
			// Neither a terminal nor a signal to the process group of this process reaches it.
			SysProcAttr: &syscall.SysProcAttr{Setsid: true},
		},
	}
	c.watch = time.AfterFunc(time.Hour, c.isLate)
	c.watch.Stop()
	if err := c.cmd.Start(); err != nil {
		_ = conn.Close()
		return nil, fmt.Errorf("fence: no process: %w", err)
	}
	f.running.Go(c.read)
	f.running.Go(c.tell)
	return c, nil
}

// read takes answers until the process has ended, and waits for its end.
func (c *child) read() {
	packet := make([]byte, perPacket*recordSize)
	for {
		n, err := c.conn.Read(packet)
		if err != nil || n == 0 {
			break
		}
		for _, r := range decode(packet[:n]) {
			switch r.op {
			case opAnswer:
				c.answer(r.id)
			case opCut:
				c.cut(r.id, syscall.Errno(r.until))
			}
		}
	}
	c.kill()
	_ = c.cmd.Wait()
	close(c.over)
	c.mu.Lock()
	c.watch.Stop()
	c.mu.Unlock()
	c.f.lost(c)
}

// cut takes the report that the process has cut a connection, or with errno that it could not. It does not lock f.mu,
// because a goroutine that waits for an answer may hold it.
func (c *child) cut(id uint64, errno syscall.Errno) {
	c.mu.Lock()
	device := c.devices[id]
	c.mu.Unlock()
	if errno != 0 {
		c.f.o.Logger.Error(
			"the lease of a device is over, and its connection was shut down; what the kernel had may still be sent",
			"device", device, "error", errno,
		)
	} else {
		c.f.o.Logger.Warn("the lease of a device is over, and its connection was cut", "device", device)
	}
}

// forget forgets the devices of connections that were released.
func (c *child) forget(of []*hold) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, h := range of {
		if h.gone.Load() {
			delete(c.devices, h.id)
		}
	}
}

// tell sends the process the reports that wait.
func (c *child) tell() {
	for {
		select {
		case <-c.f.wake:
		case <-c.over:
			return
		}
		for packet, of := c.f.next(); len(packet) > 0; packet, of = c.f.next() {
			if _, err := c.send(packet, nil); err != nil { // the process has ended: the next one gets the reports
				c.f.report(of...)
				<-c.over
				return
			}
			c.forget(of)
		}
	}
}

// kill ends the process. The kernel then closes the process's duplicates, which leaves the connections as they are. The
// signal comes first: a process that finds its socket closed cuts its connections.
func (c *child) kill() {
	_ = c.cmd.Process.Kill()
	_ = c.conn.Close()
}

// finish has the process cut its connections and end.
func (c *child) finish() {
	c.writing.Lock()
	defer c.writing.Unlock()
	c.finished = true
	if err := c.conn.CloseWrite(); err != nil {
		c.kill()
	}
}

// why says why the process has ended.
func (c *child) why() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cause != nil {
		return c.cause.Error()
	}
	return c.cmd.ProcessState.String()
}

// send sends a packet, and returns a channel that is closed when the process has carried it out.
func (c *child) send(packet, oob []byte) (done <-chan struct{}, err error) {
	c.writing.Lock()
	defer c.writing.Unlock()
	if c.finished { // and it must not be killed before it has cut its connections
		return nil, os.ErrClosed
	}
	carriedOut := make(chan struct{})
	c.mu.Lock()
	c.sent++
	number := c.sent
	if oob != nil {
		c.waiters[number] = carriedOut
	}
	if number == c.answered+1 { // the only one
		c.watch.Reset(c.f.o.Patience)
	}
	c.mu.Unlock()
	if _, _, err = c.conn.WriteMsgUnix(packet, oob, nil); err != nil { // the number is used up: a child is of no use now
		c.kill()
		return nil, err
	}
	return carriedOut, nil
}

// answer takes the answer to a packet.
func (c *child) answer(number uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.answered, c.late = number, false
	if c.answered == c.sent {
		c.watch.Stop()
	} else {
		c.watch.Reset(c.f.o.Patience)
	}
	if w := c.waiters[number]; w != nil {
		close(w)
		delete(c.waiters, number)
	}
}

// isLate kills a process that does not answer, for example one that was stopped: it protects no connection.
func (c *child) isLate() {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.answered == c.sent:
	case !c.late:
		c.late = true
		c.watch.Reset(lateGrace)
	default:
		c.cause = fmt.Errorf("no answer within %v", c.f.o.Patience+lateGrace)
		c.kill()
	}
}

// hold gives the process a connection, and waits until it has it.
func (c *child) hold(h *hold) error {
	duplicate, failed := -1, error(nil)
	err := h.raw.Control(func(fd uintptr) {
		duplicate, failed = unix.FcntlInt(fd, unix.F_DUPFD_CLOEXEC, 0)
	})
	switch {
	case err != nil: // closed
		return fmt.Errorf("fence: %w (%w)", syscall.EBADF, err)
	case failed != nil:
		return fmt.Errorf("fence: %w", os.NewSyscallError("fcntl", failed))
	}
	defer func() { _ = unix.Close(duplicate) }()
	c.mu.Lock()
	c.devices[h.id] = h.lease.Device()
	c.mu.Unlock()
	r := h.now()
	r.op = opHold
	ctx, cancel := context.WithTimeout(context.Background(), c.f.o.Patience+lateGrace)
	defer cancel()
	done, err := c.send(r.encode(nil), unix.UnixRights(duplicate))
	if err != nil {
		return fmt.Errorf("fence: the fence process has ended: %w", err)
	}
	select {
	case <-done:
		return nil
	case <-c.over:
		return fmt.Errorf("fence: the fence process has ended: %s", c.why())
	case <-ctx.Done():
		return fmt.Errorf("fence: the fence process does not answer within %v", c.f.o.Patience+lateGrace)
	}
}
