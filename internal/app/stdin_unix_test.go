//go:build unix

package app

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// pair returns two connected sockets in blocking mode, as some clients give them to a server.
func pair(t *testing.T) (near, far *os.File) {
	t.Helper()
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	near, far = os.NewFile(uintptr(fds[0]), "near"), os.NewFile(uintptr(fds[1]), "far")
	t.Cleanup(func() { near.Close(); far.Close() })
	return near, far
}

// waits reports whether the runtime waits for a read: only then it has a deadline.
func waits(in io.Reader) bool {
	f, ok := in.(*os.File)
	if !ok || f.SetReadDeadline(time.Unix(1, 0)) != nil {
		return false
	}
	_, err := f.Read(make([]byte, 1))
	return errors.Is(err, os.ErrDeadlineExceeded) && f.SetReadDeadline(time.Time{}) == nil
}

func TestStdin(t *testing.T) {
	pipes := func(t *testing.T) (near, far *os.File) {
		var fds [2]int
		if err := unix.Pipe(fds[:]); err != nil {
			t.Fatal(err)
		}
		near, far = os.NewFile(uintptr(fds[0]), "near"), os.NewFile(uintptr(fds[1]), "far")
		t.Cleanup(func() { near.Close(); far.Close() })
		return near, far
	}
	for name, open := range map[string]func(*testing.T) (near, far *os.File){"pipe": pipes, "socket": pair} {
		t.Run(name, func(t *testing.T) {
			near, far := open(t)
			in, restore := polled(near, far)
			if !waits(in) || blocks(near) != 0 || blocks(far) != 1 {
				t.Fatalf("the input blocks: %d, and the other end: %d; want 0 and 1", blocks(near), blocks(far))
			}
			for range 2 { // by the duplicate, and as it was before
				if _, err := far.WriteString("text"); err != nil {
					t.Fatal(err)
				}
				p := make([]byte, 8)
				if n, err := in.Read(p); err != nil || string(p[:n]) != "text" {
					t.Errorf("read %q, %v; want text", p[:n], err)
				}
				restore()
				in, restore = near, func() {}
			}
			if blocks(near) != 1 {
				t.Error("the input does not block after its end")
			}
		})
	}
}

// Files that others use too stay as they are.
func TestStdinLeftAlone(t *testing.T) {
	near, _ := pair(t)
	fd, err := duplicateOf(near)
	if err != nil {
		t.Fatal(err)
	}
	same := os.NewFile(uintptr(fd), "same")
	defer same.Close()
	file, err := os.Create(filepath.Join(t.TempDir(), "file"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	for name, f := range map[string]*os.File{"a socket that is the output too": near, "a file": file} {
		in, restore := polled(f, same)
		if in != io.Reader(f) || blocks(f) != 1 || blocks(same) != 1 {
			t.Errorf("%s: the mode was changed", name)
		}
		restore()
	}
}
