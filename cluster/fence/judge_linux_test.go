package fence

import (
	"encoding/binary"
	"fmt"
	"net"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// A judge is the server of all consoles, and counts who types. Each connection begins with a line: the device, the token
// of the owner's lease, and when the owner had acquired that, on the clock of the system in nanoseconds. The kernel tells
// when each byte has arrived (SO_TIMESTAMPNS, socket(7)), however late it is read. So the judge knows each byte of an
// owner that arrives after another has acquired the console. Of a slow console it knows it by the number of bytes.
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
	conns    map[uint64]*net.TCPConn
	read     chan struct{} // closed: a slow console is read
}

// slow reports whether a console is only read after a call of judge.read: until then the typed bytes stay in the
// kernels.
func slow(device string) bool { return strings.HasPrefix(device, "slow") }

// newJudge starts a judge.
func newJudge(tb testing.TB) *judge {
	tb.Helper()
	// Connections inherit the option. If it were set later, the bytes that have arrived before would have no time.
	config := net.ListenConfig{Control: func(_, _ string, raw syscall.RawConn) (err error) {
		if e := raw.Control(func(fd uintptr) { err = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_TIMESTAMPNS, 1) }); e != nil {
			return e
		}
		return err
	}}
	l, err := config.Listen(tb.Context(), "tcp", "127.0.0.1:0")
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
			ended: make(map[uint64]bool), conns: make(map[uint64]*net.TCPConn), read: make(chan struct{}),
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
	c.acquired[token], c.conns[token] = acquired, conn
	j.mu.Unlock()
	if slow(device) {
		<-c.read
	}
	known := arrived(conn)
	buf := make([]byte, 16<<10)
	for {
		n, at, err := readAt(conn, buf)
		if at == 0 { // the kernel has joined packets, and their times are lost
			at = time.Now().UnixNano()
		}
		j.mu.Lock()
		c.bytes[token] += n
		if known -= n; known < 0 && n > 0 {
			c.arrived[token] = max(c.arrived[token], at)
		}
		c.ended[token] = err != nil
		j.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// arrived returns how many bytes of a connection have arrived and were not read. Those are the ones that were in time: a
// slow console is full, so that none arrives before the first is read.
func arrived(conn *net.TCPConn) (n int) {
	if raw, err := conn.SyscallConn(); err == nil {
		_ = raw.Control(func(fd uintptr) { n, _ = unix.IoctlGetInt(int(fd), unix.SIOCINQ) })
	}
	return n
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
		return failed != unix.EAGAIN
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
		m := messages[i]
		if m.Header.Level == unix.SOL_SOCKET && m.Header.Type == unix.SCM_TIMESTAMPNS && len(m.Data) >= 16 {
			at = int64(binary.NativeEndian.Uint64(m.Data))*int64(time.Second) + int64(binary.NativeEndian.Uint64(m.Data[8:]))
		}
	}
	return n, at, nil
}

func (j *judge) fault(format string, args ...any) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.faults = append(j.faults, fmt.Sprintf(format, args...))
}

// typing waits until the owner of consoles types; those of slow ones must have filled the buffers of the kernels. It
// reports false if a lease has ended before: a machine with much to do may be late by more than a lease allows.
func (j *judge) typing(tb testing.TB, owner *node, opened map[string]report) (all bool) {
	tb.Helper()
	all = true
	for device, r := range opened {
		var conn *net.TCPConn
		var read chan struct{}
		j.has(tb, device, "its owner types", func(c *console) bool {
			conn, read = c.conns[r.Token], c.read
			_, lost := owner.end(r)
			for token := range c.acquired {
				lost = lost || token > r.Token
			}
			all = all && !lost
			return lost || c.acquired[r.Token] != 0 && (slow(device) || c.bytes[r.Token] > 0)
		})
		if !slow(device) || conn == nil {
			continue
		}
		eventually(tb, device+" is full", func() bool {
			before := arrived(conn)
			time.Sleep(50 * time.Millisecond)
			select {
			case <-read: // it is read by now
				return true
			default:
			}
			if closed(conn) {
				all = false
				return true
			}
			return before > 0 && arrived(conn) == before && unsent(tb, conn)
		})
	}
	return all
}

// unsent reports whether the kernel has something of the other end of a connection, on this machine, that it has not
// sent (proc_pid_net(5)).
func unsent(tb testing.TB, conn *net.TCPConn) bool {
	tb.Helper()
	text, err := os.ReadFile("/proc/net/tcp")
	if err != nil {
		tb.Fatal(err)
	}
	port := func(a net.Addr) string { return fmt.Sprintf(":%04X", a.(*net.TCPAddr).Port) }
	for line := range strings.Lines(string(text)) {
		f := strings.Fields(line)
		if len(f) > 4 && strings.HasSuffix(f[1], port(conn.RemoteAddr())) && strings.HasSuffix(f[2], port(conn.LocalAddr())) {
			return !strings.HasPrefix(f[4], "00000000:")
		}
	}
	return false
}

// closed reports whether a connection has ended, also while bytes that have arrived are unread.
func closed(conn *net.TCPConn) (is bool) {
	const tcpClose = 7 // TCP_CLOSE of include/net/tcp_states.h
	raw, err := conn.SyscallConn()
	if err == nil {
		err = raw.Control(func(fd uintptr) {
			info, err := unix.GetsockoptTCPInfo(int(fd), unix.IPPROTO_TCP, unix.TCP_INFO)
			is = err == nil && info.State == tcpClose
		})
	}
	return is || err != nil
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
