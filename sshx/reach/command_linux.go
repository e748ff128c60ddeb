package reach

import (
	"os/exec"

	"golang.org/x/sys/unix"
)

// await returns when the leader has ended, and leaves it to be waited for, so that the number of its group
// stays its own.
func (g *group) await(*exec.Cmd) {
	for unix.Waitid(unix.P_PID, g.id, nil, unix.WEXITED|unix.WNOWAIT, nil) == unix.EINTR {
	}
}

// reap waits for the killed group: for its leader, and for those that this process has adopted since
// (PR_SET_CHILD_SUBREAPER, prctl(2)).
func (g *group) reap(cmd *exec.Cmd) {
	_ = cmd.Wait() // the result is in ProcessState
	for {
		if _, err := unix.Wait4(-g.id, nil, 0, nil); err != nil && err != unix.EINTR {
			return // no child of this group is left
		}
	}
}
