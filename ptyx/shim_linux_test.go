package ptyx

import (
	"errors"
	"os/exec"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
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
