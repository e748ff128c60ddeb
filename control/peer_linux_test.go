package control

import (
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// dialVariable has the test binary connect to a socket and wait for its end, as a process of its own.
const dialVariable = "PTYCTL_TEST_DIAL"

func init() {
	path := os.Getenv(dialVariable)
	if path == "" {
		return
	}
	c, err := net.Dial("unix", path)
	if err != nil {
		os.Exit(1)
	}
	_, _ = io.Copy(io.Discard, os.Stdin)
	_ = c.Close()
	os.Exit(0)
}

// A process that ends while it is judged is refused: its number may be another's, which was judged in its place.
func TestCheckPeer(t *testing.T) {
	if os.Getenv(dialVariable) != "" {
		t.Fatal("the process must only connect")
	}
	path := filepath.Join(t.TempDir(), "s")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), dialVariable+"="+path)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	c, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	no := errors.New("no")
	judge := func(end bool, err error) error {
		return CheckPeer(c, func(pid int) error {
			if pid != cmd.Process.Pid {
				t.Errorf("process %d is judged, want %d", pid, cmd.Process.Pid)
			}
			if end {
				_ = in.Close()
				_ = cmd.Wait()
			}
			return err
		})
	}
	if err := judge(false, nil); err != nil {
		t.Errorf("CheckPeer of a process that runs = %v, want nil", err)
	}
	if err := judge(false, no); !errors.Is(err, no) {
		t.Errorf("CheckPeer = %v, want the error of the judge", err)
	}
	fd := -1
	raw, err := c.(*net.UnixConn).SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	_ = raw.Control(func(s uintptr) { fd, err = unix.GetsockoptInt(int(s), unix.SOL_SOCKET, unix.SO_PEERPIDFD) })
	if errors.Is(err, unix.ENOPROTOOPT) {
		_ = in.Close()
		_ = cmd.Wait()
		t.Skip("this kernel does not name the process that has connected by a descriptor (Linux 6.5)")
	}
	_ = unix.Close(fd)
	for _, when := range []string{"while it is judged", "before"} {
		if err := judge(when != "before", nil); !errors.Is(err, errPeerEnded) {
			t.Errorf("CheckPeer of a process that has ended %s = %v, want errPeerEnded", when, err)
		}
	}
}
