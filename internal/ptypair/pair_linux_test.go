package ptypair

import (
	"runtime"
	"strconv"
	"sync"
	"testing"

	"golang.org/x/sys/unix"
)

// TestOpen opens terminals while the garbage collector moves the stacks of the goroutines that open them. Each is the one
// that the master belongs to, and has the size that was asked for. With creack/pty it fails in 16 of 20 runs.
func TestOpen(t *testing.T) {
	first, other, err := Open() // number 0, if that is free: a missing answer would be 0
	if err != nil {
		t.Fatal(err)
	}
	defer first.Close()
	defer other.Close()
	stop, collecting := make(chan struct{}), sync.WaitGroup{}
	collecting.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
				runtime.GC()
			}
		}
	})
	var opening sync.WaitGroup
	for range 12 {
		for range 100 {
			opening.Go(func() {
				deep(3000) // a large stack, which the collector shrinks
				for range 8 {
					checkPair(t)
				}
			})
		}
		opening.Wait()
	}
	close(stop)
	collecting.Wait()
}

//go:noinline
func deep(n int) byte {
	var frame [64]byte
	if n > 0 {
		frame[n%64] = deep(n - 1)
	}
	return frame[0]
}

func checkPair(t *testing.T) {
	master, tty, err := Open()
	if err != nil {
		t.Error(err)
		return
	}
	defer master.Close()
	defer tty.Close()
	err = Control(master, func(fd int) error {
		n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
		if want := "/dev/pts/" + strconv.Itoa(n); err == nil && tty.Name() != want {
			t.Errorf("the other side is %s, want %s", tty.Name(), want)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
	if err := Resize(master, 101, 37); err != nil {
		t.Error(err)
	}
	if size, err := unix.IoctlGetWinsize(int(tty.Fd()), unix.TIOCGWINSZ); err != nil || size.Col != 101 || size.Row != 37 {
		t.Errorf("the size is %+v, %v; want 101x37", size, err)
	}
}

// TestClose: a read of the master ends with it.
func TestClose(t *testing.T) {
	master, tty, err := Open()
	if err != nil {
		t.Fatal(err)
	}
	defer tty.Close()
	_ = Control(master, func(fd int) error {
		if flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFL, 0); err != nil || flags&unix.O_NONBLOCK == 0 {
			t.Errorf("the flags of the master are %#x, %v; want O_NONBLOCK among them", flags, err)
		}
		return nil
	})
	read := make(chan error)
	go func() {
		_, err := master.Read(make([]byte, 1))
		read <- err
	}()
	if err := master.Close(); err != nil {
		t.Error(err)
	}
	if err := <-read; err == nil {
		t.Error("a read of a closed terminal succeeds")
	}
}
