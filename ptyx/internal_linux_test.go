package ptyx

import (
	"errors"
	"fmt"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"ptyctl/ptyx/internal/processes"
)

// TestShimThatEnds: a shim that ends without a word is reported as a lack of processes,
// whether it had its order before it, in part, or not yet.
func TestShimThatEnds(t *testing.T) {
	for name, inOrder := range map[string]bool{"before its order": false, "with its order unread": true} {
		t.Run(name, func(t *testing.T) {
			s, err := newShim(&exec.Cmd{}, command{path: "/bin/true", argv: []string{"true"}})
			if err != nil {
				t.Fatal(err)
			}
			defer s.close()
			ended := make(chan error, 1)
			if inOrder {
				fd, err := unix.Dup(int(s.child.Fd()))
				if err != nil {
					t.Fatal(err)
				}
				go func() {
					_, _, err := unix.Recvfrom(fd, make([]byte, 1), unix.MSG_PEEK)
					ended <- errors.Join(err, unix.Close(fd))
				}()
			} else {
				ended <- nil
			}
			g, err := s.run(nil)
			if g != nil || !errors.Is(err, syscall.EAGAIN) {
				t.Errorf("the shim ended %s: guard %v, error %v, want EAGAIN", name, g, err)
			}
			if err := <-ended; err != nil {
				t.Error(err)
			}
		})
	}
}

// A dead session leader without a mark is left to the code that has started it, and is reaped when that code has not
// come for it.
func TestOthersTurn(t *testing.T) {
	defer func(had string) { processes.ListName = had }(processes.ListName)
	processes.ListName = "no-such-list" // an orphan is with the first thread; this child may be with any
	r := reaper{left: make(map[processes.Process]time.Time)}
	for name, comes := range map[string]bool{"comes in time": true, "never comes": false} {
		cmd := exec.CommandContext(t.Context(), "true")
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		hasEnded(cmd.Process.Pid, 0)
		now := time.Now()
		if again := r.reap(now); again > othersTurn || again < othersTurn-time.Second {
			t.Errorf("%s: the reaper comes again in %v, want %v", name, again, othersTurn)
		}
		if !comes {
			r.reap(now.Add(othersTurn))
		}
		if err := cmd.Wait(); (err == nil) != comes {
			t.Errorf("%s: Wait = %v, want success: %v", name, err, comes)
		}
	}
	if r.reap(time.Now()); len(r.left) > 0 {
		t.Errorf("children left to others = %v, want none", r.left)
	}
}

// BenchmarkMembers measures the cost to find that a program left no process behind: among the children of this
// process, and in the table of all processes, with a number of other processes on the machine.
func BenchmarkMembers(b *testing.B) {
	children.adopt(true)
	defer children.adopt(false)
	p := &process{cmd: exec.Command("true"), exited: make(chan struct{})}
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := p.launch(); err != nil {
		b.Fatal(err)
	}
	hasEnded(p.pid, 0)
	defer func() { _ = p.cmd.Wait(); children.remove(p.pid) }()
	for _, others := range []int{0, 2000} {
		for range others {
			cmd := exec.Command("sleep", "1000")
			if err := cmd.Start(); err != nil {
				b.Fatal(err)
			}
			defer func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }()
		}
		b.Run(fmt.Sprint("children/", others), func(b *testing.B) {
			for b.Loop() {
				if found, err := p.below(); err != nil || len(found) > 0 {
					b.Fatalf("below = %v, %v, want none", found, err)
				}
			}
		})
		b.Run(fmt.Sprint("table/", others), func(b *testing.B) {
			for b.Loop() {
				if found := p.anywhere(); len(found) > 0 {
					b.Fatalf("anywhere = %v, want none", found)
				}
			}
		})
	}
}
