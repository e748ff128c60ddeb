//go:build unix

package daemon

import (
	"os"
	"os/exec"
	"syscall"

	"ptyctl/internal/rundir"
	"ptyctl/ptyx/protect"
)

// folderAdvice says how to name another runtime folder.
const folderAdvice = "correct it, or set XDG_RUNTIME_DIR to a folder that is yours alone"

// runtimeFolder returns the folder of the daemons of this user.
func runtimeFolder() (string, error) { return rundir.Dir() }

// pair returns a pipe. Its reading end has deadlines.
func pair() (read, write *os.File, err error) { return os.Pipe() }

// firstExtra is the number of the first of exec.Cmd.ExtraFiles.
const firstExtra = 3

// pass has the new process inherit f, and returns its number there.
func pass(cmd *exec.Cmd, f *os.File) (descriptor int) {
	cmd.ExtraFiles = []*os.File{f}
	return firstExtra
}

// passed reports whether pass can have given this process the descriptor.
func passed(descriptor int) bool { return descriptor == firstExtra }

// keepFromPrograms keeps a descriptor from the programs that this process starts.
func keepFromPrograms(fd int) { syscall.CloseOnExec(fd) }

// apartFolder returns a folder that a daemon may keep in use.
func apartFolder() string { return "/" }

// apart puts the new process into a session of its own (setsid(2)): a host that kills the process group of its MCP
// server, or the terminal that ends, does not end the daemon.
func apart(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} }

// launch starts a process with the limit for core files that this one was started with: the programs of the daemon's
// sessions are to have it.
func launch(cmd *exec.Cmd) error { return protect.WithCore(cmd.Start) }

// Bound says why a daemon that this process starts ends with something else; empty: nothing here ends it, as far as this
// process can see.
func Bound() string { return "" }

// alone leaves the new process in the session of this one, which apart has made.
func alone(*exec.Cmd) {}
