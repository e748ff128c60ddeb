package fence

import (
	"errors"
	"io"
	"net"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"ptyctl/devlock"
)

// rest reads until the connection ends, and returns the number of bytes and the error.
func rest(c net.Conn) (n int64, err error) { return io.Copy(io.Discard, c) }

// waiting returns how many bytes the kernel has for the reader of c.
func waiting(tb testing.TB, c *net.TCPConn) (n int64) {
	tb.Helper()
	raw, err := c.SyscallConn()
	if err != nil {
		tb.Fatal(err)
	}
	if err := raw.Control(func(fd uintptr) {
		bytes, _ := unix.IoctlGetInt(int(fd), unix.SIOCINQ)
		n = int64(bytes)
	}); err != nil {
		tb.Fatal(err)
	}
	return n
}

// Nothing that the kernel had not sent is sent after the cut, while the far side does not read; shutdown(2) alone sends
// it all. The owner's reader and writer are woken, and cannot go on.
func TestNothingIsSentAfterTheCut(t *testing.T) {
	l := leaseFor(t, time.Hour)
	near, far := connect(t)
	if _, err := newFence(t, Options{}).Hold(near, l); err != nil {
		t.Fatal(err)
	}
	taken := int64(fill(t, near))
	ended := make(chan error, 2)
	go func() {
		_, err := near.Read(make([]byte, 1))
		ended <- err
	}()
	go func() {
		_, err := near.Write(make([]byte, 1<<20))
		ended <- err
	}()
	before := waiting(t, far)
	l.End(nil)
	for range 2 {
		if err := <-ended; err == nil {
			t.Error("a read or write of a cut connection has succeeded")
		}
	}
	got, err := rest(far)
	if got != before || !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("%d of %d bytes have arrived, of which %d had before the cut; then %v, want a reset", got, taken, before, err)
	}
	if _, err := near.Write([]byte("x")); !errors.Is(err, syscall.EPIPE) {
		t.Errorf("a write after the cut: %v", err)
	}
	if taken <= before {
		t.Errorf("the kernel had nothing left to send: the test shows nothing")
	}
}

// A connection that has lost its lease is cut even if its owner has closed and released it before the fence process
// could cut it: the kernel sends nothing more. The other connections of the process are unchanged.
func TestReleaseAfterTheLease(t *testing.T) {
	for _, others := range []int{0, 1} {
		f := newFence(t, Options{Patience: time.Minute})
		l := leaseFor(t, time.Hour)
		near, far := connect(t)
		release, err := f.Hold(near, l)
		if err != nil {
			t.Fatal(err)
		}
		if others > 0 {
			other, _ := connect(t)
			if _, err := f.Hold(other, leaseFor(t, time.Hour)); err != nil {
				t.Fatal(err)
			}
			defer func() {
				if _, err := other.Write([]byte("x")); err != nil {
					t.Errorf("another connection of the process: %v", err)
				}
			}()
		}
		fence := theFence(t, os.Getpid(), 0)
		taken := int64(fill(t, near))
		before := waiting(t, far)
		signalTo(t, fence, syscall.SIGSTOP)
		l.End(nil)
		near.Close()
		release()
		signalTo(t, fence, syscall.SIGCONT)
		// Nothing is read before the cut could be: a byte that is read makes room for the next.
		eventually(t, "the kernel has nothing left to send", func() bool { return !unsent(t, far) })
		if got, err := rest(far); got != before || taken <= before {
			t.Errorf("%d of %d bytes have arrived, of which %d had before the cut; then %v", got, taken, before, err)
		}
		f.Close()
		eventually(t, "the end of the fence process", func() bool { return len(fencesOf(t, os.Getpid())) == 0 })
	}
}

// A connection is cut when its time has come, and not before, whatever renewals there were.
func TestDeadline(t *testing.T) {
	f := newFence(t, Options{})
	const first, renewed = 3 * time.Second, 4 * time.Second // a machine with much to do is late by less
	l, other := leaseFor(t, first), leaseFor(t, time.Hour)
	near, far := connect(t)
	near2, far2 := connect(t)
	for c, l := range map[*net.TCPConn]*devlock.Lease{near: l, near2: other} {
		if _, err := f.Hold(c, l); err != nil {
			t.Fatal(err)
		}
	}
	from := devlock.Now()
	for range 5 {
		time.Sleep(100 * time.Millisecond)
		from = devlock.Now()
		if err := l.ExtendFrom(from, renewed); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := rest(far); !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("the connection has ended with %v, want a reset", err)
	}
	if took := time.Since(from.Time()); took < renewed {
		t.Errorf("it was cut %v after a renewal for %v", took, renewed)
	}
	if l.Check() == nil {
		t.Error("the connection was cut, and the lease lasts")
	}
	// The other one, of the same process, works.
	if _, err := near2.Write([]byte("x")); err != nil {
		t.Error(err)
	}
	if n, err := far2.Read(make([]byte, 1)); n != 1 {
		t.Errorf("the other connection: %v", err)
	}
}

// A far side sees the end of a connection once it was closed and released, and gets all that was written.
func TestRelease(t *testing.T) {
	f := newFence(t, Options{})
	near, far := connect(t)
	other, _ := connect(t)
	l := leaseFor(t, time.Hour)
	release, err := f.Hold(near, l)
	if err != nil {
		t.Fatal(err)
	}
	last, err := f.Hold(other, l)
	if err != nil {
		t.Fatal(err)
	}
	fence := theFence(t, os.Getpid(), 0)
	if _, err := near.Write(make([]byte, 100_000)); err != nil {
		t.Fatal(err)
	}
	near.Close()
	release()
	release()
	if n, err := rest(far); n != 100_000 || err != nil {
		t.Errorf("the far side has got %d bytes, and then %v", n, err)
	}
	last() // the process ends with the last connection
	eventually(t, "the end of the fence process", func() bool { return len(fencesOf(t, os.Getpid())) == 0 })
	if _, err := other.Write([]byte("x")); err != nil {
		t.Errorf("a released connection: %v", err)
	}
	// And it starts again with the next one.
	if _, err := f.Hold(other, l); err != nil {
		t.Fatal(err)
	}
	if again := theFence(t, os.Getpid(), fence); again == fence {
		t.Error("the process is the same")
	}
	f.Close()
	if n := len(fencesOf(t, os.Getpid())); n != 0 {
		t.Errorf("%d fence processes after Close", n)
	}
	if _, err := f.Hold(other, l); !errors.Is(err, errClosed) {
		t.Errorf("Hold after Close = %v", err)
	}
}

// Connections are cut while others are handed over: none waits for the other.
func TestCutsDuringHolds(t *testing.T) {
	f := newFence(t, Options{})
	last := leaseFor(t, time.Hour)
	for range 100 {
		l := leaseFor(t, time.Hour)
		near, _ := connect(t)
		if _, err := f.Hold(near, l); err != nil {
			t.Fatal(err)
		}
		other, _ := connect(t)
		l.End(nil) // which is carried out while the next one is handed over
		if _, err := f.Hold(other, last); err != nil {
			t.Fatal(err)
		}
	}
}

// A connection that cannot be held is refused, and a lease without an end in time needs no fence.
func TestHoldRefused(t *testing.T) {
	f := newFence(t, Options{})
	near, _ := connect(t)
	over := leaseFor(t, time.Hour)
	over.End(nil)
	if _, err := f.Hold(near, over); err == nil {
		t.Error("a lease that is over was accepted")
	}
	if release, err := f.Hold(near, devlock.NewLease("rack1", devlock.Owner{}, 0)); err != nil || len(fencesOf(t, os.Getpid())) != 0 {
		t.Errorf("a lease without an end: %v", err)
	} else {
		release()
	}
	near.Close()
	if _, err := f.Hold(near, leaseFor(t, time.Hour)); err == nil {
		t.Error("a closed connection was accepted")
	}
	if n := len(f.held); n != 0 {
		t.Errorf("%d connections are held", n)
	}
}

// A fence process that is killed or stopped is replaced, and the new one has the connections.
func TestFenceIsReplaced(t *testing.T) {
	for name, s := range map[string]syscall.Signal{"killed": syscall.SIGKILL, "stopped": syscall.SIGSTOP} {
		t.Run(name, func(t *testing.T) {
			f := newFence(t, Options{Patience: 2 * time.Second})
			near, far := connect(t)
			l := leaseFor(t, time.Hour)
			if _, err := f.Hold(near, l); err != nil {
				t.Fatal(err)
			}
			fence := theFence(t, os.Getpid(), 0)
			signalTo(t, fence, s)
			if s == syscall.SIGSTOP {
				if err := l.ExtendFrom(devlock.Now(), 2*time.Hour); err != nil { // which it does not answer
					t.Fatal(err)
				}
			}
			theFence(t, os.Getpid(), fence)
			if _, err := near.Write([]byte("x")); err != nil {
				t.Errorf("the connection has suffered: %v", err)
			}
			if n, err := far.Read(make([]byte, 1)); n != 1 {
				t.Errorf("the connection has suffered: %v", err)
			}
			l.End(nil)
			if _, err := rest(far); !errors.Is(err, syscall.ECONNRESET) {
				t.Errorf("the connection has ended with %v, want a reset", err)
			}
		})
	}
}

// Without a fence process that lasts, leases and connections end, and say why.
func TestNoFenceProcess(t *testing.T) {
	f := newFence(t, Options{})
	near, far := connect(t)
	l := leaseFor(t, time.Hour)
	if _, err := f.Hold(near, l); err != nil {
		t.Fatal(err)
	}
	told := make(chan error, 1)
	l.AfterEnd(func(err error) { told <- err })
	fence := 0
	for range maxDeaths {
		fence = theFence(t, os.Getpid(), fence)
		signalTo(t, fence, syscall.SIGKILL)
	}
	var lost *devlock.LostError
	if err := <-told; !errors.As(err, &lost) || !strings.Contains(err.Error(), "3 fence processes have failed") {
		t.Errorf("the lease has ended with %v", err)
	}
	if _, err := rest(far); !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("the connection has ended with %v, want a reset", err)
	}
	other, _ := connect(t)
	if _, err := f.Hold(other, leaseFor(t, time.Hour)); err != nil {
		t.Errorf("a later Hold: %v", err)
	}
}

// The fence process has nothing of this one: no variable, no argument, no descriptor; and signals do not end it.
func TestProcess(t *testing.T) {
	t.Setenv("PTYCTL_TEST_SECRET", "pass-1138")
	inherited, err := unix.FcntlInt(os.Stdin.Fd(), unix.F_DUPFD, 100) // without close-on-exec
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = unix.Close(inherited) }()
	f := newFence(t, Options{})
	near, far := connect(t)
	l := leaseFor(t, time.Hour)
	if _, err := f.Hold(near, l); err != nil {
		t.Fatal(err)
	}
	fence := theFence(t, os.Getpid(), 0)
	folder := "/proc/" + strconv.Itoa(fence)
	for file, want := range map[string]string{
		"environ": strings.Join(fenceEnv, "\x00") + "\x00",
		"cmdline": fenceName + "\x00" + fenceArg + "\x00",
	} {
		text, err := os.ReadFile(folder + "/" + file)
		if os.IsPermission(err) { // only root may read it: the process is not dumpable
			continue
		}
		if err != nil || string(text) != want {
			t.Errorf("%s is %q, %v", file, text, err)
		}
	}
	if entries, err := os.ReadDir(folder + "/fd"); err == nil {
		for _, e := range entries {
			if e.Name() == strconv.Itoa(inherited) {
				t.Errorf("it has kept descriptor %d", inherited)
			}
		}
	} else if !os.IsPermission(err) {
		t.Error(err)
	}
	if sid, err := unix.Getsid(fence); err != nil || sid != fence {
		t.Errorf("its session is %d, %v", sid, err)
	}
	for _, s := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGUSR1} {
		signalTo(t, fence, s)
	}
	l.End(nil)
	if _, err := rest(far); !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("the connection has ended with %v, want a reset", err)
	}
	if pids := fencesOf(t, os.Getpid()); len(pids) != 1 || pids[0] != fence {
		t.Errorf("after the signals the fence processes are %v, want %d", pids, fence)
	}
}

// Neither process keeps a descriptor: of many connections that come and go, none stays.
func TestNoDescriptorsAreLeft(t *testing.T) {
	count := func() int {
		entries, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Fatal(err)
		}
		return len(entries)
	}
	f := newFence(t, Options{})
	l := leaseFor(t, time.Hour)
	first, _ := connect(t)
	if _, err := f.Hold(first, l); err != nil {
		t.Fatal(err)
	}
	before := count()
	for range 300 {
		near, far := connect(t)
		release, err := f.Hold(near, l)
		if err != nil {
			t.Fatal(err)
		}
		near.Close()
		release()
		if n, err := rest(far); n != 0 || err != nil { // the fence has none, either: the far side sees the end
			t.Fatalf("the connection has ended with %v after %d bytes", err, n)
		}
		far.Close()
	}
	if now := count(); now > before+2 {
		t.Errorf("%d descriptors, and %d before", now, before)
	}
}
