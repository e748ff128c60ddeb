package fence

import (
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// A judge is the server of all consoles, and counts who types. Each connection begins with a line: the device, the token
// of the owner's lease, and when the owner had acquired that, on the clock of the system in nanoseconds. The kernel tells
// when each byte has arrived (SO_TIMESTAMPNS, socket(7)), however late it is read. So the judge knows each byte of an
// owner that arrives after another has acquired the console.
type judge struct {
	addr string

	mu       sync.Mutex // guards the following
	consoles map[string]*console
	faults   []string
	open     map[net.Conn]struct{}
}

// A console is a device with its owners.
type console struct {
	acquired map[uint64]int64 // by token
	arrived  map[uint64]int64 // the time of the last byte, by token
	bytes    map[uint64]int
	ended    map[uint64]bool // the connection
	read     chan struct{}   // closed: a slow console is read
}

// slow reports whether a console is not read until the judge is told: what is typed there stays in the kernels.
func slow(device string) bool { return strings.HasPrefix(device, "slow") }

// newJudge starts a judge.
func newJudge(tb testing.TB) *judge {
	tb.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	j := &judge{addr: l.Addr().String(), consoles: make(map[string]*console), open: make(map[net.Conn]struct{})}
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			j.mu.Lock()
			j.open[c] = struct{}{}
			j.mu.Unlock()
			wg.Go(func() { j.serve(c.(*net.TCPConn)) })
		}
	})
	tb.Cleanup(func() {
		l.Close()
		j.mu.Lock()
		for c := range j.open {
			c.Close()
		}
		for _, c := range j.consoles {
			c.letRead()
		}
		j.mu.Unlock()
		wg.Wait()
	})
	return j
}

// letRead lets a slow console be read.
func (c *console) letRead() {
	select {
	case <-c.read:
	default:
		close(c.read)
	}
}

// of returns a console. Requires j.mu.
func (j *judge) of(device string) *console {
	c := j.consoles[device]
	if c == nil {
		c = &console{
			acquired: make(map[uint64]int64), arrived: make(map[uint64]int64), bytes: make(map[uint64]int),
			ended: make(map[uint64]bool), read: make(chan struct{}),
		}
		j.consoles[device] = c
	}
	return c
}

// serve reads one connection.
func (j *judge) serve(conn *net.TCPConn) {
	defer func() {
		conn.Close()
		j.mu.Lock()
		defer j.mu.Unlock()
		delete(j.open, conn)
	}()
	raw, err := conn.SyscallConn()
	if err == nil {
		_ = raw.Control(func(fd uintptr) { err = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_TIMESTAMPNS, 1) })
	}
	if err != nil {
		j.fault("no times: %v", err)
		return
	}
	var line []byte // one byte at a time: what follows is counted
	for b := make([]byte, 1); len(line) == 0 || line[len(line)-1] != '\n'; {
		n, err := conn.Read(b)
		if err != nil {
			return // the owner has not said who it is
		}
		line = append(line, b[:n]...)
	}
	var device string
	var token uint64
	var acquired int64
	if _, err := fmt.Sscan(string(line), &device, &token, &acquired); err != nil {
		j.fault("a first line %q: %v", line, err)
		return
	}
	j.mu.Lock()
	c := j.of(device)
	c.acquired[token] = acquired
	j.mu.Unlock()
	if slow(device) {
		<-c.read
	}
	buf := make([]byte, 16<<10)
	for {
		n, at, err := readAt(conn, buf)
		j.mu.Lock()
		if n > 0 {
			c.bytes[token] += n
			if at > c.arrived[token] {
				c.arrived[token] = at
			}
			if at == 0 {
				j.faults = append(j.faults, device+": bytes without a time")
			}
		}
		c.ended[token] = err != nil
		j.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// readAt reads from a connection, and says when the last of the bytes has arrived; 0: the kernel does not say.
func readAt(conn *net.TCPConn, buf []byte) (n int, at int64, err error) {
	raw, err := conn.SyscallConn()
	if err != nil {
		return 0, 0, err
	}
	oob, oobn := make([]byte, 256), 0
	var failed error
	if err := raw.Read(func(fd uintptr) bool {
		n, oobn, _, _, failed = unix.Recvmsg(int(fd), buf, oob, 0)
		return failed != unix.EAGAIN //nolint:errorlint // it is an errno
	}); err != nil {
		return 0, 0, err
	}
	if failed != nil {
		return 0, 0, failed
	}
	if n == 0 {
		return 0, 0, net.ErrClosed
	}
	messages, err := unix.ParseSocketControlMessage(oob[:oobn])
	if err != nil {
		return n, 0, err
	}
	for i := range messages {
		if ts, err := unix.ParseTimestampNS(&messages[i]); err == nil {
			at = ts
		}
	}
	return n, at, nil
}

func (j *judge) fault(format string, args ...any) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.faults = append(j.faults, fmt.Sprintf(format, args...))
}

// has waits until a console fulfils a condition.
func (j *judge) has(tb testing.TB, device, what string, is func(*console) bool) {
	tb.Helper()
	eventually(tb, device+": "+what, func() bool {
		j.mu.Lock()
		defer j.mu.Unlock()
		return is(j.of(device))
	})
}

// read lets slow consoles be read.
func (j *judge) read(devices []string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, d := range devices {
		j.of(d).letRead()
	}
}

// late returns how many consoles have bytes of an owner that arrived after a later one had acquired it, and the faults.
func (j *judge) late() (consoles int, faults []string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	faults = append(faults, j.faults...)
	for device, c := range j.consoles {
		is := false
		for token, arrived := range c.arrived {
			for next, acquired := range c.acquired {
				if next > token && arrived > acquired {
					is = true
					faults = append(faults, fmt.Sprintf(
						"%s: bytes of token %d have arrived %v after token %d had the console",
						device, token, time.Duration(arrived-acquired), next,
					))
				}
			}
		}
		if is {
			consoles++
		}
	}
	return consoles, faults
}
