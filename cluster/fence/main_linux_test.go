package fence

import (
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"ptyctl/devlock"
)

// TestMain also runs fence processes, and the nodes of the tests of faults.
func TestMain(m *testing.M) {
	Enable()
	if text := os.Getenv(nodeEnv); text != "" {
		nodeMain(text)
		return
	}
	os.Exit(m.Run())
}

// eventually waits until is reports true, and fails the test if that takes too long.
func eventually(tb testing.TB, what string, is func() bool) {
	tb.Helper()
	for end := time.Now().Add(time.Minute); !is(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(end) {
			tb.Fatalf("not within a minute: %s", what)
		}
	}
}

// leaseFor returns a lease that lasts d.
func leaseFor(tb testing.TB, d time.Duration) *devlock.Lease {
	tb.Helper()
	l := devlock.NewLease("rack1", devlock.Owner{}, 1)
	if err := l.ExtendFrom(devlock.Now(), d); err != nil {
		tb.Fatal(err)
	}
	return l
}

// newFence returns a Fence that is closed with the test.
func newFence(tb testing.TB, o Options) *Fence {
	tb.Helper()
	f := New(o)
	tb.Cleanup(f.Close)
	return f
}

// connect returns both ends of a TCP connection.
func connect(tb testing.TB) (near, far *net.TCPConn) {
	tb.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	defer l.Close()
	c, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		tb.Fatal(err)
	}
	a, err := l.Accept()
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { c.Close(); a.Close() })
	return c.(*net.TCPConn), a.(*net.TCPConn)
}

// fill writes until the kernel takes no more, and returns how many bytes it has taken.
func fill(tb testing.TB, c net.Conn) (n int) {
	tb.Helper()
	data := make([]byte, 64<<20) // before the deadline: on a busy machine, to clear the memory takes long
	if err := c.SetWriteDeadline(time.Now().Add(200 * time.Millisecond)); err != nil {
		tb.Fatal(err)
	}
	n, err := c.Write(data)
	if err == nil {
		tb.Fatal("the kernel has taken 64 MiB")
	}
	if err := c.SetWriteDeadline(time.Time{}); err != nil {
		tb.Fatal(err)
	}
	return n
}

// fencesOf returns the fence processes of a process.
func fencesOf(tb testing.TB, parent int) (pids []int) {
	tb.Helper()
	all, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		tb.Fatal(err)
	}
	for _, name := range all {
		text, err := os.ReadFile(name)
		if err != nil { // it has ended
			continue
		}
		stat := string(text)
		fields := strings.Fields(stat[strings.LastIndexByte(stat, ')')+1:])
		if !strings.Contains(stat, "("+fenceName+")") || fields[0] == "Z" || fields[1] != strconv.Itoa(parent) {
			continue
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(name)))
		if err != nil {
			tb.Fatal(err)
		}
		pids = append(pids, pid)
	}
	return pids
}

// theFence waits until a process has one fence process, which is not the one before, and returns it.
func theFence(tb testing.TB, parent, before int) (pid int) {
	tb.Helper()
	eventually(tb, "a fence process", func() bool {
		pids := fencesOf(tb, parent)
		if len(pids) == 1 {
			pid = pids[0]
		}
		return len(pids) == 1 && pid != before
	})
	return pid
}

func signalTo(tb testing.TB, pid int, s syscall.Signal) {
	tb.Helper()
	if err := syscall.Kill(pid, s); err != nil {
		tb.Fatal(err)
	}
}
