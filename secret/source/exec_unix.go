//go:build unix

package source

import (
	"os/exec"
	"syscall"
)

// alone makes the program the leader of a session, without a terminal of this process, and its end the end of all that it
// has started.
func alone(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}
